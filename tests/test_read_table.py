"""Tables in files, compared with the arrays that they were made of."""

from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import fastpsr, strict_json, succeed, write

RNG = np.random.default_rng(3)
N = 400
Y = (np.arange(N) % 3 == 0).astype(np.uint8)
LLR = RNG.normal(size=N) + 2.0 * Y
W = RNG.uniform(0.5, 2.0, N)
ROWS = RNG.dirichlet(np.ones(3), N)
ENDINGS = ["npz", "csv", "parquet", "pq"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(ending, **columns):
    """Write a table, and return its path."""
    if ending == "pq":
        write("s.parquet", **columns)
        return Path("s.parquet").rename("s.pq")
    write(f"s.{ending}", **columns)
    return Path(f"s.{ending}")


def written_values(path):
    return {row["metric"]: row["value"] for row in strict_json(path)["rows"]}


def assert_same(data, other):
    assert type(data) is fp.Predictions
    assert (data.kind, data.n_classes) == (other.kind, other.n_classes)
    assert data.scores.tobytes() == other.scores.tobytes()
    assert data.y_true.tolist() == other.y_true.tolist()
    assert data.weights.tolist() == other.weights.tolist()
    if data.kind != "raw scores":
        assert data.posteriors.tobytes() == other.posteriors.tobytes()


@pytest.mark.parametrize("ending", ENDINGS)
def test_usual_names_and_default_kind(ending):
    q = 1.0 / (1.0 + np.exp(-LLR))
    path = written(ending, label=Y, weight=W, q=q)
    assert_same(fp.read_table(path), fp.Predictions.from_posteriors(Y, q, sample_weight=W))
    assert_same(fp.read_table(str(path)), fp.read_table(path))


@pytest.mark.parametrize(
    ("ending", "kind"),
    [("npz", "logits"), ("csv", "likelihoods"), ("parquet", "llrs"), ("csv", "log10 llrs"),
     ("pq", "raw scores"), ("npz", "log10 llrs")],
)  # fmt: skip
def test_named_columns_of_every_kind(ending, kind):
    priors = None if kind == "raw scores" else [0.9, 0.1]
    path = written(ending, y_true=1 - Y, mine=Y, s=LLR, w=W, other=W)
    data = fp.read_table(path, labels="mine", columns="s", weights="w", kind=kind, priors=priors)
    assert_same(data, fp.Predictions.of(kind, Y, LLR, sample_weight=W, priors=priors))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_column_for_each_class(ending):
    y = np.arange(N) % 3
    if ending == "npz":
        path = written(ending, label=y, logs=np.log(ROWS))
        expected = fp.Predictions.from_log_posteriors(y, np.log(ROWS))
        assert_same(fp.read_table(path, kind="log-posteriors"), expected)
        return
    path = written(ending, label=y, a=ROWS[:, 0], b=ROWS[:, 1], c=ROWS[:, 2])
    expected = fp.Predictions.from_posteriors(y, ROWS)
    assert_same(fp.read_table(path), expected)
    reversed_columns = fp.read_table(path, columns=["c", "b", "a"])
    assert reversed_columns.posteriors.tolist() == expected.posteriors[:, ::-1].tolist()


def test_arrays_in_files_of_their_own():
    for name, values in {"s": LLR, "y": Y, "w": W}.items():
        np.save(f"{name}.npy", values)
    data = fp.read_table("s.npy", labels="y.npy", weights="w.npy", kind="llrs")
    assert_same(data, fp.Predictions.from_llrs(Y, LLR, sample_weight=W))
    Path("folder").mkdir()
    Path("s.npy").rename("folder/y.npy")  # of the same name as that of the labels
    data = fp.read_table("folder/y.npy", labels="y.npy", kind="llrs")
    assert_same(data, fp.Predictions.from_llrs(Y, LLR))


def test_columns_of_trials_are_no_scores():
    ids = [f"s{k}" for k in range(N)]
    columns = {"enroll": ids, "test": ids, "enroll_speaker": ids, "test_speaker": ids}
    frame = polars.DataFrame({"target": Y, "s": LLR, **columns})
    frame.write_csv("s.csv")
    assert_same(fp.read_table("s.csv", kind="llrs"), fp.Predictions.from_llrs(Y, LLR))
    frame.with_columns(other=W, llr=LLR).write_parquet("s.parquet")
    for kind in ("llrs", "raw scores"):
        assert_same(fp.read_table("s.parquet", kind=kind), fp.Predictions.of(kind, Y, LLR))


@pytest.mark.parametrize(
    ("how", "kind"),
    [("folder", "llrs"), ("pattern", "logits"), ("large", "raw scores"), ("asked", "likelihoods"),
     ("folder", "log10 llrs"), ("large", "logits")],
)  # fmt: skip
def test_parts(how, kind, monkeypatch):
    Path("t").mkdir()
    n_files = 1 if how in ("large", "asked") else 3
    for k, rows in enumerate(np.array_split(np.arange(N), n_files)):
        write(f"t/{k}.parquet", target=Y[rows], s=LLR[rows], weight=W[rows])
    if how == "large":
        monkeypatch.setenv("FASTPSR_MEMORY", "10KB")
    path = {"folder": "t", "pattern": "t/*.parquet"}.get(how, "t/0.parquet")
    priors = None if kind == "raw scores" else [0.99, 0.01]
    options = {"kind": kind, "priors": priors, "in_parts": True if how == "asked" else None}
    data = fp.read_table(path, columns="s", **options)
    assert isinstance(data, fp.PartitionedPredictions)
    whole = fp.Predictions.of(kind, Y, LLR, sample_weight=W, priors=priors)
    assert_same(data.compute(), whole)
    metric = fp.EER() if kind == "raw scores" else fp.CrossEntropy()
    assert metric(data) == pytest.approx(metric(whole), rel=1e-12)
    if n_files == 1:
        assert_same(fp.read_table(path, columns="s", **options | {"in_parts": False}), whole)


@pytest.mark.parametrize("ending", ENDINGS)
def test_other_columns_have_names_in_memory_as_in_parts(ending):
    sites = np.array([f"0{k % 5}" for k in range(N)])
    path = written(ending, label=Y, s=LLR, other=W, site=sites)
    data = fp.read_table(path, columns={"s": "s", "w": "other"}, kind="llrs")["s"]
    assert [*data.columns] == ["site"]
    assert data[::2].columns["site"].tolist() == sites[::2].tolist()
    groups = fp.evaluate(data, [fp.EER()], by="site")
    if ending in ("pq", "parquet"):
        parts = fp.read_table(path, columns="s", kind="llrs", in_parts=True)
        in_parts = fp.evaluate(parts, [fp.EER()], by="site")
        assert [row.value for row in in_parts.rows] == [row.value for row in groups.rows]
    with pytest.raises(fp.ArgumentError, match=r"'nope'; there are: site$"):
        fp.evaluate(data, [fp.EER()], by="nope")


def write_counts():
    """Write counts of classes in words to every kind of file; return labels and counts."""
    labels, counts = np.array(["no", "yes", "maybe"])[np.arange(N) % 3], 7.0 * ROWS
    columns = {f"q{k}": counts[:, k] for k in range(3)}
    write("s.npz", label=labels, q=counts)
    Path("parts").mkdir()
    for path, rows in {
        "s.csv": slice(None),
        "s.parquet": slice(None),
        "parts/a.parquet": slice(150),
        "parts/b.parquet": slice(150, None),
    }.items():
        write(path, label=labels[rows], **{name: values[rows] for name, values in columns.items()})
    return labels, counts


def test_labels_in_words_and_posteriors_that_are_normalized():
    labels, counts = write_counts()
    options = {"classes": ["no", "yes", "maybe"], "normalize": True}
    floored = fp.Predictions.from_posteriors(labels, counts, floor=1e-3, **options)
    for path in ("s.npz", "s.csv", "s.parquet"):
        assert_same(fp.read_table(path, floor=1e-3, **options), floored)
    in_parts = fp.read_table("parts", floor=1e-3, **options)
    assert in_parts.n_parts > 0
    for metric in (fp.CrossEntropy(), fp.BrierScore()):
        assert metric(in_parts) == pytest.approx(metric(floored), rel=1e-12)
    expected = fp.CrossEntropy()(fp.Predictions.from_posteriors(labels, counts, **options))
    for path in ("s.npz", "s.csv", "s.parquet", "parts"):
        words = ["--classes", "no,yes,maybe", "--allow", "unnormalized", "--metrics", "NCE"]
        succeed("evaluate", path, *words, "--json", "t.json")
        assert written_values("t.json")["NCE"] == pytest.approx(expected)
    with pytest.raises(fp.ArgumentError, match="labels in words need classes="):
        fp.read_table("s.csv", normalize=True)
    message = fastpsr("evaluate", "s.csv", "--allow", "unnormalized").err
    assert "labels in words need --classes" in message
    with pytest.raises(fp.ArgumentError) as caught:
        fp.read_table("parts", kind="llrs", columns="q0", classes=["no", "yes"], normalize=True)
    assert caught.value.argument == "normalize"


@pytest.mark.parametrize("labels", [(".5", "1.5"), ("False", "True"), ("1", "2")])
def test_classes_in_words_of_labels_that_are_numbers(labels):
    Path("t.csv").write_text(f"label, q\n{labels[0]}, 0.1\n{labels[1]}, 0.2\n")
    assert fp.read_table("t.csv", columns="q", classes=labels).labels.tolist() == [0, 1]


# Errors: argument, row, and what the message names

CSV = b"label,a,b\n0,0.25,0.75\n1,0.5,0.5\n"
INVALID = {
    "ending": ("s.txt", CSV, {}, "path", None, ".npz, .npy, .csv, .tsv or .parquet"),
    "text": ("s.npz", CSV, {}, "path", None, ".npz"),
    "cut": ("s.npy", b"\x93NUMPY", {"labels": "s.npy"}, "path", None, ".npy"),
    "Parquet": ("s.parquet", CSV, {}, "path", None, "Parquet"),
    "empty": ("s.csv", b"", {}, "path", None, "empty"),
    "no rows": ("s.csv", b"label,a\n", {}, "path", None, "no rows"),
    "no header": ("s.csv", b"0,0.25\n1,0.5\n", {}, "path", None, "header"),
    "no labels": ("s.csv", b"y,a\n0,1\n", {"columns": "a"}, "labels", None, "labels=..."),
    "labels": ("s.csv", CSV, {"labels": "y"}, "labels", None, "label, a, b"),
    "no scores": ("s.csv", b"label\n0\n", {}, "columns", None, "a column of scores"),
    "text column": ("s.csv", b"id,label,q\nx1,0,0.5\n", {}, "columns", 0, "'x1' in row 0 (line 2)"),
    "too large": ("s.csv", b"label,q\n0,1e400\n", {}, "path", 0, "q[0] is 1e400"),
    "kind": ("s.csv", CSV, {"kind": "llr"}, "kind", None, "'posteriors'"),
    "one column": ("s.csv", CSV, {"kind": "llrs"}, "columns", None, "2 (a, b)"),
    "values": ("s.csv", b"label,a\n0,0.5\n1,7\n", {}, "scores", 1, "a[1] is 7.0 (line 3)"),
    "a value of two": ("s.csv", b"label,a,b\n0,0.5,0.5\n1,0.5,7\n", {}, "scores", 1, "b[1] is 7"),
    "priors": ("s.csv", CSV, {"priors": [0.5, 0.4]}, "priors", None, "s.csv"),
    "no columns": ("s.csv", CSV, {"columns": []}, "columns", None, "[]"),
    "a number": ("s.csv", CSV, {"columns": {"a": [3]}}, "columns", None, "[3]"),
    "separator": ("s.csv", CSV, {"sep": "|"}, "sep", None, "';'"),
    "separator of arrays": ("s.npz", CSV, {"sep": ","}, "sep", None, "for text"),
    "in parts": ("s.csv", CSV, {"in_parts": True}, "in_parts", None, "Parquet"),
}
INVALID_CSV = {
    "equal names": (b"label,q,q\n0,0.1,0.9\n1,0.9,0.1\n", "path", None, "'q': rename them"),
    "longer row": (b"label,q\n0,0.1\n1,0.2,0.3\n", "path", None, "t.csv:3: there must be 2"),
    "short row": (b"label,q\n0,0.1\n\n1\n1,0.2\n", "path", None, "header, not 1: '1'"),
    "blanks": (b"label q\n0 0.1\n1 0.2\n", "path", None, "line 1 has blanks"),
    "sep=": (b"sep=|\nlabel|q\n0|0.1\n1|0.2\n", "path", None, "line 1 is 'sep=|'"),
    "UTF-16": (b"\xff\xfel\0a\0b\0e\0l\0,\0q", "path", None, "no UTF-16 at byte 14"),
    "two separators": (b"y;q,r\nno;0,1\nyes;0,2\n", "path", None, "(y | q,r): pass sep=..."),
    "two decimal marks": (b"label;q;r\n0;1,234;0.5\n1;2,345;0.2\n", "path", 0, "number is 0.5"),
    "mixed decimal marks": (b"label;q\n0;0,5\n1;0.2\n", "path", 0, "q[0] is 0,5, and another"),
    "long header": (b"label," + b"q" * 70_000 + b"\n0,0.1\n", "path", None, "65,536 bytes or more"),
    "no decimal": (b"label;q\n0;0,1\n1;x\n", "columns", 1, "'x' in row 1 (line 3)"),
    "Latin 1": (b"label,q,n\n0,0.1,a\n1,0.2,\xe9\n", "path", None, "t.csv:3: the text must be"),
    "label in words": (b"label,q\n0,0.1\n1,0.2\nx,0.2\n", "y_true", 2, "'x' (line 4)"),
    "empty score": (b"label,q\n0,0.1\n1,\n", "scores", 1, "(line 3); an empty cell"),
    "labels 1, 2": (b"label,q\n1,0.1\n2,0.2\n", "y_true", 1, "2 (line 3); other labels need class"),
}
INVALID |= {
    name: ("t.csv", content, {}, *expected) for name, (content, *expected) in INVALID_CSV.items()
}


@pytest.mark.parametrize("name", INVALID)
def test_errors_name_argument_row_and_line(name):
    path, content, options, argument, index, phrase = INVALID[name]
    Path(path).write_bytes(content)
    with pytest.raises(fp.ArgumentError) as caught:
        fp.read_table(path, **options)
    assert (caught.value.argument, caught.value.index) == (argument, index)
    assert phrase in str(caught.value)
    assert path in str(caught.value) or name in ("kind", "no columns", "a number", "separator")
    assert "--" not in str(caught.value)  # no options of the commands


def test_errors_of_several_files():
    for path in ("s.npz", "t/*.parquet"):
        with pytest.raises(FileNotFoundError):
            fp.read_table(path)
    Path("t").mkdir()
    with pytest.raises(fp.ArgumentError, match=r"^t: there are no files \*\.parquet or"):
        fp.read_table("t")
    for k in range(2):
        write(f"t/{k}.parquet", target=Y, s=LLR)
    write("u.npz", label=Y, a=LLR, b=LLR)
    np.save("s.npy", LLR)
    for path, options, argument in (
        ("t", {"in_parts": False}, "path"),
        ("u.npz", {}, "columns"),  # which of the arrays
        ("s.npy", {"columns": "s"}, "columns"),
    ):
        with pytest.raises(fp.ArgumentError) as caught:
            fp.read_table(path, **options)
        assert caught.value.argument == argument
    write("t/0.parquet", s=LLR)
    with pytest.raises(fp.ArgumentError, match=r"^t has no labels"):
        fp.read_table("t")


# Rows with nan

WITH_NAN = (
    "label,q,r,w,site\n0,0.25,0.5,1,a\n,0.5,0.5,1,b\n1,nan,0.5,1,c\n1,0.75,,1,d\n0,0.5,1,,e\n"
    "1,1,0,2,f\n"
)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_rows_with_nan_are_dropped_and_counted(ending):
    frame = polars.read_csv(WITH_NAN.encode()).cast({"q": polars.Float64})
    if ending == "npz":
        np.savez("s.npz", **{name: np.array(frame[name].to_list(), float if name != "site" else str)
                             for name in frame.columns})  # fmt: skip
    else:
        frame.write_parquet("s.parquet")
        Path("s.csv").write_text(WITH_NAN)
    options = {"labels": "label", "weights": "w", "nan": "drop"}
    with pytest.raises(fp.ArgumentError, match=r"pass nan='drop'$"):
        fp.read_table(f"s.{ending}", columns="q", labels="label", weights="w")
    with pytest.warns(RuntimeWarning, match=rf"s.{ending}: left out 3 rows with nan"):
        data = fp.read_table(f"s.{ending}", columns="q", **options)
    expected = fp.Predictions.from_posteriors([0, 1, 1], [0.25, 0.75, 1], sample_weight=[1, 1, 2])
    assert_same(data, expected)
    assert data.columns["site"].tolist() == ["a", "d", "f"]
    with pytest.warns(RuntimeWarning, match="left out 4 rows with nan"):
        systems = fp.read_table(f"s.{ending}", columns={"q": "q", "r": "r"}, **options)
    assert [each.posteriors[:, 1].tolist() for each in systems.values()] == [[0.25, 1], [0.5, 0]]
    run = ["evaluate", f"s.{ending}", "--labels", "label", "--columns", "q", "--metrics", "NBS"]
    shown = succeed(*run, "--allow", "nan", "--json", "t.json")
    assert "weights: none; left out: 2 rows with nan; taken as posteriors" in shown
    kept = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.25, 0.75, 0.5, 1])
    assert written_values("t.json") == {"NBS": fp.BrierScore()(kept)}
    assert fastpsr(*run).err.endswith("or remove the row: pass --allow nan\n")


def test_rows_with_nan_of_labels_in_words_and_lines_of_the_others():
    Path("s.csv").write_text("label;q\nno;0,5\n;0,1\nyes;7\n")
    with (
        pytest.warns(RuntimeWarning, match="left out 1 row with nan"),
        pytest.raises(fp.ArgumentError, match=r"is 7\.0 \(line 4\)"),
    ):
        fp.read_table("s.csv", classes=["no", "yes"], nan="drop")
    with pytest.warns(RuntimeWarning, match="left out 1 row with nan"):
        data = fp.read_table("s.csv", classes=["no", "yes"], nan="drop", kind="logits")
    assert data.y_true.tolist() == [0, 1]


def test_nan_that_cannot_be_dropped():
    write("t.parquet", target=Y, s=LLR)
    for path, options, message in (
        ("t.parquet", {"in_parts": True}, "t.parquet: nan is for tables in memory"),
        ("s.csv", {}, "s.csv must have a row without nan"),
        ("t.parquet", {"nan": "ignore"}, "nan must be one of 'error', 'drop'"),
    ):
        Path("s.csv").write_text("label,q\n,1\n0,\n")
        with pytest.raises(fp.ArgumentError, match=message):
            fp.read_table(path, **{"nan": "drop"} | options)


# On the command line


def groups_of(path, by):
    """The groups of a table, in their order."""
    succeed("evaluate", path, "--columns", "q", "--by", by, "--metrics", "NBS", "--json", "t.json")
    names = [group["group"] for group in strict_json("t.json")["groups"]]
    return [name.partition("=")[2] for name in names if name is not None]


AS_WRITTEN = {
    "decimals": ["1.1", "1.10", "1.2"],
    "leading zeros": ["007", "07", "7"],
    "booleans": ["True", "true", "1"],
    "signs": ["+5", "5", "5.0"],
    "exponents": ["1e2", "100", "100.0"],
    "beyond int64": [str(2**63), str(2**63 + 1), "5"],
}


@pytest.mark.parametrize("words", AS_WRITTEN.values(), ids=AS_WRITTEN)
def test_conditions_of_csv_tables_are_as_written(words):
    rows = [f"{i % 2},0.{i % 7 + 1},{words[i // 2 % 3]}" for i in range(24)]
    Path("t.csv").write_text("\n".join(["label,q,word", *rows, ""]))
    assert {*groups_of("t.csv", "word")} == {*words}


def test_plain_integers_are_ordered_as_numbers():
    rows = [f"{i % 2},0.{i % 7 + 1},{[3, -4, 20][i // 2 % 3]}" for i in range(24)]
    Path("t.csv").write_text("\n".join(["label,q,id", *rows, ""]))
    assert groups_of("t.csv", "id") == ["-4", "3", "20"]


def test_ids_of_128_bits():
    """Polars reads integers beyond int64 as these, and NumPy has no such type."""
    ids = polars.Series("id", [2**70 + 1, 2**70, 2**70, 2**70 + 1], polars.Int128)
    polars.DataFrame({"label": Y[:4], "q": ROWS[:4, 0], "id": ids}).write_parquet("t.parquet")
    assert {*groups_of("t.parquet", "id")} == {str(value) for value in ids}
    data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.8, 0.3, 0.6])
    assert len(fp.evaluate(data, [fp.BrierScore()], by={"id": ids}).groups) == 3
    with pytest.raises(fp.ArgumentError):
        fp.AUC()([0, 1, 0, 1], ids)
    assert fp.AUC()([0, 1, 0, 1], polars.Series([1, 0, 0, 1], dtype=polars.Int128)) == 0.5


def test_integers_that_would_be_rounded_are_refused():
    scores = [2**53 + 2, 2**53 + 1]
    arrays = [np.array(scores, dtype) for dtype in (np.int64, np.uint64, object)]
    for values in (scores, [0.5, scores[1]], *arrays):
        with pytest.raises(fp.ArgumentError) as caught:
            fp.AUC()([0, 1], values)
        assert caught.value.index == 1
    assert fp.AUC()([0, 1], np.unique(scores, return_inverse=True)[1]) == 0.0
    assert fp.AUC()([0, 1], [2**60, 2**61]) == 1.0
    for ending in ("npz", "csv", "parquet"):
        path = written(ending, label=np.array([0, 1]), score=np.array(scores))
        with pytest.raises(fp.ArgumentError):
            fp.read_table(path, kind="raw scores")


def test_names_of_columns_may_hold_colons():
    rows = [f"{k % 2},0.{k % 7 + 1},{'xy'[k % 2]},{k}" for k in range(24)]
    Path("t.csv").write_text("\n".join(["label,q,a:b,n:m", *rows, ""]))
    assert {*groups_of("t.csv", "a:b")} == {"x", "y"}
    assert len({*groups_of("t.csv", "n:m:2")}) == 2
    run = ["evaluate", "t.csv", "--columns", "q", "--by", "n:m:0"]
    assert "--by n:m must be an integer of at least 2, not 0" in fastpsr(*run).err


def test_lists_and_decimals_in_parquet_are_scores(tmp_path):
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    table = polars.DataFrame({"y_true": np.arange(20) % 3, "q": rows.tolist()})
    table.write_parquet(tmp_path / "t.parquet")
    data = fp.read_table(tmp_path / "t.parquet", columns="q", kind="posteriors")
    assert np.array_equal(data.posteriors, rows)
    decimals = table.select("y_true", s=polars.col("y_true").cast(polars.Decimal(9, 2)) / 2)
    decimals.with_columns(y_true=polars.col("y_true") > 0).write_parquet(tmp_path / "d.parquet")
    scores = fp.read_table(tmp_path / "d.parquet", columns="s", kind="raw scores").scores
    assert np.array_equal(scores, table["y_true"] / 2)
    for wrong in ([[0.5, 0.5]] * 19 + [[1.0]], [[0.5, 0.5]] * 19 + [None]):
        table.with_columns(q=polars.Series(wrong)).write_parquet(tmp_path / "w.parquet")
        with pytest.raises(fp.ArgumentError, match=r"2 numbers in every row, not [01]"):
            fp.read_table(tmp_path / "w.parquet", columns="q", kind="posteriors")
