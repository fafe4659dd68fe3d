"""Tables in files, compared with the arrays that they were made of."""

import json
import re
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.cli.options.scores import ScoresAre, kind_of, table_scale
from fastpsr.tables import open_table
from tests.commands import fastpsr, succeed, write

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


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["logits", "likelihoods", "llrs", "log10 llrs", "raw scores"])
def test_named_columns_of_every_kind(ending, kind):
    priors = None if kind == "raw scores" else [0.9, 0.1]
    path = written(ending, y_true=1 - Y, mine=Y, s=LLR, w=W, other=W)
    data = fp.read_table(path, labels="mine", columns="s", weights="w", kind=kind, priors=priors)
    assert_same(data, fp.Predictions.of(kind, Y, LLR, sample_weight=W, priors=priors))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_column_for_each_class(ending):
    columns = {"logs": np.log(ROWS)} if ending == "npz" else {"a": ROWS[:, 0]}
    others = {} if ending == "npz" else {"b": ROWS[:, 1], "c": ROWS[:, 2]}
    path = written(ending, label=np.arange(N) % 3, **columns, **others)
    kind = "log-posteriors" if ending == "npz" else "posteriors"
    made = fp.Predictions.of(kind, np.arange(N) % 3, np.log(ROWS) if ending == "npz" else ROWS)
    assert_same(fp.read_table(path, kind=kind), made)
    if ending != "npz":
        turned = fp.read_table(path, columns=["c", "b", "a"])
        assert turned.posteriors.tolist() == made.posteriors[:, ::-1].tolist()


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


@pytest.mark.parametrize("kind", ["logits", "likelihoods", "llrs", "log10 llrs", "raw scores"])
@pytest.mark.parametrize("how", ["folder", "pattern", "large", "asked"])
def test_parts(kind, how, monkeypatch):
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
    metrics = [fp.EER()] if kind == "raw scores" else [fp.EER(), fp.CrossEntropy(), fp.ActDCF(0.1)]
    for metric in metrics:
        assert metric(data) == pytest.approx(metric(whole), rel=1e-12)
    if n_files == 1:
        assert_same(fp.read_table(path, columns="s", **options | {"in_parts": False}), whole)


def test_labels_in_words_and_posteriors_that_are_normalized():
    words, counts = np.array(["no", "yes", "maybe"]), 7.0 * ROWS
    labels = words[np.arange(N) % 3]
    options = {"classes": words, "normalize": True, "floor": 1e-3}
    expected = fp.Predictions.from_posteriors(labels, counts, **options)
    columns = {f"q{k}": counts[:, k] for k in range(3)}
    write("s.npz", label=labels, q=counts)
    Path("parts").mkdir()
    for ending in ("csv", "parquet"):
        write(f"s.{ending}", label=labels, **columns)
    halves = {"a": slice(150), "b": slice(150, None)}
    for name, rows in halves.items():
        of_part = {column: values[rows] for column, values in columns.items()}
        write(f"parts/{name}.parquet", label=labels[rows], **of_part)
    for ending in ("npz", "csv", "parquet"):
        assert_same(fp.read_table(f"s.{ending}", **options), expected)
    in_parts = fp.read_table("parts", **options)
    assert in_parts.n_parts > 0
    for metric in (fp.CrossEntropy(), fp.BrierScore()):
        assert metric(in_parts) == pytest.approx(metric(expected), rel=1e-12)
    told = ["--classes", "no,yes,maybe", "--normalize", "--metrics", "NCE", "--json", "t.json"]
    unfloored = fp.Predictions.from_posteriors(labels, counts, classes=words, normalize=True)
    for path in ("s.npz", "s.csv", "s.parquet", "parts"):
        succeed("evaluate", path, *told)
        (row,) = json.loads(Path("t.json").read_text())["rows"]
        assert row["value"] == pytest.approx(fp.evaluate(unfloored, ["NCE"]).rows[0].value)
    write("one.csv", label=np.arange(N) % 3 + 1, **columns)  # numbers are no words
    succeed("calibrate", "one.csv", "--classes", "1,2,3", "--normalize", "--output", "o.csv")
    assert polars.read_csv("o.csv")["y_true"].to_list() == (np.arange(N) % 3).tolist()
    with pytest.raises(fp.ArgumentError, match="labels in words need classes="):
        fp.read_table("s.csv", normalize=True)
    for arguments, said in (
        (["--normalize"], "labels in words need --classes"),
        (["--normalize", "--classes", "no,yes"], "--classes must list 3 different labels"),
        (["--normalize", "--classes", "no,yes,never"], "label must be one of classes"),
        (["--scores-are", "logits", "--normalize"], "--normalize is for posteriors"),
    ):
        assert said in fastpsr("evaluate", "s.csv", *arguments).err
    for options in ({"normalize": True}, {"floor": 0.1}):
        with pytest.raises(fp.ArgumentError, match="is for posteriors, not for llrs"):
            fp.read_table("s.csv", kind="llrs", columns="q0", classes=words[:2], **options)
        with pytest.raises(fp.ArgumentError, match="is for posteriors, not for llrs"):
            fp.read_table("parts", kind="llrs", columns="q0", **options)


def test_classes_in_parts():
    y = np.arange(N) % 3
    write("s.parquet", label=y, a=ROWS[:, 0], b=ROWS[:, 1], c=ROWS[:, 2])
    data = fp.read_table("s.parquet", priors=[0.2, 0.3, 0.5], in_parts=True)
    assert_same(data.compute(), fp.Predictions.from_posteriors(y, ROWS, priors=[0.2, 0.3, 0.5]))
    data = fp.read_table("s.parquet", kind="likelihoods", in_parts=True)
    assert_same(data.compute(), fp.Predictions.from_log_likelihoods(y, ROWS))


CSV = b"label,a,b\n0,0.25,0.75\n1,0.5,0.5\n"
WRONG = {
    "ending": ("s.txt", CSV, {}, "path", "s.txt must end in .npz, .npy, .csv or .parquet"),
    "text": ("s.npz", CSV, {}, "path", "s.npz must be a whole .npz file"),
    "cut": ("s.npy", b"\x93NUMPY", {}, "path", "s.npy must be a whole .npy file"),
    "Parquet": ("s.parquet", CSV, {}, "path", "s.parquet must be a whole Parquet file"),
    "empty": ("s.csv", b"", {}, "path", "s.csv must be a whole CSV file: .*empty"),
    "no rows": ("s.csv", b"label,a\n", {}, "path", "s.csv has no rows"),
    "no header": ("s.csv", b"0,0.25\n1,0.5\n", {}, "path", "s.csv: the first line must be"),
    "no labels": ("s.csv", b"y,a\n0,1\n", {"columns": "a"}, "labels",
                  r"s.csv has no labels: say where they are with labels=\.\.\."),
    "labels": ("s.csv", CSV, {"labels": "y"}, "labels", "s.csv has no column 'y'; it has label, a"),
    "weights": ("s.csv", CSV, {"weights": "w"}, "weights", "s.csv has no column 'w'"),
    "columns": ("s.csv", CSV, {"columns": ["a", "c"]}, "columns", "s.csv has no column 'c'"),
    "no scores": ("s.csv", b"label\n0\n", {}, "columns", "s.csv must have a column of scores"),
    "text column": ("s.csv", b"id,label,q\nx1,0,0.5\n", {}, "columns",
                    r"s.csv: scores must be numbers, but column 'id' holds 'x1' in row 0 "
                    r"\(line 2\); name the "
                    r"columns of scores with columns=\.\.\."),
    "too large": ("s.csv", b"label,q\n0,1e400\n", {}, "path", "s.csv: q must be numbers that a"),
    "kind": ("s.csv", CSV, {"kind": "llr"}, "kind", "kind must be one of 'posteriors'"),
    "one column": ("s.csv", CSV, {"kind": "llrs"}, "columns",
                   r"s.csv: llr scores must be one column, not 2 \(a, b\); say which with"),
    "values": ("s.csv", b"label,a\n0,0.5\n1,7\n", {}, "scores",
               r"s.csv: a must lie in 0 to 1, but a\[1\] is 7.0 "
               r"\(line 3\); other kinds of scores need"),
    "a value of two": ("s.csv", b"label,a,b\n0,0.5,0.5\n1,0.5,7\n", {}, "scores",
                       r"s.csv: scores must lie in 0 to 1, but b\[1\] is 7"),
    "label 2": ("s.csv", b"label,a\n0,0.5\n2,0.5\n", {}, "y_true", "s.csv: label must"),
    "priors": ("s.csv", CSV, {"priors": [0.5, 0.4]}, "priors", "s.csv: priors must sum to 1"),
    "no columns": ("s.csv", CSV, {"columns": []}, "columns", r"columns must be names .* not \[\]"),
    "a number": ("s.csv", CSV, {"columns": {"a": [3]}}, "columns", r"columns must be .* not \[3\]"),
    "in parts": ("s.csv", CSV, {"in_parts": True}, "in_parts", "in_parts is for Parquet files"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "content", "options", "argument", "message"), WRONG.values(), ids=WRONG
)
def test_errors_name_the_argument_and_the_file(file, content, options, argument, message):
    Path(file).write_bytes(content)
    with pytest.raises(fp.ArgumentError) as caught:
        fp.read_table(file, **options)
    assert re.match(message, str(caught.value)), caught.value
    assert caught.value.argument == argument
    assert "--" not in str(caught.value)  # no options of the commands


def test_errors_of_several_files():
    with pytest.raises(FileNotFoundError, match=r"s\.npz"):
        fp.read_table("s.npz")
    with pytest.raises(FileNotFoundError, match="pattern"):
        fp.read_table("t/*.parquet")
    Path("t").mkdir()
    with pytest.raises(fp.ArgumentError, match=r"^t: there are no files \*\.parquet in this"):
        fp.read_table("t")
    for k in range(2):
        write(f"t/{k}.parquet", target=Y, s=LLR)
    with pytest.raises(fp.ArgumentError, match=r"^t must be one file, not several or a folder"):
        fp.read_table("t", in_parts=False)
    write("t/0.parquet", s=LLR)
    with pytest.raises(fp.ArgumentError, match=r"^t has no labels"):
        fp.read_table("t")
    write("u.npz", label=Y, a=LLR, b=LLR)
    with pytest.raises(fp.ArgumentError, match=r"^columns must name one of the arrays of u\.npz"):
        fp.read_table("u.npz")
    np.save("s.npy", LLR)
    with pytest.raises(fp.ArgumentError, match=r"^columns names columns, and s\.npy has none"):
        fp.read_table("s.npy", columns="s")


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize(("kind", "priors"), [("raw scores", [0.5, 0.5]), ("llrs", [0.0, 1.0])])
def test_priors_that_a_kind_refuses(kind, priors, in_parts):
    write("s.parquet", label=Y, s=LLR)
    with pytest.raises(fp.ArgumentError, match="priors"):
        fp.read_table("s.parquet", kind=kind, priors=priors, in_parts=in_parts)


def of_json(*command):
    succeed(*command, "--json", "t.json")
    return {row["metric"]: row["value"] for row in json.loads(Path("t.json").read_text())["rows"]}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("scale", [each.value for each in ScoresAre])
def test_commands_read_the_same(ending, scale):
    """For each word for the kind of scores, and each format."""
    kind = kind_of(table_scale(ScoresAre(scale)))
    scores = 1.0 / (1.0 + np.exp(-LLR)) if kind == "posteriors" else LLR
    if kind in ("log-posteriors", "log-likelihoods"):
        scores = np.log(np.column_stack([1.0 - ROWS[:, 0], ROWS[:, 0]]))
    path = written(ending, label=Y, weight=W, s=scores)
    metrics = ["EER", "AUC"] if kind == "raw scores" else ["EER", "NCE"]
    found = of_json("evaluate", path, "--scores-are", scale, "--metrics", ",".join(metrics))
    expected = fp.evaluate(fp.read_table(path, kind=kind), metrics)
    assert found == {row.metric: row.value for row in expected.rows}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("scale", ["llr", "log10-llr", "raw"])
def test_every_command_takes_the_column_of_llrs_of_parquet_files(scale):
    table = written("parquet", label=Y, llr=LLR, duration=W)
    alone = Path("alone.parquet")
    polars.DataFrame({"label": Y, "llr": LLR}).write_parquet(alone)
    kind = ["--scores-are", scale]
    assert of_json("evaluate", table, *kind) == of_json("evaluate", alone, *kind)
    for path in (table, alone):
        succeed("calibrate", path, *kind, "--output", f"{path.stem}.npz")
        succeed("select", path, *kind, "--calibrators", "dp", "--json", f"{path.stem}.json")
    assert Path("s.json").read_text() == Path("alone.json").read_text()
    one, other = (np.load(f"{path.stem}.npz") for path in (table, alone))
    for name in one.files:
        np.testing.assert_array_equal(one[name], other[name])
    succeed("compare", table, alone, *kind, "--resamples", 40, "--json", "t.json")
    differences = json.loads(Path("t.json").read_text())["differences"]
    assert {each["difference"] for each in differences} == {0.0}


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
    table = open_table(Path("t.csv"))
    by = {"by": ["word"]}
    (read,) = table.choose({"": "posteriors"}, {"": "q"}, None, None, ("word",), by).values()
    assert {*read.clusters[0].tolist()} == {*read.others["word"].tolist()} == {*words}


def test_plain_integers_stay_integers():
    Path("t.csv").write_text("label,q,id\n0,0.1,3\n1,0.2,-4\n")
    assert open_table(Path("t.csv")).as_written("id").tolist() == [3, -4]


def test_ids_of_128_bits():
    """Polars reads integers beyond int64 as these, and NumPy has no such type."""
    ids = polars.Series("id", [2**70 + 1, 2**70, 2**70, 2**70 + 1], polars.Int128)
    polars.DataFrame({"label": Y[:4], "q": ROWS[:4, 0], "id": ids}).write_parquet("t.parquet")
    words = open_table(Path("t.parquet")).load("id").tolist()
    assert words == [str(value) for value in ids]
    data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.8, 0.3, 0.6])
    assert len(fp.evaluate(data, [fp.BrierScore()], by={"id": ids}).groups) == 3
    with pytest.raises(fp.ArgumentError):
        fp.AUC()([0, 1, 0, 1], ids)
    assert fp.AUC()([0, 1, 0, 1], polars.Series([1, 0, 0, 1], dtype=polars.Int128)) == 0.5


WRONG_CSV = {
    "equal names": (b"label,q,q\n0,0.1,0.9\n1,0.9,0.1\n", "'q': rename them"),
    "longer row": (b"label,q\n0,0.1\n1,0.2,0.3\n", "line 3 has 3"),
    "comment": (b"label,q\n0,0.1\n# a, b, c\n1,0.2\n", "line 3 has 3"),
    "short row": (b"label,q\n0,0.1\n1\n1,0.2\n", "line 3 has 1"),
    "blank line": (b"label,q\n0,0.1\n1,0.2\n\n", "line 4 is blank"),
    "semicolons": (b"label;q\n0;0.1\n1;0.2\n", "line 1 has ';'"),
    "decimal commas": (b"label;q\n0;0,1\n1;0,2\n", "line 1 has ';'"),
    "tabs": (b"label\tq\n0\t0.1\n1\t0.2\n", "line 1 has '\\t'"),
    "sep=": (b"sep=,\nlabel,q\n0,0.1\n1,0.2\n", "remove this line"),
    "UTF-16": ("label,q\n0,0.1\n1,0.2\n".encode("utf-16"), "UTF-16"),
    "Latin 1": (b"label,q,n\n0,0.1,a\n1,0.2,\xe9\n", "line 3 is not"),
    "stray label": (b"label,q\n0,0.1\n1,0.2\nx,0.2\n", "'x' (line 4)"),
    "empty score": (b"label,q\n0,0.1\n1,\n", "(line 3); an empty cell"),
    "labels -1, 1": (b"label,q\n1,0.1\n-1,0.2\n", "-1 (line 3); other labels need classes"),
    "labels 1, 2": (b"label,q\n1,0.1\n2,0.2\n", "2 (line 3); other labels need classes"),
}


@pytest.mark.parametrize(("content", "phrase"), WRONG_CSV.values(), ids=WRONG_CSV)
def test_messages_about_csv_tables_name_the_line(content, phrase):
    Path("t.csv").write_bytes(content)
    with pytest.raises(fp.ArgumentError) as caught:
        fp.read_table("t.csv")
    assert phrase in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "classes"), [((".5", "1.5"), [".5", "1.5"]), (("False", "True"), ["False", "True"])]
)
def test_classes_in_words_of_labels_that_are_numbers(labels, classes):
    Path("t.csv").write_text(f"label, q\n{labels[0]}, 0.1\n{labels[1]}, 0.2\n")
    assert fp.read_table("t.csv", columns="q", classes=classes).labels.tolist() == [0, 1]


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
