"""Every format: found by its content, read, written, and read back."""

import gzip
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fastpsr import trials
from fastpsr.trials.detect import detect
from fastpsr.trials.formats import REGISTRY, endings_of, may_end_in
from fastpsr.trials.reading import read_file
from fastpsr.trials.request import Request

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
    "target/impostor": ("target", "impostor"),
    "target/non-target": ("Target", "Non-target"),
    "genuine/imposter": ("genuine", "imposter"),
    "same/different": ("same", "different"),
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


@pytest.mark.in_turn(2)
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
    assert f"column 3: label ({words})" in found.notes


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


def test_files_with_one_id_need_no_key(tmp_path):
    scores = save(tmp_path / "scores.csv", "filename,score,label\nf,1.5,1\ng,.5,0\nh,2,1\n")
    key = save(tmp_path / "key.csv", "filename,label\nf,1\ng,0\nh,1\n")
    for call in (
        lambda: trials.read_scores(scores),
        lambda: trials.read_key(key),
        lambda: trials.join(key, scores, tmp_path / "o"),
    ):
        with pytest.raises(ValueError, match=r"in one file, read without a key$"):
            call()
    assert trials.read(scores).y_true.tolist() == [1, 0, 1]  # the remedy


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
    assert "what: test; ok: label" in found.notes[0]
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


def test_names_of_columns_that_differ_in_case(tmp_path):
    path = save(tmp_path / "scores", "enroll,test,score,Score\na,b,1,2\n")
    with pytest.raises(ValueError, match="the score could be score or Score: pass columns="):
        trials.read_scores(path)
    assert trials.read_scores(path, columns={"score": "Score"}).score.tolist() == [2.0]


@pytest.mark.filterwarnings("ignore:Duplicate name")  # of zipfile
@pytest.mark.parametrize("name", ["csv", "npz", "parquet"])
def test_equal_names_of_columns(tmp_path, name):
    columns = [("enroll", ["a"]), ("test", ["b"]), ("score", [1.0]), ("score", [2.0])]
    path = tmp_path / f"scores.{name}"
    if name == "csv":
        save(path, "enroll,test,score,score\na,b,1,2\n")
    elif name == "npz":
        with zipfile.ZipFile(path, "w") as archive:
            for column, values in columns:
                with archive.open(f"{column}.npy", "w") as file:
                    np.save(file, np.array(values))
    else:
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        arrays = [pa.array(values) for _, values in columns]
        pq.write_table(pa.table(arrays, names=[column for column, _ in columns]), path)
    with pytest.raises(ValueError, match=r"different names.* 'score'"):
        trials.read_scores(path)


@pytest.mark.parametrize("name", ["csv", "npz", "parquet", "h5"])
def test_integers_that_would_be_rounded_are_refused(tmp_path, name):
    path, scores = tmp_path / f"scores.{name}", np.array([2**53, 2**53 + 1])
    ids = ["a", "b"]
    if name == "h5":
        matrices(path, "bosaris", models=["m"], segments=ids, scores=[scores], score_mask=[[1, 1]])
    elif name == "npz":
        np.savez(path, enroll=ids, test=ids, score=scores)
    else:
        frame = pl.DataFrame({"enroll": ids, "test": ids, "score": scores})
        frame.write_csv(path) if name == "csv" else frame.write_parquet(path)
    with pytest.raises(ValueError, match=f"float64 holds, not '{2**53 + 1}'"):
        trials.read_scores(path)


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
    assert ("transposed: columns are models" in found.notes[0]) == turn
    assert kind in found.notes[0]
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
        (
            {"trial_mask": [[2, 0, 0], [0, 0, 0]]},
            "must hold 1, 0, -1 and, for spoofed trials, -2, not 2",
        ),
        ({"trial_mask": np.zeros((2, 3), int)}, "hold no trial"),
        (
            {"trial_mask": np.full((2, 3), np.nan)},
            "must hold 1, 0, -1 and, for spoofed trials, -2, not nan",
        ),
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
    with pytest.raises(ValueError, match=r"columns is for files that name theirs, .* is bosaris"):
        trials.read_key(path, columns={"enroll": "x"})
    with pytest.raises(
        ValueError, match=r"1 nan score \('ann z' at \S+: row 0, column 2\): pass nan='drop'"
    ):
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
    with pytest.raises(ValueError, match="content is bosaris or sidekit or dca-plda, not csv"):
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


# The registry


def made_of(entry, words):
    """Lines of a format, with labels of a vocabulary."""
    target, nontarget, *_ = words.split("/")
    labels = [target if y else nontarget for y in Y]
    columns = {
        "enroll": [e for e, _ in IDS], "test": [t for _, t in IDS], "label": labels,
        "score": map(repr, SCORES), "attack": ["A07"] * len(Y),
        **{f"norm_{k}": ["0.5"] * len(Y) for k in range(1, 5)},
    }  # fmt: skip
    rows = zip(*(columns[role] for role in entry.roles), strict=True)
    return "".join((entry.separator or " ").join(row) + "\n" for row in rows)


@pytest.mark.parametrize("entry", [e for e in REGISTRY if e.roles], ids=str)
def test_every_format_of_text_is_detected(tmp_path, entry):
    wanted = "pairs" if len({*entry.roles} & {"label", "score"}) == 0 else "key"
    wanted = "scores" if "score" in entry.roles else wanted
    path = save(tmp_path / "file", made_of(entry, entry.words or "1/0"))
    expected = entry.name
    if entry.roles == ("score",):  # a column is apart from no other
        expected = "numbers"
    request = Request(wanted)
    assert detect(path, request)[0].name == expected
    found = read_file(path, request)
    assert found.format == expected
    assert len(found) == len(Y)
    if "label" in entry.roles:
        assert found.y_true.tolist() == Y
    forced = read_file(path, Request(wanted, entry.name))
    assert (forced.format, forced.order) == (entry.name, found.order)


@pytest.mark.parametrize("name", trials.FORMATS)
def test_every_format_is_written_and_read_back(tmp_path, name):
    key = save(tmp_path / "key", KEYS["kaldi-trials"])
    made = trials.read(key, save(tmp_path / "scores", SCORE_FILES["kaldi-scores"]))
    entries = [entry for entry in REGISTRY if entry.name == name]
    for ending in endings_of(name):
        path = tmp_path / f"new{ending}"
        if not any(entry.holds_scores for entry in entries):
            with pytest.raises(ValueError, match=f"{name} holds no scores"):
                trials.write_scores(path, made, format=name)
            continue
        trials.write_scores(path, made, format=name)
        again = trials.read_scores(path)
        assert again.format == name
        assert sorted(again.score.tolist()) == sorted(SCORES)
        if again.enroll is not None:
            assert trials.read(key, path).score.tolist() == SCORES
        if entries[0].kind != "text":
            with pytest.raises(ValueError, match=f"only text is compressed by gzip, not {name}"):
                trials.write_scores(f"{path}.gz", made, format=name)


def test_endings_are_refused_for_other_formats():
    endings = {ending for entry in REGISTRY for ending in entry.endings} | {".npy", ".json"}
    for name in trials.FORMATS:
        fitting = {ending for ending in endings if may_end_in(name, Path(f"x{ending}"))}
        assert fitting == {*endings_of(name)}, name
        assert may_end_in(name, Path("scores"))
        assert may_end_in(name, Path("scores.v2"))
    assert may_end_in("dca-plda", Path("x.H5"))
    assert may_end_in("bare-csv", Path("x.csv.gz"))
    assert not may_end_in("kaldi-scores", Path("x.csv.gz"))


def test_every_format_has_a_row_in_the_docs():
    page = (Path(__file__).parents[1] / "docs/reference/trial-lists.md").read_text("utf-8")
    lines = re.findall(r"^\|( `[\w-]+` \|.*)\|$", page.split("\n## Formats\n")[1], re.MULTILINE)
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    rows = [(name.strip("`"), *rest) for name, *rest in rows]
    assert [name for name, *_ in rows] == list(trials.FORMATS)
    for name, key, scores, endings, columns in rows:
        entries = [entry for entry in REGISTRY if entry.name == name]
        assert tuple(re.findall(r"`(.*?)`", endings)) == endings_of(name)
        assert bool(scores) == any(entry.holds_scores for entry in entries)
        needed = {"enroll", "test", "label"}
        assert bool(key) == any(not e.roles or needed <= {*e.roles} for e in entries)
        if entries[0].roles and name != "bare-csv":
            assert f"`{' '.join(entries[0].roles)}`" in columns
        if hasattr(entries[0], "ids"):
            assert all(f"`{ids}`" in columns for ids in entries[0].ids)


def test_spoofed_trials_of_matrices(tmp_path):
    mask = np.array([[1, 0, -2], [-1, 1, 0]], np.int8)  # as hyperion writes them
    key = trials.read_key(matrices(tmp_path / "key", "bosaris", trial_mask=mask))
    assert key.y_true.tolist() == [1, 0, 0, 1]
    assert key.columns["kind"].strings().tolist() == ["target", "spoof", "nontarget", "target"]
    assert key.notes.endswith("-2 are spoofed: non-targets, told apart by kind")
    plain = trials.read_key(matrices(tmp_path / "plain", "bosaris", trial_mask=TRIAL_MASK))
    assert plain.columns == {}


def test_hdf5_that_fits_no_format_or_two(tmp_path):
    path = matrices(tmp_path / "key", "bosaris", trial_mask=TRIAL_MASK)
    with h5py.File(path, "a") as file:
        file["modelset"], file["segset"] = [b"ann", b"bob"], [b"x", b"y", b"z"]
    with pytest.raises(ValueError, match=r"more than one format: bosaris .*, sidekit .*format="):
        trials.read_key(path)
    assert trials.read_key(path, format="sidekit").y_true.tolist() == [1, 0, 0, 1]
    with h5py.File(tmp_path / "other", "w") as file:
        file["embeddings"] = [1.0]
    with pytest.raises(ValueError, match=r"other: the content is not that of bosaris \(ID/row_ids"):
        trials.read_key(tmp_path / "other")


# Files as other programs write them


@pytest.mark.parametrize("words", [("1.0", "0.0"), ("1.0", "-1.0")])
@pytest.mark.parametrize("layout", ["etl", "let", "etsl", "etls"])
def test_labels_that_pandas_wrote_as_floats(tmp_path, layout, words):
    path = save(tmp_path / "file", text(layout, words))
    found = trials.read(path) if "s" in layout else trials.read_key(path)
    assert found.y_true.tolist() == Y
    with pytest.raises(ValueError, match=r"file:6: labels must be of one kind, but '1' follows"):
        trials.read_key(save(path, text("etl", words) + "x y 1\n"), format="kaldi-trials")


@pytest.mark.parametrize("header", ["trial,enrolment,test", "Label,Enrol_ID,TestID"])
def test_british_headers_and_labels_named_trial(tmp_path, header):
    rows = [f"{y},{e},{t}" for (e, t), y in zip(IDS, Y, strict=True)]
    key = save(tmp_path / "key", "\n".join([header, *rows]))
    scores = save(tmp_path / "scores", SCORE_FILES["kaldi-scores"])
    check(trials.read(key, scores))
    # where nobody needs labels, such a column numbers the trials
    numbered = [f"{k},{e},{t},{s!r}" for k, ((e, t), s) in enumerate(zip(IDS, SCORES, strict=True))]
    found = trials.read_scores(save(scores, "\n".join(["trial,enrol,test,score", *numbered])))
    assert found.y_true is None
    assert found.columns["trial"].strings().tolist() == [*"01234"]


@pytest.mark.parametrize("start", ["", "\n", "\ufeff"])
@pytest.mark.parametrize("layout", ["etl", "let"])
def test_csv_without_a_header(tmp_path, layout, start):
    key = save(tmp_path / "key", start + text(layout, WORDS["1/0"], ","))
    scores = save(tmp_path / "scores", start + text("tes".replace("te", "et"), separator=","))
    found = trials.read(key, scores)
    check(found)
    assert trials.read_key(key).format == "bare-csv"
    assert "bare-csv; column 1: " in found.notes[0]
    check(trials.read(key, scores, key_format="bare-csv", score_format="bare-csv"))
    trials.write_scores(tmp_path / "new", found)
    assert (tmp_path / "new").read_text().splitlines()[0] == "ann,a/1.wav,1.25"
    joined = trials.join(key, scores, tmp_path / "new.parquet")
    assert joined.n_targets == 2
    assert pl.read_parquet(joined.path)["llr"].to_list() == SCORES
    save(key, start + text(layout, WORDS["1/0"], ",") + "a,b\n")
    with pytest.raises(ValueError, match=rf"key:{6 + (start == chr(10))}: there must be 3 columns"):
        trials.read(key, scores, key_format="bare-csv")
    with pytest.raises(ValueError, match=r"bare-csv \(score\) has no enroll"):
        trials.read_key(save(key, "some text\n"), format="bare-csv")


SASV = [
    ("LA_0015", "LA_E_1", "bonafide", "target"),
    ("LA_0015", "LA_E_2", "bonafide", "nontarget"),
    ("LA_0015", "LA_E_3", "A07", "spoof"),
    ("LA_0007", "LA_E_4", "A19", "spoof"),
]


@pytest.mark.parametrize("columns", [(0, 1, 2, 3), (0, 1, 3)])
def test_lists_with_spoofed_trials(tmp_path, columns):
    lines = [" ".join(row[k] for k in columns) + "\n" for row in SASV]
    key = save(tmp_path / "key", "".join(lines))
    found = trials.read_key(key)
    assert found.format == ("sasv" if len(columns) == 4 else "kaldi-trials")
    assert found.y_true.tolist() == [1, 0, 0, 0]
    assert found.columns["kind"].strings().tolist() == [row[3] for row in SASV]
    assert (
        "(target/nontarget/spoof: both others are non-targets, told apart by kind)" in found.notes
    )
    if len(columns) == 4:
        assert found.columns["attack"].strings().tolist() == [row[2] for row in SASV]
        scores = save(
            tmp_path / "s", "".join(f"{e} {t} {k}\n" for k, (e, t, *_) in enumerate(SASV))
        )
        joined = trials.join(key, scores, tmp_path / "new.parquet")
        assert joined.columns[-2:] == (":attack", ":kind") or joined.columns[-2:] == (
            "attack",
            "kind",
        )
        kinds = pl.read_parquet(joined.path)[joined.columns[-1]]
        assert kinds.to_list() == [row[3] for row in SASV]


def test_dca_plda(tmp_path):
    mask = np.array([[1, -1, 0], [-1, 1, 0]], np.int8)
    ids = {"enroll_ids": ["ann", "bob"], "test_ids": ["x", "y", "z"]}

    def write(name, **parts):
        with h5py.File(tmp_path / name, "w") as file:
            for part, values in (ids | parts).items():
                file[part] = np.array(values, "S") if part in ids else np.array(values)
        return tmp_path / name

    for name in ("trial_mask", "mask"):
        key = trials.read_key(write("key", **{name: mask}))
        assert key.y_true.tolist() == [1, 0, 0, 1]
        assert key.format == "dca-plda"
    scores = write("scores", scores=np.arange(6.0).reshape(2, 3))  # as it saves them: no mask
    found = trials.read(key, scores)  # which is full: it has scores of other pairs, too
    assert found.notes[-1] == (
        "left out: 2 scores of no trial in the key ('ann z', 'bob z'): a full matrix has one for "
        "every pair"
    )
    assert found.score.tolist() == [0.0, 1.0, 3.0, 4.0]
    both = write("both", scores=np.arange(6.0).reshape(2, 3), mask=mask)
    assert trials.read(both, both).score.tolist() == found.score.tolist()
    trials.write_scores(tmp_path / "new", found)
    assert trials.read(key, tmp_path / "new").score.tolist() == found.score.tolist()
    with pytest.raises(
        ValueError, match="key: mask must hold 1, 0, -1 and, for spoofed trials, -2, not 3"
    ):
        trials.read_key(write("key", mask=mask * 3))
    with pytest.raises(ValueError, match="must be trial_mask or mask or target_mask and"):
        trials.read_key(scores)


def test_several_keys_are_one(tmp_path):
    lines = KEYS["kaldi-trials"].splitlines(keepends=True)
    one = save(tmp_path / "one", "".join(lines[:2]))
    other = save(
        tmp_path / "other",
        "enroll,label,test,snr\n"
        + "".join(f"{e},{y},{t},5\n" for (e, t), y in zip(IDS, Y, strict=True))[
            len("".join(f"{e},{y},{t},5\n" for (e, t), y in zip(IDS[:2], Y[:2], strict=True))) :
        ],
    )
    scores = save(tmp_path / "scores", SCORE_FILES["kaldi-scores"])
    found = trials.read([one, trials.read_key(other)], scores)
    check(found)
    assert f"left out: column snr of {other}, which others lack" in found.notes[0]
    with pytest.raises(
        ValueError, match=r"2 duplicate trials in the key .*one:1.*duplicates='first'"
    ):
        trials.read([one, one, other], scores)
    check(trials.read([one, one, other], scores, duplicates="first"))
    with pytest.raises(ValueError, match="key must name at least one file"):
        trials.read([], scores)
    with pytest.raises(ValueError, match="key must be one file of scores with labels, not a list"):
        trials.read([one, other])


@pytest.mark.parametrize("layout", ["s", "ets"])
def test_targets_and_nontargets_in_two_files(tmp_path, layout):
    lines = text(layout).splitlines(keepends=True)
    sides = [
        save(tmp_path / name, "".join(line for line, y in zip(lines, Y, strict=True) if y == label))
        for name, label in (("targets", 1), ("impostors", 0))
    ]
    found = trials.read(trials.read_classes(*sides))
    assert found.y_true.tolist() == [1, 1, 0, 0, 0]
    assert found.score.tolist() == [1.25, 3e-7, -0.5, float("-inf"), 1 / 3]
    assert found.notes[0].splitlines()[1].endswith("; all are non-targets")
    ids = [
        save(
            tmp_path / f"{label}.lst",
            "".join(f"{e} {t}\n" for (e, t), y in zip(IDS, Y, strict=True) if y == label),
        )
        for label in (1, 0)
    ]
    key = trials.read_classes(*ids, of="pairs")
    if layout == "ets":
        scores = save(tmp_path / "scores", text("ets"))
        assert trials.read(key, scores).score.tolist() == found.score.tolist()
        with pytest.raises(ValueError, match=r"targets has ids of trials, and .*bare has none"):
            trials.read_classes(sides[0], save(tmp_path / "bare", "1\n2\n"))
    with pytest.raises(ValueError, match=r"has labels \(target/nontarget\)"):
        trials.read_classes(save(tmp_path / "labeled", text(layout + "l")), sides[1])
    with pytest.raises(ValueError, match="of must be 'scores' or 'pairs', not 'x'"):
        trials.read_classes(*sides, of="x")


# Written as they were read


@pytest.mark.parametrize("name", ["csv", "parquet", "npz"])
def test_labels_of_the_key_do_not_leak_into_scores(tmp_path, name):
    key = save(tmp_path / "key", KEYS["kaldi-trials"])
    columns = {
        "score": SCORES, "dur": [1, 2, 3, 4, 5],
        "enroll": [e for e, _ in IDS], "test": [t for _, t in IDS],
    }  # fmt: skip
    path, new = tmp_path / "scores", tmp_path / "new"
    if name == "npz":
        with open(path, "wb") as file:
            np.savez(file, **columns)
    else:
        frame = pl.DataFrame(columns)
        frame.write_csv(path) if name == "csv" else frame.write_parquet(path)
    trials.write_scores(new, trials.read(key, path), np.arange(5.0))
    again = trials.read_scores(new)
    assert again.order == ("score", "dur", "enroll", "test")
    assert again.y_true is None
    assert again.score.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    column = again.columns["dur"]
    values = column.tolist() if isinstance(column, np.ndarray) else column.strings().tolist()
    assert [*map(int, values)] == [1, 2, 3, 4, 5]


def test_columns_of_score_normalization_are_kept(tmp_path):
    path, new = save(tmp_path / "scores", text("etslnnnn")), tmp_path / "new"
    trials.write_scores(new, trials.read(path), np.arange(5.0))
    assert new.read_text().splitlines()[0] == "ann a/1.wav 0.0 target 0.5 0.5 0.5 0.5"


def test_a_column_that_key_and_scores_have_is_the_keys(tmp_path):
    key = save(tmp_path / "key", "enroll,test,label,snr\na,b,1,5\na,c,0,6\n")
    scores = save(tmp_path / "scores", "enroll,test,score,snr\na,b,1,7\na,c,0,8\n")
    found = trials.read(key, scores)
    assert found.notes[-1] == "left out: column snr of the scores: the key has one too"
    trials.write_scores(tmp_path / "new", found)
    assert (tmp_path / "new").read_text().startswith("enroll,test,score\n")
