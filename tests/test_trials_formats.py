"""Every format: found by its content, read, written, and read back."""

import gzip
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from fastpsr import trials

h5py = pytest.importorskip("h5py")

IDS = [("ann", "a/1.wav"), ("ann", "b/1.wav"), ("bob", "b/2.wav"), ("bob", "a/1.wav"), ("çy", "d")]
Y = [1, 0, 1, 0, 0]
SCORES = [1.25, -0.5, 3e-7, float("-inf"), 1 / 3]
WORDS = {
    "target/nontarget": ("target", "nontarget"),
    "tgt/imp": ("tgt", "imp"),
    "tar/non": ("tar", "non"),
    "1/0": ("1", "0"),
    "1/-1": ("1", "-1"),
    "true/false": ("True", "False"),
}


def text(layout, words=WORDS["target/nontarget"], separator=" "):
    lines = []
    for (enroll, test), y, score in zip(IDS, Y, SCORES, strict=True):
        values = {"e": enroll, "t": test, "s": repr(score), "l": words[1 - y], "n": "0.5"}
        lines.append(separator.join(values[part] for part in layout))
    return "\n".join(lines) + "\n"


KEYS = {
    "kaldi-trials": text("etl"),
    "sitw": text("etl", WORDS["tgt/imp"]),
    "voxceleb": text("let", WORDS["1/0"]),
    "nist": "modelid\tsegmentid\ttargettype\tgender\n"
    + "".join(
        f"{e}\t{t}\t{'target' if y else 'nontarget'}\t{g}\n"
        for (e, t), y, g in zip(IDS, Y, "fmfmf", strict=True)
    ),
    "csv": "enroll,label,test\n"
    + "".join(f'{e},{y},"{t}"\n' for (e, t), y in zip(IDS, Y, strict=True)),
}
SCORE_FILES = {
    "kaldi-scores": text("ets"),
    "wespeaker": text("etsl"),
    "3dspeaker": text("etls", WORDS["1/0"]),
    "voxsrc": text("set"),
    "nist": "modelid\tsegmentid\tside\tLLR\n"
    + "".join(f"{e}\t{t}\ta\t{s!r}\n" for (e, t), s in zip(IDS, SCORES, strict=True)),
    "csv": "score,enroll,test\n"
    + "".join(f"{s!r},{e},{t}\n" for (e, t), s in zip(IDS, SCORES, strict=True)),
}


def save(path, content, *, packed=False):
    data = content.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


def check(found, *, labeled=True):
    assert list(zip(found.enroll, found.test, strict=True)) == IDS
    assert found.score.tolist() == SCORES
    assert found.y_true.tolist() == Y if labeled else found.y_true is None


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("score_format", SCORE_FILES)
@pytest.mark.parametrize("key_format", KEYS)
def test_text_is_detected_and_joined(tmp_path, key_format, score_format, packed):
    key = save(tmp_path / "key", KEYS[key_format], packed=packed)
    scores = save(tmp_path / "scores", SCORE_FILES[score_format], packed=packed)
    check(trials.read(key, scores))
    assert trials.read_key(key).format == key_format
    assert trials.read_scores(scores).format == score_format
    forced = trials.read(key, scores, key_format=key_format, score_format=score_format)
    check(forced)


@pytest.mark.parametrize("words", WORDS)
def test_labels_of_each_kind(tmp_path, words):
    key = save(tmp_path / "key", text("etl", WORDS[words]))
    found = trials.read_key(key)
    assert found.y_true.tolist() == Y
    assert found.vocabulary == words
    assert f"column 3: label ({words})" in found.taken


@pytest.mark.parametrize(
    ("name", "layout", "words"),
    [
        ("wespeaker", "etsl", "target/nontarget"),
        ("wespeaker", "etslnnnn", "target/nontarget"),
        ("3dspeaker", "etls", "target/nontarget"),
        ("kaldi-eer", "sl", "target/nontarget"),
        ("bob", "ls", "1/-1"),
    ],
)
def test_scores_with_labels_need_no_key(tmp_path, name, layout, words):
    found = trials.read(save(tmp_path / "scores", text(layout, WORDS[words])))
    assert found.source.format == name
    assert found.y_true.tolist() == Y
    assert found.score.tolist() == SCORES
    if "n" in layout:
        assert found.column("norm_4").tolist() == [0.5] * 5
    if "e" not in layout:
        with pytest.raises(ValueError, match="no ids"):
            found.enroll  # noqa: B018


def test_scores_alone(tmp_path):
    path = save(tmp_path / "scores", SCORE_FILES["kaldi-scores"])
    check(trials.read(None, path), labeled=False)
    with pytest.raises(ValueError, match="which has no label"):
        trials.read(path)


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("name", [*SCORE_FILES, "kaldi-eer", "bob"])
def test_text_comes_back_as_written(tmp_path, name, ending):
    key = save(tmp_path / "key", KEYS["kaldi-trials"])
    found = trials.read(key, save(tmp_path / "scores", SCORE_FILES.get(name, text("ets"))))
    llrs = [0.1, 1e-300, float("inf"), -2.0, 5.0]
    path = tmp_path / f"new{ending}"
    trials.write_scores(path, found, llrs, format=name)
    assert path.read_bytes()[:2] == b"\x1f\x8b" or not ending
    again = trials.read_scores(path, format=name)
    assert again.score.tolist() == llrs
    assert again.format == name
    if again.y_true is not None:
        assert again.y_true.tolist() == Y
    if again.enroll is not None:
        assert again.enroll.strings().tolist() == found.enroll.tolist()
        assert trials.read(key, path).score.tolist() == llrs


@pytest.mark.parametrize("name", ["parquet", "npz", "csv", "bosaris", "sidekit"])
def test_tables_come_back_as_written(tmp_path, name):
    key = save(tmp_path / "key", KEYS["kaldi-trials"])
    found = trials.read(key, save(tmp_path / "scores", SCORE_FILES["kaldi-scores"]))
    path = tmp_path / "new"
    trials.write_scores(path, found, format=name)
    check(trials.read(key, path))
    assert trials.read_scores(path).format == name
    assert list(tmp_path.glob(".new*")) == []
    if name in ("parquet", "npz", "csv"):
        check(trials.read(path))


def test_nist_header_and_side_are_kept(tmp_path):
    path = save(tmp_path / "scores", SCORE_FILES["nist"])
    trials.write_scores(tmp_path / "new", trials.read(None, path))
    assert (
        (tmp_path / "new").read_text().startswith("modelid\tsegmentid\tside\tLLR\nann\ta/1.wav\ta")
    )


def test_sides_are_joined_when_both_have_them(tmp_path):
    key = save(
        tmp_path / "key",
        "modelid\tsegmentid\tside\ttargettype\nm\ts\ta\ttarget\nm\ts\tb\tnontarget\n",
    )
    scores = save(tmp_path / "scores", "modelid\tsegmentid\tside\tLLR\nm\ts\tb\t-1\nm\ts\ta\t1\n")
    assert trials.read(key, scores).score.tolist() == [1.0, -1.0]


def test_words_of_labels_are_kept(tmp_path):
    path = save(tmp_path / "scores", text("etsl", WORDS["tar/non"]))
    trials.write_scores(tmp_path / "new", trials.read(path))
    assert trials.read_scores(tmp_path / "new").vocabulary == "tar/non"


@pytest.mark.parametrize("label", [Y, [bool(y) for y in Y], [1.0, -1.0, 1.0, -1.0, -1.0]])
@pytest.mark.parametrize("name", ["parquet", "npz"])
def test_named_columns(tmp_path, name, label):
    enroll, test = map(list, zip(*IDS, strict=True))
    columns = {"who": enroll, "what": test, "ok": label, "value": SCORES, "snr": [5, 5, 10, 10, 5]}
    path = tmp_path / "file"
    if name == "parquet":
        pl.DataFrame(columns).write_parquet(path)
    else:
        with open(path, "wb") as file:
            np.savez(file, **columns)
    with pytest.raises(ValueError, match=r"no column for the enroll: none is named modelid"):
        trials.read_key(path)
    names = {"enroll": "who", "test": "what", "label": "ok", "score": "value"}
    found = trials.read(path, key_columns=names)
    assert found.y_true.tolist() == Y
    assert found.score.tolist() == SCORES
    assert found.column("snr").tolist() == [5, 5, 10, 10, 5]
    assert "what: test; ok: label" in found.taken[0]
    with pytest.raises(ValueError, match=r"pass columns=\{'enroll': \.\.\.\}$"):
        trials.read_key(path)
    with pytest.raises(ValueError, match=r"key_columns must name roles .*, not 'nope'"):
        trials.read(path, path, key_columns={"nope": "who"})
    with pytest.raises(ValueError, match=r"^columns must name columns of .*who, what.* not 'nope'"):
        trials.read_key(path, columns={"enroll": "nope"})
    with pytest.raises(ValueError, match="roles enroll, test, side, label, score, not 'nope'"):
        trials.read_key(path, columns={"nope": "who"})


@pytest.mark.parametrize(("separator", "name"), [(",", "csv"), ("\t", "nist")])
def test_a_header_is_known_by_the_names_that_were_chosen(tmp_path, separator, name):
    path = save(tmp_path / "scores", "cosine who what\n2.5 a b\n1 c d\n".replace(" ", separator))
    found = trials.read_scores(path, columns={"enroll": "who", "test": "what", "score": "cosine"})
    assert found.format == name
    assert found.score.tolist() == [2.5, 1.0]
    assert found.enroll.strings().tolist() == ["a", "c"]


def test_two_columns_for_one_role(tmp_path):
    path = save(tmp_path / "scores", "enroll,test,score,llr\na,b,1,2\n")
    with pytest.raises(ValueError, match="the score could be llr or score: pass columns="):
        trials.read_scores(path)
    assert trials.read_scores(path, columns={"score": "llr"}).score.tolist() == [2.0]
    path = save(tmp_path / "both", "enroll,model,test,score,label\na,m,b,1,1\na,m,c,2,0\n")
    message = r"enroll could be model or enroll: pass score_columns=\{'enroll': \.\.\.\}$"
    with pytest.raises(ValueError, match=message):
        trials.read(path)
    key = save(tmp_path / "key", "enroll,test,label,score,llr\na,b,1,1,2\nd,e,0,2,3\n")
    assert list(trials.read_key(key).columns) == ["score", "llr"]  # a key's scores are not used


def matrices(path, kind, *, models=("ann", "bob"), segments=("x", "y", "z"), turn=False, **parts):
    rows, columns = {"bosaris": ("ID/row_ids", "ID/column_ids"), "sidekit": ("modelset", "segset")}[
        kind
    ]
    with h5py.File(path, "w") as file:
        file[rows] = np.array(models, dtype="S")
        file.create_dataset(columns, data=list(segments), dtype=h5py.string_dtype())
        for name, values in parts.items():
            matrix = np.array(values)
            file[name] = matrix.T if turn else matrix
    return path


TRIAL_MASK = [[1, 0, -1], [-1, 1, 0]]
MATRIX = [[1.0, np.nan, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("kind", ["bosaris", "sidekit"])
@pytest.mark.parametrize("old", [False, True])
def test_matrices(tmp_path, kind, turn, old):
    masks = {"trial_mask": np.array(TRIAL_MASK, np.int8)}
    if old:
        masks = {
            "target_mask": np.array(TRIAL_MASK) == 1,
            "nontarget_mask": np.array(TRIAL_MASK) == -1,
        }
    key = matrices(tmp_path / "key", kind, turn=turn, **masks)
    score_mask = np.abs(np.array(TRIAL_MASK)).astype(np.uint8)
    scores = matrices(
        tmp_path / "scores", kind, turn=not turn, scores=MATRIX, score_mask=score_mask
    )
    found = trials.read(key, scores)
    assert found.enroll.tolist() == ["ann", "ann", "bob", "bob"]
    assert found.test.tolist() == ["x", "z", "x", "y"]
    assert found.y_true.tolist() == [1, 0, 0, 1]
    assert found.score.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert ("transposed: columns are models" in found.taken[0]) == turn
    assert kind in found.taken[0]
    trials.write_scores(tmp_path / "new", found)
    assert trials.read(key, tmp_path / "new").score.tolist() == found.score.tolist()


def test_square_matrices_do_not_tell(tmp_path):
    ids = {"models": ("a", "b"), "segments": ("x", "y")}
    key = matrices(tmp_path / "key", "bosaris", trial_mask=[[1, -1], [0, 1]], **ids)
    with pytest.raises(ValueError, match=r"2 models and as many segments.*transpose=False"):
        trials.read_key(key)
    found = trials.read_key(key, transpose=False)
    assert found.test.strings().tolist() == ["x", "y", "y"]
    turned = trials.read_key(key, transpose=True)
    assert turned.enroll.strings().tolist() == ["a", "b", "b"]
    scored = trials.TrialSet(
        found.enroll, found.test, found.y_true, np.arange(3.0), {}, (), trials.Source("x", {}, None)
    )
    trials.write_scores(tmp_path / "new", scored, format="sidekit")  # says what its rows are
    assert trials.read_scores(tmp_path / "new").score.tolist() == [0.0, 1.0, 2.0]
    text_key = save(tmp_path / "text", "a x 1\na y 0\nb y 1\n")
    score_mask = np.array([[1, 1], [0, 1]], np.uint8)
    scores = matrices(
        tmp_path / "scores", "bosaris", scores=[[1, 2], [0, 3]], score_mask=score_mask, **ids
    )
    assert trials.read(text_key, scores, transpose=False).score.tolist() == [1.0, 2.0, 3.0]
    assert trials.read(key, scores, transpose=False).score.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(
        ValueError, match=r"transpose is for HDF5 files, and .*text is kaldi-trials"
    ):
        trials.read(text_key, save(tmp_path / "lines", "a x 0.5\n"), transpose=False)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"trial_mask": np.ones((4, 3), int)}, r"must be \(2, 3\), or \(3, 2\).*not \(4, 3\)"),
        ({"trial_mask": [[2, 0, 0], [0, 0, 0]]}, "must hold 1, 0 and -1, not 2"),
        ({"trial_mask": np.zeros((2, 3), int)}, "hold no trial"),
        ({"trial_mask": np.full((2, 3), np.nan)}, "must hold 1, 0 and -1, not nan"),
        ({"trial_mask": np.full((2, 3), b"x")}, r"key: /trial_mask must hold numbers, not \|S1"),
        ({"trial_mask/x": [1]}, "key: /trial_mask must hold numbers, not a group"),
        ({"trial_mask": np.zeros((0, 3), int), "models": ()}, "key: there are no models"),
        ({"scores": MATRIX}, "must be trial_mask or target_mask and nontarget_mask, not"),
        (
            {"target_mask": np.ones((2, 3), int), "nontarget_mask": np.ones((2, 3), int)},
            "both target_mask and nontarget_mask",
        ),
        (
            {"target_mask": np.ones((2, 3), int), "nontarget_mask": np.ones((3, 2), int)},
            "of one shape",
        ),
    ],
)
def test_bad_matrices(tmp_path, parts, message):
    path = matrices(tmp_path / "key", "bosaris", **parts)
    with pytest.raises(ValueError, match=message):
        trials.read_key(path)


def test_bad_hdf5(tmp_path):
    path = matrices(tmp_path / "key", "bosaris", trial_mask=TRIAL_MASK)
    with pytest.raises(ValueError, match="not those of sidekit"):
        trials.read_key(path, format="sidekit")
    with pytest.raises(ValueError, match=r"transpose does not fit .*, where rows are models"):
        trials.read_key(path, transpose=True)
    with pytest.raises(ValueError, match=r"columns is for files that name theirs, .* is HDF5"):
        trials.read_key(path, columns={"enroll": "x"})
    with pytest.raises(
        ValueError, match=r"1 nan score \('ann z'\): pass nan='drop'"
    ):  # ids tell where
        trials.read(
            path,
            matrices(
                tmp_path / "s",
                "bosaris",
                scores=[[1, 0, np.nan], [1, 1, 0]],
                score_mask=np.abs(TRIAL_MASK),
            ),
        )
    with pytest.raises(ValueError, match="give the key too"):
        trials.read(path)
    (tmp_path / "cut").write_bytes(path.read_bytes()[:900])
    with pytest.raises(ValueError, match="whole HDF5 file"):
        trials.read_key(tmp_path / "cut")
    with pytest.raises(ValueError, match="content is bosaris or sidekit, not csv"):
        trials.read_key(path, format="csv")


@pytest.mark.parametrize("missing", ["polars", "h5py"])
def test_what_is_not_installed(tmp_path, monkeypatch, missing):
    path = matrices(tmp_path / "key", "bosaris", trial_mask=TRIAL_MASK)
    if missing == "polars":
        path = save(tmp_path / "key", KEYS["kaldi-trials"])
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ValueError, match=f"needs {missing}: pip install"):
        trials.read_key(path)


def test_import_is_light():
    code = (
        "import sys, fastpsr.trials; "
        "sys.exit(any(name in sys.modules for name in ('polars', 'h5py', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": np.ones((2, 2))}, r"1-dimensional and of one length, not .*score \(2, 2\)"),
        ({"score": np.ones(3)}, r"1-dimensional and of one length, not .*score \(3,\)"),
        ({"score": np.array([1j, 2])}, "numbers or text, but score is complex128"),
        ({"score": np.array(["1", "2"])}, "scores must be numbers, but score is String"),
        ({"label": np.array([1, 2])}, "row 1: a label must be one of .*, not '2'"),
        ({"enroll": np.array([b"\xe9", b"b"])}, "file: text must be UTF-8, but enroll is not"),
    ],
)
def test_bad_npz(tmp_path, change, message):
    columns = {"enroll": ["a", "b"], "test": ["x", "y"], "label": [1, 0], "score": [1.0, 2.0]}
    with open(tmp_path / "file", "wb") as file:
        np.savez(file, **{**columns, **change})
    with pytest.raises(ValueError, match=message):
        trials.read(tmp_path / "file")


@pytest.mark.parametrize("name", ["parquet", "npz"])
def test_damaged_binary_files(tmp_path, name):
    key = save(tmp_path / "key", KEYS["kaldi-trials"])
    found = trials.read(key, save(tmp_path / "scores", SCORE_FILES["kaldi-scores"]))
    trials.write_scores(tmp_path / "new", found, format=name)
    (tmp_path / "cut").write_bytes((tmp_path / "new").read_bytes()[:100])
    with pytest.raises(ValueError, match=f"whole {name}" if name == "npz" else "whole Parquet"):
        trials.read_scores(tmp_path / "cut")


def test_what_cannot_be_written(tmp_path):
    found = trials.read(
        save(tmp_path / "scores", "enroll,test,score,label\na b,c,1,1\na b,d,2,0\n")
    )
    path = tmp_path / "new"
    with pytest.raises(ValueError, match=r"kaldi-scores cannot hold 1 id with.*'a b'"):
        trials.write_scores(path, found, format="kaldi-scores")
    with pytest.raises(ValueError, match="kaldi-trials holds no scores"):
        trials.write_scores(path, found, format="kaldi-trials")
    with pytest.raises(ValueError, match="one entry per sample: 2, not 3"):
        trials.write_scores(path, found, [1, 2, 3])
    with pytest.raises(ValueError, match=r"format must be one of kaldi-trials, .*, not 'nope'"):
        trials.write_scores(path, found, format="nope")
    with pytest.raises(ValueError, match="folder that exists"):
        trials.write_scores(tmp_path / "no" / "new", found)
    with pytest.raises(ValueError, match="only text is compressed"):
        trials.write_scores(tmp_path / "new.gz", found, format="npz")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scores"]
    trials.write_scores(path, found)
    assert trials.read(path).enroll.tolist() == ["a b", "a b"]
