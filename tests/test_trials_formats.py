"""Formats: joined, written, and read back. What readers make of text is in the corpus."""

import gzip
import sys

import numpy as np
import polars as pl
import pytest

import fastpsr as fp
from fastpsr import trials
from fastpsr.tables import text as table_text
from tests.commands import fastpsr, strict_json, succeed
from tests.golden import FOLDER

h5py = pytest.importorskip("h5py")

CORPUS = FOLDER / "corpus"
IDS = [("ann", "a/1.wav"), ("ann", "b/1.wav"), ("bob", "b/2.wav"), ("bob", "a/1.wav"), ("çy", "d")]
ENROLL, TEST = map(list, zip(*IDS, strict=True))
Y = [1, 0, 1, 0, 0]
SCORES = [1.25, -0.5, 3e-7, float("-inf"), 1 / 3]
LABELS = ("target", "nontarget")


def text(layout, words=LABELS, separator=" "):
    """Lines of all trials, whose columns are named by letters."""
    lines = []
    for enroll, test, y, score in zip(ENROLL, TEST, Y, SCORES, strict=True):
        columns = {"e": enroll, "t": test, "s": repr(score), "l": words[1 - y], "n": "0.5"}
        lines.append(separator.join(columns[letter] for letter in layout) + "\n")
    return "".join(lines)


KEY, SCORE_LINES = text("etl"), text("ets")
WITHOUT_SCORES = ("kaldi-trials", "sitw", "voxceleb", "sasv", "asvspoof", "pairs")


def save(path, content, *, packed=False):
    data = content.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


def require_all(joined):
    assert list(zip(joined.enroll, joined.test, strict=True)) == IDS
    assert joined.score.tolist() == SCORES
    assert joined.y_true.tolist() == Y


@pytest.fixture
def key(tmp_path):
    return save(tmp_path / "key", KEY)


@pytest.fixture
def joined(tmp_path, key):
    return trials.read(key, save(tmp_path / "scores", SCORE_LINES))


# Reading


def test_scores_with_labels_need_no_key(tmp_path):
    labeled = trials.read(save(tmp_path / "scores", text("etslnnnn")))
    require_all(labeled)
    assert labeled.column("norm_4").tolist() == [0.5] * 5
    assert "column 4: label (target/nontarget)" in labeled.notes[0]
    without_ids = trials.read(save(tmp_path / "scores", text("sl")))
    assert (without_ids.score.tolist(), without_ids.y_true.tolist()) == (SCORES, Y)
    with pytest.raises(ValueError, match="no ids"):
        without_ids.enroll  # noqa: B018


def test_files_with_one_id_need_no_key(tmp_path):
    scores = save(tmp_path / "scores.csv", "filename,score,label\nf,1.5,1\ng,.5,0\nh,2,1\n")
    key = save(tmp_path / "key.csv", "filename,label\nf,1\ng,0\nh,1\n")
    for call in (lambda: trials.read_key(key), lambda: trials.join(key, scores, tmp_path / "o")):
        with pytest.raises(ValueError, match=r"in one file, read without a key$"):
            call()
    assert trials.read(scores).y_true.tolist() == [1, 0, 1]  # the remedy


def test_named_columns(tmp_path):
    path = tmp_path / "file"
    columns = {"who": ENROLL, "what": TEST, "ok": Y, "value": SCORES, "snr": [5, 5, 10, 10, 5]}
    pl.DataFrame(columns).write_parquet(path)
    names = "enroll=who,test=what,label=ok,score=value"
    joined = trials.read(path, format=names)
    assert (joined.y_true.tolist(), joined.score.tolist()) == (Y, SCORES)
    assert joined.column("snr").tolist() == [5, 5, 10, 10, 5]
    assert "what: test; ok: label" in joined.notes[0]
    with pytest.raises(fp.ArgumentError) as caught:
        trials.read_key(path)
    assert caught.value.pass_ == {"format": "enroll=COLUMN"}
    assert trials.read_key(path, format=names).y_true.tolist() == Y  # the remedy
    for call, argument in (
        (lambda: trials.read(path, path, key_format="nope=who"), "key_format"),
        (lambda: trials.read_key(path, format="enroll=nope"), "format"),
        (lambda: trials.read_key(path, format="nope"), "format"),
    ):
        with pytest.raises(fp.ArgumentError, match="'nope") as caught:
            call()
        assert caught.value.argument == argument


@pytest.mark.parametrize(("separator", "name"), [(",", "csv"), ("\t", "nist")])
def test_a_header_is_known_by_the_names_that_were_chosen(tmp_path, separator, name):
    path = save(tmp_path / "scores", "cosine who what\n2.5 a b\n1 c d\n".replace(" ", separator))
    scores = trials.read_scores(path, format="enroll=who,test=what,score=cosine")
    assert scores.format == name
    assert scores.score.tolist() == [2.5, 1.0]
    assert scores.enroll.strings().tolist() == ["a", "c"]


@pytest.mark.parametrize("above", ["", "sep=;\n", '"SEP=;"\n'])
def test_semicolons_below_a_header(tmp_path, above):
    content = above + "test;enroll;label;note\na;b;target;x,y\nc;d;nontarget;z\n"
    key = trials.read_key(save(tmp_path / "key", content))
    assert (key.format, key.enroll.strings().tolist(), key.test[1]) == ("csv", ["b", "d"], "c")
    assert key.columns["note"].strings().tolist() == ["x,y", "z"]
    save(tmp_path / "key", content + "e;f;maybe;x\n")
    with pytest.raises(ValueError, match=f"key:{4 + bool(above)}: a label must be one of"):
        trials.read_key(tmp_path / "key")
    commas = save(tmp_path / "commas", content.replace(",", "").replace(";", ","))
    assert trials.read_key(commas).y_true.tolist() == [1, 0]


def test_several_columns_for_a_role(tmp_path):
    for name in ("llr", "Score"):
        path = save(tmp_path / "scores", f"enroll,test,score,{name}\na,b,1,2\n")
        with pytest.raises(fp.ArgumentError) as caught:
            trials.read_scores(path)
        assert caught.value.pass_ == {"format": "score=COLUMN"}
        assert trials.read_scores(path, format=f"score={name}").score.tolist() == [2.0]
    path = save(tmp_path / "both", "enroll,model,test,score,label\na,m,b,1,1\na,m,c,2,0\n")
    with pytest.raises(fp.ArgumentError) as caught:
        trials.read(path)
    assert caught.value.pass_ == {"format": "enroll=COLUMN"}
    assert trials.read(path, format="enroll=model").enroll.tolist() == ["m", "m"]


def test_parquet_files_with_equal_names_or_cut_short(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "scores"
    columns = [pa.array(["a"]), pa.array(["b"]), pa.array([1.0]), pa.array([2.0])]
    pq.write_table(pa.table(columns, names=["enroll", "test", "score", "score"]), path)
    with pytest.raises(ValueError, match=r"different names.* 'score'"):
        trials.read_scores(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="whole Parquet"):
        trials.read_scores(path)


@pytest.mark.parametrize("missing", ["polars", "h5py"])
def test_packages_that_are_not_installed(monkeypatch, key, missing):
    path = CORPUS / "bosaris.key" if missing == "h5py" else key
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ValueError, match=f"needs {missing}: pip install"):
        trials.read_key(path)


# Several files


def test_several_keys_are_one(tmp_path):
    lines = KEY.splitlines(keepends=True)
    first = save(tmp_path / "first", "".join(lines[:2]))
    others = [f"{e},{y},{t},5\n" for (e, t), y in zip(IDS, Y, strict=True)][2:]
    other = save(tmp_path / "other", "".join(["enroll,label,test,snr\n", *others]))
    scores = save(tmp_path / "scores", SCORE_LINES)
    joined = trials.read([first, trials.read_key(other)], scores)
    require_all(joined)
    assert f"left out: column snr of {other}, which others lack" in joined.notes[0]
    with pytest.raises(
        fp.ArgumentError, match=r"2 duplicate trials in the key .*first:1"
    ) as caught:
        trials.read([first, first, other], scores)
    assert caught.value.pass_ == {"duplicates": "first"}
    require_all(trials.read([first, first, other], scores, **caught.value.pass_))
    for call in (lambda: trials.read([], scores), lambda: trials.read([first, other])):
        with pytest.raises(fp.ArgumentError) as caught:
            call()
        assert caught.value.argument == "key"


@pytest.mark.parametrize("layout", ["s", "ets"])
def test_targets_and_nontargets_in_two_files(tmp_path, layout):
    def of_class(layout, label):
        lines = text(layout).splitlines(keepends=True)
        content = "".join(line for line, y in zip(lines, Y, strict=True) if y == label)
        return save(tmp_path / f"{layout}{label}", content)

    sides = {"target": of_class(layout, 1), "nontarget": of_class(layout, 0)}
    joined = trials.read(trials.read_scores(sides))
    assert trials.read(sides).score.tolist() == joined.score.tolist()
    assert joined.y_true.tolist() == [1, 1, 0, 0, 0]
    assert joined.score.tolist() == [1.25, 3e-7, -0.5, float("-inf"), 1 / 3]
    assert joined.notes[0].splitlines()[1].endswith("; all are non-targets")
    if layout == "ets":
        key = {"target": of_class("et", 1), "nontarget": of_class("et", 0)}
        scores = save(tmp_path / "scores", text("ets"))
        assert trials.read(trials.read_key(key), scores).score.tolist() == joined.score.tolist()
        with pytest.raises(ValueError, match=r"ets1 has ids of trials, and .*bare has none"):
            trials.read(sides | {"nontarget": save(tmp_path / "bare", "1\n2\n")})
    with pytest.raises(ValueError, match=r"has labels \(target/nontarget\)"):
        trials.read(sides | {"target": save(tmp_path / "labeled", text(layout + "l"))})


# Writing


@pytest.mark.parametrize("name", trials.FORMATS)
def test_every_format_is_written_and_read_back(tmp_path, key, joined, name):
    if name in WITHOUT_SCORES:
        with pytest.raises(ValueError, match=f"{name} holds no scores"):
            trials.write_scores(tmp_path / "new", joined, format=name)
        return
    llrs = [0.1, 1e-300, float("inf"), -2.0, 5.0]
    for scores in (SCORES, llrs):
        path = tmp_path / "new"
        trials.write_scores(path, joined, scores, format=name)
        assert list(tmp_path.glob(".new*")) == []
        reading = trials.read_scores(path)
        assert reading.format == name
        if reading.enroll is None:
            assert reading.score.tolist() == scores
        else:
            assert trials.read(key, path).score.tolist() == scores
        if reading.y_true is not None:
            assert reading.y_true.tolist() == Y
    packed = tmp_path / "packed.gz"
    if name in ("parquet", "npz", "bosaris", "sidekit", "dca-plda"):
        with pytest.raises(ValueError, match=f"only text is compressed by gzip, not {name}"):
            trials.write_scores(packed, joined, format=name)
    else:
        trials.write_scores(packed, joined, llrs, format=name)
        assert gzip.decompress(packed.read_bytes()) == path.read_bytes()


@pytest.mark.parametrize(
    ("content", "first_line"),
    [
        (text("etsl", ("tar", "non")), "ann a/1.wav 0.0 tar"),  # the words for labels
        (text("etslnnnn"), "ann a/1.wav 0.0 target 0.5 0.5 0.5 0.5"),
        (SCORE_LINES, "ann a/1.wav 0.0"),  # labels of the key are left out
        (text("ets", separator=","), "ann,a/1.wav,0.0"),
        ("modelid\tsegmentid\tside\tLLR\nann\ta/1.wav\ta\t1\n", "modelid\tsegmentid\tside\tLLR"),
    ],
)
def test_scores_are_written_as_they_were_read(tmp_path, content, first_line):
    path = save(tmp_path / "scores", content)
    scored = trials.read(None, path)
    trials.write_scores(tmp_path / "new", scored, np.arange(len(scored)))
    lines = (tmp_path / "new").read_text("utf-8").splitlines()
    assert lines[0] == first_line
    assert len(lines) == len(path.read_text("utf-8").splitlines())


@pytest.mark.parametrize("name", ["csv", "parquet", "npz"])
def test_columns_are_written_in_the_order_of_the_scores(tmp_path, key, name):
    columns = {"score": SCORES, "dur": [1, 2, 3, 4, 5], "enroll": ENROLL, "test": TEST}
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
    assert again.y_true is None  # labels of the key are left out
    assert again.score.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert [*map(int, list(again.columns["dur"]))] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["csv", "parquet", "npz"])
def test_trials_without_labels_are_written_without(tmp_path, name):
    path, new = tmp_path / "scores", tmp_path / "new"
    path.write_text("".join(f"{m} {s} {x}\n" for m, s, x in zip(ENROLL, TEST, SCORES, strict=True)))
    trials.write_scores(new, trials.read(None, path), format=name)
    again = trials.read_scores(new)
    assert again.order == ("enroll", "test", "llr")
    assert again.y_true is None
    assert again.score.tolist() == list(SCORES)


def test_a_column_that_key_and_scores_have_is_the_keys(tmp_path):
    key = save(tmp_path / "key", "enroll,test,label,snr\na,b,1,5\na,c,0,6\n")
    scores = save(tmp_path / "scores", "enroll,test,score,snr\na,b,1,7\na,c,0,8\n")
    joined = trials.read(key, scores)
    assert joined.column("snr").tolist() == ["5", "6"]
    assert joined.notes[-1] == "left out: column snr of the scores: the key has one too"
    trials.write_scores(tmp_path / "new", joined)
    assert (tmp_path / "new").read_text().startswith("enroll,test,score\n")


def test_what_cannot_be_written(tmp_path):
    lines = "enroll,test,score,label\na b,c,1,1\na b,d,2,0\n"
    joined = trials.read(save(tmp_path / "scores", lines))
    path = tmp_path / "new"
    with pytest.raises(ValueError, match=r"kaldi-scores cannot hold 1 id with.*'a b'"):
        trials.write_scores(path, joined, format="kaldi-scores")
    with pytest.raises(ValueError, match="one entry per sample: 2, not 3"):
        trials.write_scores(path, joined, [1, 2, 3])
    with pytest.raises(fp.ArgumentError, match=r"^format must be one of .*, not 'nope'"):
        trials.write_scores(path, joined, format="nope")
    with pytest.raises(ValueError, match="folder that exists"):
        trials.write_scores(tmp_path / "no" / "new", joined)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scores"]
    trials.write_scores(path, joined)
    assert trials.read(path).enroll.tolist() == ["a b", "a b"]


# Matrices


@pytest.mark.parametrize("masks", ["", "-transposed", "-old-masks"])
@pytest.mark.parametrize("kind", ["bosaris", "sidekit"])
def test_matrices_are_joined_and_written(tmp_path, kind, masks):
    key, scores = CORPUS / f"{kind}{masks}.key", CORPUS / f"{kind}-transposed.scores"
    joined = trials.read(key, scores)
    assert joined.score.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert ("transposed: columns are models" in joined.notes[0]) == (masks == "-transposed")
    trials.write_scores(tmp_path / "new", joined)
    assert trials.read(key, tmp_path / "new").score.tolist() == joined.score.tolist()


def test_square_matrices_need_transpose(tmp_path):
    key = CORPUS / "malformed-square-matrix.key"
    for turn, enroll, test in (("no-transpose", "aab", "xyy"), ("transpose", "abb", "xxy")):
        reading = trials.read_key(key, format=turn)
        assert "".join(reading.enroll.strings()) == enroll
        assert "".join(reading.test.strings()) == test
    scores, text_key = tmp_path / "scores", save(tmp_path / "text", "a x 1\na y 0\nb y 1\n")
    with h5py.File(scores, "w") as file:
        file["ID/row_ids"], file["ID/column_ids"] = [b"a", b"b"], [b"x", b"y"]
        file["scores"], file["score_mask"] = [[1, 2], [0, 3]], np.array([[1, 1], [0, 1]], np.uint8)
    options = {"key_format": "no-transpose", "format": "no-transpose"}
    assert trials.read(key, scores, **options).score.tolist() == [1.0, 2.0, 3.0]
    joined = trials.read(text_key, scores, format="no-transpose")
    trials.write_scores(tmp_path / "new", joined, format="sidekit")  # says what its rows are
    assert trials.read_scores(tmp_path / "new").score.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(fp.ArgumentError, match=r"^key_format transposes HDF5 files"):
        trials.read(text_key, scores, **options)


def test_invalid_hdf5(tmp_path):
    path = CORPUS / "bosaris.key"
    (tmp_path / "cut").write_bytes(path.read_bytes()[:900])
    for call, message in (
        (lambda: trials.read_key(path, format="sidekit"), "not those of sidekit"),
        (lambda: trials.read_key(path, format="transpose"), "where rows are models"),
        (lambda: trials.read_key(path, format="enroll=x"), "^format names columns, and"),
        (lambda: trials.read_key(path, format="csv"), "bosaris or sidekit or dca-plda, not csv"),
        (lambda: trials.read(path), "give the key too"),
        (lambda: trials.read_key(tmp_path / "cut"), "whole HDF5 file"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    of_two = CORPUS / "malformed-bosaris-and-sidekit.key"
    assert trials.read_key(of_two, format="sidekit").y_true.tolist() == [1, 0, 0, 1]
    spoofed = trials.read_key(CORPUS / "bosaris-spoofed.key")
    assert spoofed.notes.endswith("-2 are spoofed: non-targets, distinguished by kind")


def test_nan_in_matrices(tmp_path):
    joined = trials.read(CORPUS / "bosaris.key", CORPUS / "bosaris-transposed.scores")
    joined.score[1] = np.nan
    trials.write_scores(tmp_path / "scores", joined)
    with pytest.raises(ValueError, match=r"1 nan score \('ann z' at \S+: row 0, column 2\)"):
        trials.read(CORPUS / "bosaris.key", tmp_path / "scores")


def test_full_matrices_have_scores_of_other_pairs():
    """DCA-PLDA saves them without a mask."""
    key, masked = CORPUS / "dca-plda-mask.key", CORPUS / "dca-plda-masked.scores"
    joined = trials.read(key, CORPUS / "dca-plda-full.scores")
    assert joined.notes[-1].startswith("left out: 2 scores of no trial in the key ('ann z'")
    assert joined.score.tolist() == [0.0, 1.0, 3.0, 4.0]
    assert trials.read(masked, masked).score.tolist() == joined.score.tolist()


def test_lists_of_countermeasures(tmp_path):
    lines = ["s1 E_1 - A07 spoof", "s1 E_2 - - bonafide", "s2 E_3 aaa A08 spoof"]
    path = tmp_path / "cm.txt"
    for n_first in range(3):  # whatever comes first
        path.write_text("\n".join([*lines[n_first:], *lines[:n_first], ""]))
        key = trials.read_key(path)
        assert (key.format, key.vocabulary, [*key.columns]) == (
            "asvspoof", "bonafide/spoof", ["environment", "attack"],
        )  # fmt: skip
        ids = zip(key.enroll.strings(), key.test.strings(), key.y_true.tolist(), strict=True)
        assert {*ids} == {("s1", "E_1", 0), ("s1", "E_2", 1), ("s2", "E_3", 0)}
        assert key.columns["attack"].strings().tolist()[-n_first] == "A07"
    scores = tmp_path / "scores.txt"
    scores.write_text("s1 E_1 -1\ns2 E_3 -2\ns1 E_2 3\n")
    joined = trials.read(path, scores)
    assert joined.is_spoof is None
    assert joined.score[joined.y_true == 1].tolist() == [3.0]
    path.write_text("\n".join([*lines, "s2 E_4 - - target", ""]))
    with pytest.raises(ValueError, match=r"cm.txt:4: labels must be of one kind, but 'target' fol"):
        trials.read_key(path)


@pytest.mark.parametrize(
    ("line", "separator", "condition"),
    [("LA_1 E_{} alaw ita_tx {} notrim eval", " ", "codec"),
     ("E_1 E_{} F C01 2 7 AC1 {} -", "\t", "gender")],
)  # fmt: skip
def test_later_lists_of_countermeasures(tmp_path, line, separator, condition):
    kinds = ["A07 spoof", "bonafide bonafide", "- bonafide"]
    lines = [line.format(k, kind).replace(" ", separator) for k, kind in enumerate(kinds)]
    key = trials.read_key(save(tmp_path / "cm", "\n".join(lines)))
    assert (key.format, key.y_true.tolist()) == ("asvspoof", [0, 1, 1])
    assert key.test.strings().tolist() == ["E_0", "E_1", "E_2"]
    assert key.columns["attack"][0] == "A07"
    assert condition in key.columns


def test_scores_with_one_id_may_be_in_the_order_of_the_key(tmp_path):
    key = save(tmp_path / "key", "bob a.wav - A07 spoof\nann b.wav - - bonafide\n")
    with pytest.raises(ValueError, match=r"both ids, enroll and test; .* in-order in format="):
        trials.read(key, save(tmp_path / "scores", "a.wav 0.5\nb.wav 1.5\n"))


OWN = "target=Mated,nontarget=other"


@pytest.mark.parametrize("layout", ["etl", "let", "etls", "sl"])
@pytest.mark.parametrize("separator", [" ", ","])
def test_own_words_for_labels(tmp_path, layout, separator):
    path = save(tmp_path / "list", text(layout, ("mated", "Other"), separator))
    known = r"labels are known as target/nontarget.*format=\.\.\. names other words"
    with pytest.raises(ValueError, match=known):
        trials.read_key(path) if "s" not in layout else trials.read(path)
    if "s" in layout:
        assert trials.read(path, format=OWN).y_true.tolist() == Y
        swapped = "target=other,nontarget=mated"
        trials_of_others = trials.read(path, format=swapped)
        assert trials_of_others.y_true.tolist() == [1 - y for y in Y]
        written = tmp_path / "written"
        trials.write_scores(written, trials_of_others, trials_of_others.score)
        assert trials.read(written, format=swapped).y_true.tolist() == [1 - y for y in Y]
        return
    key = trials.read_key(path, format=OWN)
    assert (key.y_true.tolist(), key.vocabulary) == (Y, "Mated/other")
    scores = save(tmp_path / "scores", SCORE_LINES)
    done = trials.join(path, scores, tmp_path / "o.parquet", key_format=OWN)
    assert (done.n_trials, done.n_targets) == (len(Y), sum(Y))


@pytest.mark.parametrize("columns", ["csv", "parquet"])
def test_own_words_for_labels_of_named_columns(tmp_path, columns):
    frame = pl.DataFrame({"enroll": ENROLL, "test": TEST, "label": [2 - y for y in Y]})
    path = tmp_path / f"key.{columns}"
    frame.write_csv(path) if columns == "csv" else frame.write_parquet(path)
    with pytest.raises(ValueError, match="a label must be one of"):
        trials.read_key(path)
    key = trials.read_key(path, format="target=1,nontarget=2")
    assert key.y_true.tolist() == Y
    with pytest.raises(fp.ArgumentError, match=r"a label must be one of 1/3, not '2'") as caught:
        trials.read_key(path, format="target=1,nontarget=3")
    assert caught.value.pass_ == {"format": "target=WORD,nontarget=WORD"}


@pytest.mark.parametrize("n_bytes", [8, 1000])
def test_no_other_words_stand_in_for_own_words(tmp_path, monkeypatch, n_bytes):
    """A usual vocabulary that fits would reverse the classes that the caller declared."""
    monkeypatch.setattr(table_text, "PIECE_BYTES", n_bytes)
    path = save(tmp_path / "key", "a b impostor\na c impostor\na d genuine\n")
    with pytest.raises(ValueError, match=r"key:3: a label must be one of impostor/genuin, not 'g"):
        trials.read_key(path, format="target=impostor,nontarget=genuin")
    words = "target=impostor,nontarget=genuine"
    assert trials.read_key(path, format=words).y_true.tolist() == [1, 1, 0]
    scores = save(tmp_path / "scores", "a b 1 same\na c 1 same\na d 0 different\n")
    assert trials.read(path, scores, key_format=words).y_true.tolist() == [1, 1, 0]
    save(scores, "a b 1 impostor\na c 1 impostor\na d 0 imposter\n")
    with pytest.raises(ValueError, match="scores:3: a label must be one of impostor/genuine, not"):
        trials.read(path, scores, key_format=words, format=words)


@pytest.mark.parametrize(
    "words",
    ["target=a", "target=a,nontarget=A", "target=a/b,nontarget=c", "target=,nontarget=b"],
)
def test_own_words_that_are_refused(tmp_path, words):
    with pytest.raises(fp.ArgumentError, match="format must give a word for each class"):
        trials.read_key(save(tmp_path / "key", KEY), format=words)


def test_own_words_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "key", text("etl", ("mated", "other")))
    save(tmp_path / "scores", SCORE_LINES)
    save(tmp_path / "both", text("etsl", ("mated", "other")))
    words = "target=mated,nontarget=other"
    run = ["--scores-are", "raw", "--metrics", "AUC", "--json", "o.json"]
    succeed("evaluate", "--key", "key", "--key-format", words, "--scores", "scores", *run)
    expected = strict_json("o.json")["rows"][0]["value"]
    shown = succeed("evaluate", "--scores", "both", "--format", f"wespeaker,{words}", *run)
    assert "column 4: label (mated/other)" in shown
    assert strict_json("o.json")["rows"][0]["value"] == expected
    succeed("join", "--key", "key", "--key-format", words, "--scores", "scores",
            "--output", "o.parquet")  # fmt: skip
    refused = fastpsr("evaluate", "--key", "key", "--key-format", "target=a", "--scores", "scores")
    assert "--key-format must give a word for each class, target=WORD,nontarget=WORD" in refused.err
    refused = fastpsr("evaluate", "--key", "key", "--scores", "scores",
                      "--key-format", "target=other,nontarget=mate")  # fmt: skip
    assert refused.err.endswith("pass --key-format target=WORD,nontarget=WORD\n")
