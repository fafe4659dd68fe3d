"""Several systems in columns of one table: they have the values that each column has alone."""

import re
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.plans.watching import watched
from fastpsr.tables import opening
from tests.commands import check_refusal, fastpsr, strict_json, succeed, write

# small tables: intervals say that few clusters hold the values, or are none
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*degrees of freedom:RuntimeWarning", "ignore:.*has no interval:RuntimeWarning"
)

RNG = np.random.default_rng(5)
N = 300
Y = RNG.permutation(np.arange(N) % 3 > 0).astype(int)
A, B = (RNG.normal(size=N) + scale * (2 * Y - 1) for scale in (1.5, 0.8))
W, ROOM, SNR = RNG.uniform(0.5, 2.0, N), RNG.integers(0, 2, N), RNG.normal(10.0, 5.0, N)
SPEAKER = RNG.integers(0, 40, N)
COLUMNS = {
    "label": Y,
    "col_a": A,
    "col_b": B,
    "weight": W,
    "room": ROOM,
    "snr": SNR,
    "who": SPEAKER,
}
SYSTEMS = {"a": "col_a", "b": "col_b"}
BOTH = ("--score", "a=col_a", "--score", "b=col_b", "--scores-are", "llr")
FEW = ("--resamples", "40", "--interval", "percentile")
HOW = ["npz", "csv", "parquet", "large", "folder"]
RANKS = ("--metrics", "EER,NCE", *FEW)
OPTIONS = {
    "values": ["--dcf", "0.1"],
    "conditions": ["--metrics", "EER,NCE", "--by", "room,snr", "--by", "room", "--bins", "snr=3"],
    "clusters": [*RANKS, "--resample", "who", "--by", "room"],
    "groups": [*RANKS, "--by", "room", "--group-differences", "all"],
}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(how, monkeypatch, **columns):
    """Write a table, which is read part by part if it is large or a folder; return its path."""
    columns = columns or COLUMNS
    if how == "folder":
        Path("t").mkdir()
        for k, rows in enumerate(np.array_split(np.arange(N), 3)):
            of_part = {name: values[rows] for name, values in columns.items()}
            write(f"t/{k}.parquet", **of_part)
        return "t"
    if how == "large":
        monkeypatch.setenv("FASTPSR_MEMORY", "10KB")
    path = f"t.{'parquet' if how == 'large' else how}"
    write(path, **columns)
    return path


def written(*arguments, out="t.json"):
    succeed(*arguments, "--json", out)
    return strict_json(out)


def without_system(rows):
    names = ("system", "system_a", "system_b")
    return [{name: row[name] for name in row if name not in names} for row in rows]


def files_and_options():
    """All pairs; quick is what each kind of file, and a large one with each option, has."""
    for name, options in OPTIONS.items():
        for how in HOW:
            marks = [] if name == "conditions" or how == "large" else pytest.mark.slow
            yield pytest.param(how, options, id=f"{name}-{how}", marks=marks)


@pytest.mark.parametrize(("how", "options"), [*files_and_options()])
def test_values_are_those_of_each_column_alone(how, options, monkeypatch):
    path = table(how, monkeypatch)
    both = written("evaluate", path, *BOTH, *options)
    for name, column in SYSTEMS.items():
        alone = written("evaluate", path, "--columns", column, "--scores-are", "llr", *options)
        for what in ("rows", "groups"):
            own = [each for each in both[what] if each["system"] == name]
            assert without_system(own) == without_system(alone[what])
            assert len(own) * 2 == len(both[what])
        if "differences" in both:
            own = [each for each in both["differences"] if each["system_a"] == name]
            assert without_system(own) == without_system(alone["differences"])
    assert both["intervals"] == alone["intervals"]
    assert both["inputs"] == alone["inputs"]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("how", HOW)
def test_differences_are_those_of_the_library(how, monkeypatch):
    path = table(how, monkeypatch)
    options = ["--by", "room", "--resample", "who", *RANKS]
    found = written("compare", path, *BOTH, *options)["differences"]
    systems = fp.read_table(path, columns=SYSTEMS, kind="llrs")
    in_memory = isinstance(systems["a"], fp.Predictions)
    assert in_memory == (how not in ("large", "folder"))
    expected = fp.evaluate(
        systems, ["EER", "NCE"], by={"room": ROOM} if in_memory else ["room"],
        differences="first", n_resamples=40, method="percentile", seed=0,
        resampling=fp.Clusters(SPEAKER if in_memory else "who"),
    )  # fmt: skip
    assert found == expected.to_dict()["differences"]
    pooled = {each["metric"]: each for each in found if each["group_a"] is None}
    for metric in (fp.EER(), fp.CrossEntropy()):
        drawn = expected.intervals.resampling
        options = {"n_resamples": 40, "method": "percentile", "seed": 0, "resampling": drawn}
        result = fp.compare(metric, systems["a"], systems["b"], **options)
        each = pooled[metric.label]
        assert [each["difference"], each["low"], each["high"]] == [result.value, *result.interval]


def test_differences_are_those_of_two_files(monkeypatch):
    path = table("parquet", monkeypatch)
    one = written("compare", path, *BOTH, *RANKS, "--by", "room", "--all-pairs")
    for name, column in SYSTEMS.items():
        write(
            f"{name}.csv", s=COLUMNS[column], **{k: COLUMNS[k] for k in ("label", "weight", "room")}
        )
    files = ["a=a.csv", "b=b.csv", "--columns", "s", "--scores-are", "llr"]
    two = written("compare", *files, *RANKS, "--by", "room")
    for what in ("rows", "differences", "groups", "intervals"):
        assert one[what] == two[what]


@pytest.mark.parametrize("command", [pytest.param("evaluate", marks=pytest.mark.slow), "compare"])
def test_every_file_has_the_names(command, monkeypatch):
    path = table("parquet", monkeypatch)
    files = ["--json", "t.json", "--csv", "t.csv", "--markdown", "t.md", "--latex", "t.tex",
             "--report", "t.html"]  # fmt: skip
    run = ["--score", "col_a", "--score", "my system=col_b", "--scores-are", "llr"]
    run += ["--metrics", "EER,NCE"]
    names = ["col_a", "my system"]
    out = succeed(command, path, *run, *files, *(FEW if command == "compare" else ()))
    for name, column in zip(names, SYSTEMS.values(), strict=True):
        read = f"{name}: scores: {column}; labels: label; weights: weight; taken as llr"
        assert f"{read}\n" in out
        assert read in Path("t.html").read_text("utf-8")
    assert out.endswith("written: t.json, t.csv, t.md, t.tex, t.html\n")
    assert list(dict.fromkeys(each["system"] for each in strict_json("t.json")["rows"])) == names
    frame = polars.read_csv("t.csv")
    if command == "evaluate":
        assert frame["system"].unique(maintain_order=True).to_list() == names
    else:
        differences = frame.filter(row="difference")
        assert {*differences["system_a"], *differences["system_b"]} == {*names}
    for file in ("t.md", "t.tex"):
        text = Path(file).read_text("utf-8").replace("\\", "")
        assert all(name in text for name in names)
    out = succeed("evaluate", path, "--score", "x=col_a", "--scores-are", "llr", "--json", "t.json")
    assert {each["system"] for each in strict_json("t.json")["rows"]} == {"x"}
    assert re.search(r"(?m)^ +x$", out)


@pytest.mark.parametrize("how", ["parquet", "large"])
def test_kinds_of_each_system(how, monkeypatch):
    path = table(how, monkeypatch)
    kinds = ["--scores-are", "llr", "--scores-are", "raw"]
    found = written("evaluate", path, *BOTH[:4], *kinds)
    assert found["scores_are"] == "llr, raw"
    for name, kind in (("a", "llrs"), ("b", "raw scores")):
        data = fp.read_table(path, columns=SYSTEMS[name], kind=kind)
        expected = {row.metric: row.value for row in fp.evaluate(data).rows}
        own = {row["metric"]: row["value"] for row in found["rows"] if row["system"] == name}
        assert {"EER", "minCllr"} <= own.keys() <= expected.keys()  # those that both have
        assert own == {metric: expected[metric] for metric in own}


@pytest.mark.parametrize("how", ["csv", "parquet", "large"])
def test_a_column_for_each_class(how, monkeypatch):
    y = np.arange(N) % 3
    rows = {name: RNG.dirichlet(np.ones(3), N) for name in "pq"}
    columns = {f"{name}{k}": values[:, k] for name, values in rows.items() for k in range(3)}
    path = table(how, monkeypatch, label=y, **columns)
    scores = ["--score", "p=p0,p1,p2", "--score", "q0,q1,q2"]
    found = written("compare", path, *scores, *FEW, "--metrics", "NCE,NBS,ECEmc")["rows"]
    for system, values in (("p", rows["p"]), ("q0,q1,q2", rows["q"])):
        data = fp.Predictions.from_posteriors(y, values)
        expected = fp.evaluate(data, ["NCE", "NBS", "ECEmc"]).rows
        own = [each for each in found if each["system"] == system]
        assert [each["metric"] for each in own] == [each.metric for each in expected]
        values = [each.value for each in expected]
        assert [each["value"] for each in own] == pytest.approx(values, rel=1e-9)
    error = fastpsr("evaluate", path, *scores, "--score", "two=b")
    assert "no column 'b'" in error.err


def test_classes_must_be_the_same():
    write("t.csv", label=Y, one=A, q0=1.0 - Y / 2, q1=Y / 4, q2=Y / 4)
    for command in ("evaluate", "compare"):
        run = [command, "t.csv", "--score", "x=q0,q1,q2", "--score", "y=one"]
        kinds = ["--scores-are", "posteriors", "--scores-are", "logits"]
        assert fastpsr(*run, *kinds).err == (
            "error: systems must have the same classes, but x has 3, y has 2\n"
        )


# One reading


def test_columns_that_systems_share_are_read_once(monkeypatch):
    loaded = []
    real = opening.OpenTable

    def recording(path, names, load, *more, as_written=None):
        def recorded(read):
            return read and (lambda name: (loaded.append(name), read(name))[1])

        return real(path, names, recorded(load), *more, as_written=recorded(as_written))

    monkeypatch.setattr(opening, "OpenTable", recording)
    for how in ("npz", "csv", "parquet"):
        path = table(how, monkeypatch)
        systems = fp.read_table(path, columns=SYSTEMS, kind="llrs")
        assert sorted(loaded) == ["col_a", "col_b", "label", "weight"]
        assert list(systems) == ["a", "b"]
        loaded.clear()
        succeed("compare", path, *BOTH, "--by", "room,snr", "--bins", "snr=2", "--resample", "who",
                *RANKS)  # fmt: skip
        assert sorted(loaded) == sorted(COLUMNS)
        loaded.clear()


def test_parts_are_read_for_all_systems_together(monkeypatch):
    path = table("folder", monkeypatch)

    def n_reads(columns):
        reads = set()
        with watched(lambda progress: reads.add(progress.read)):
            fp.evaluate(fp.read_table(path, columns=columns, kind="llrs"), ["EER", "NCE", "RCL"])
        return len(reads)

    assert n_reads(SYSTEMS) == n_reads("col_a")


@pytest.mark.parametrize("in_parts", [False, True])
def test_tables_of_several_systems(in_parts):
    write("t.parquet", **COLUMNS)
    found = fp.read_table("t.parquet", columns=SYSTEMS, kind="llrs", in_parts=in_parts)
    for name, column in SYSTEMS.items():
        alone = fp.read_table("t.parquet", columns=[column], kind="llrs", in_parts=in_parts)
        assert type(found[name]) is type(alone)
        both = [each.compute() if in_parts else each for each in (found[name], alone)]
        assert both[0].scores.tolist() == both[1].scores.tolist() == COLUMNS[column].tolist()
        assert both[0].weights.tolist() == both[1].weights.tolist() == W.tolist()
    with pytest.raises(fp.ArgumentError, match="columns must name a system or more"):
        fp.read_table("t.parquet", columns={})


def test_all_columns_count_for_the_memory(monkeypatch):
    """Whether a file is read part by part depends on what is read of it."""
    write("t.parquet", **COLUMNS)
    monkeypatch.setenv("FASTPSR_MEMORY", f"{32 * 3 * N}B")  # label, weight and one score
    assert isinstance(fp.read_table("t.parquet", columns="col_a", kind="llrs"), fp.Predictions)
    for each in fp.read_table("t.parquet", columns=SYSTEMS, kind="llrs").values():
        assert isinstance(each, fp.PartitionedPredictions)


def test_a_file_that_is_read_in_parts_says_how_to_load_it(monkeypatch):
    ids = np.array([f"s{k % 9}" for k in range(N)])
    speakers = {"enroll_speaker": ids, "test_speaker": ids[::-1]}
    write("t.parquet", **COLUMNS, **speakers)
    run = [
        "evaluate",
        "t.parquet",
        "--columns",
        "col_a",
        "--scores-are",
        "llr",
        "--metrics",
        "Cllr",
    ]
    for scheme in ("iid", "who"):
        with_intervals = [*run, "--ci", "0.95", "--resamples", "40", "--seed", "0",
                          "--resample", scheme]  # fmt: skip
        monkeypatch.setenv("FASTPSR_MEMORY", "1KB")
        parts = fastpsr(*with_intervals)
        assert "read in parts" not in fastpsr(*run).err
        (line,) = parts.err.splitlines()
        assert line.startswith(f"t.parquet: {N} rows are read in parts")
        (size,) = re.findall("set FASTPSR_MEMORY=([0-9]+[KM]B)", line)
        monkeypatch.setenv("FASTPSR_MEMORY", size)
        loaded = fastpsr(*with_intervals)
        assert loaded.err == ""
        assert "read in" in parts.out
        assert "read in" not in loaded.out


# Joined files


def joined():
    """Join two systems with a key, and return what the library has of the trials."""
    ids = [f"m{k % 7} t{k}" for k in range(N)]
    pairs = [each.replace(" ", ",") for each in ids]
    lines = [
        f"{i},{'target' if y else 'nontarget'},{'fm'[r]}\n"
        for i, y, r in zip(pairs, Y, ROOM, strict=True)
    ]
    Path("key.csv").write_text("enroll,test,label,gender\n" + "".join(lines), "utf-8")
    for name, scores in (("a", A), ("b", B)):
        text = "".join(f"{i} {x!r}\n" for i, x in zip(ids, scores.tolist(), strict=True))
        Path(f"{name}.txt").write_text(text, "utf-8")
    succeed("join", "--key", "key.csv", "--scores", "a.txt", "b.txt", "--output", "j.parquet")


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("memory", ["10KB", "1GB"])
def test_joined_files(memory, monkeypatch):
    joined()
    monkeypatch.setenv("FASTPSR_MEMORY", memory)
    run = ["j.parquet", "--score", "a", "--score", "b", "--scores-are", "llr", "--by", "gender"]
    found = written("compare", *run, "--metrics", "EER,Cllr", *FEW)
    monkeypatch.setenv("FASTPSR_MEMORY", "1GB")
    key = ["--key", "key.csv", "a=a.txt", "b=b.txt", "--by", "gender", "--resample", "iid"]
    expected = written("compare", *key, "--metrics", "EER,Cllr", *FEW)
    for one, other in zip(found["rows"], expected["rows"], strict=True):
        assert (one["system"], one["group"], one["metric"]) == (
            other["system"], other["group"], other["metric"],
        )  # fmt: skip
        assert one["value"] == pytest.approx(other["value"], rel=1e-12)


def test_an_error_names_the_columns_of_scores_and_the_options(monkeypatch):
    joined()
    asked = "name the columns of scores with --columns or --score; numbers are in a, b\n"
    for memory in ("1GB", "10KB"):
        monkeypatch.setenv("FASTPSR_MEMORY", memory)
        for kind in ("llr", "raw", "posteriors"):
            error = fastpsr("evaluate", "j.parquet", "--scores-are", kind).err
            assert error.startswith("error: j.parquet: scores must be numbers, but column 'enroll'")
            assert error.endswith(asked)
    polars.read_parquet("j.parquet").select("target", "a", "b").write_parquet("bare.parquet")
    assert fastpsr("evaluate", "bare.parquet", "--scores-are", "llr").err == (
        "error: bare.parquet: llr scores must be one column, not 2 (a, b); say which with "
        "--columns or --score\n"
    )
    assert fastpsr("compare", "j.parquet").err == (
        "error: FILE must name two systems or more, not j.parquet alone: give --score for each "
        "system of one table\n"
    )


# Bad input

REFUSED = {
    "unknown": (["--score", "col_a", "--score", "col_c"], ["t.csv has no column 'col_c'", "col_b"]),
    "text": (
        ["--score", "col_a", "--score", "word"],
        ["'word' holds 'yes' in row 0", "with --score; numbers are in col_a, col_b"],
    ),
    "labels": (["--score", "col_a", "--score", "x=label"], ["must not be the labels", "'label'"]),
    "weights": (["--score", "col_a", "--score", "weight"], ["must not be the weights", "--score"]),
    "two columns": (
        ["--score", "col_a,col_b", "--score", "x=col_b"],
        ["llr scores must be one column, not 2 (col_a, col_b); say which with --score"],
    ),
    "nan": (["--score", "col_a", "--score", "gap"], ["gap must not be nan, but gap[3] is nan"]),
    "a name twice": (["--score", "x=col_a", "--score", "x=col_b"], ["name of its own", "x twice"]),
    "a column twice": (["--score", "col_a", "--score", "col_a"], ["not col_a twice"]),
    "no name": (["--score", "=col_a"], ["--score must be COLUMN or NAME=", "'=col_a'"]),
    "no column": (["--score", "X="], ["--score must be COLUMN or NAME=", "'X='"]),
    "half a list": (["--score", "x=col_a,"], ["'x=col_a,'"]),
    "columns": ([*BOTH, "--columns", "col_a"], ["--score and --columns", "one of them"]),
    "another file": ([*BOTH, "u.csv"], ["--score needs one FILE", "t.csv, u.csv"]),
    "kinds": (
        [*BOTH, "--scores-are", "llr", "--scores-are", "raw"], ["each of 2 systems, not 3 times"]
    ),
    "condition": ([*BOTH, "--by", "place"], ["t.csv has no column 'place'"]),
    "key": ([*BOTH, "--key", "t.csv"], ["--score is for a table of scores, not for trials"]),
}  # fmt: skip


def write_wrong(path):
    """Write a table with a column of words and one in which a number is nan."""
    word, gap = np.where(np.arange(N) % 2, "no", "yes"), np.where(np.arange(N) == 3, np.nan, A)
    write(path, **COLUMNS, word=word, gap=gap)


@pytest.mark.parametrize("command", ["evaluate", "compare"])
@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(command, arguments, words):
    write("u.csv", **COLUMNS)
    write_wrong("t.csv")
    kind = [] if "--scores-are" in arguments else ["--scores-are", "llr"]
    check_refusal({}, [command, "t.csv", *arguments, *kind, "--csv", "out.csv"], words)


@pytest.mark.parametrize("name", ["unknown", "text", "labels", "weights", "two columns", "nan"])
def test_what_is_refused_of_parts(name, monkeypatch):
    arguments, words = REFUSED[name]
    words = [each.replace("t.csv", "t.parquet") for each in words]
    if name == "text":
        words[0] = "column 'word' is text"
    write_wrong("t.parquet")
    monkeypatch.setenv("FASTPSR_MEMORY", "10KB")
    run = ["compare", "t.parquet", *arguments, "--scores-are", "llr"]
    if name == "nan":  # found in a read, which a line announces
        outcome = fastpsr(*run)
        assert outcome.code == 2
        assert [word for word in words if word not in outcome.err.splitlines()[-1]] == []
    else:
        check_refusal({}, run, words)


def test_what_each_command_refuses():
    write("t.parquet", **COLUMNS)
    one = ["--score", "col_a"]
    for run, words in (
        (["compare", "t.parquet", *one], "--score must name two systems or more, not col_a alone"),
        (
            ["compare", "x=t.parquet", *BOTH],
            "--score needs one FILE without a name, a table, not x=",
        ),
        (["compare", *BOTH], "--score needs one FILE without a name, a table, not none"),
        (["evaluate", *BOTH], "--score needs one FILE without a name, a table, not none"),
        (["evaluate", "--scores", "t.parquet", *BOTH], "--score is for a table of scores"),
        (["compare", "t.npy", *BOTH], "No such file"),
    ):
        check_refusal({}, run, [words])
    np.save("t.npy", A)
    check_refusal({}, ["evaluate", "t.npy", *BOTH], ["--score names columns, and t.npy has none"])


# A floor


def zeros():
    """Posteriors of which some are 0 for the true class."""
    y = np.arange(N) % 3
    rows = RNG.dirichlet(np.ones(3), N) * 0.5 + 0.5 * np.eye(3)[y]
    rows[::50] = np.eye(3)[(y[::50] + 1) % 3]
    return y, rows


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("how", ["npz", "csv", "parquet", "large"])
@pytest.mark.parametrize("kind", ["posteriors", "log-posteriors"])
def test_a_floor_of_the_posteriors_of_a_table(how, kind, monkeypatch):
    y, rows = zeros()
    with np.errstate(divide="ignore"):
        scores = np.log(rows) if kind == "log-posteriors" else rows
    columns = {"q": scores} if how == "npz" else {f"q{k}": scores[:, k] for k in range(3)}
    path = table(how, monkeypatch, label=y, **columns)
    run = ["evaluate", path, "--scores-are", kind, "--metrics", "NCE,NBS,RCL"]
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(floor=0.01))
    metrics = {"NCE": fp.CrossEntropy(), "NBS": fp.BrierScore(), "RCL": loss}
    expected = fp.evaluate(fp.Predictions.of(kind, y, scores, floor=0.01), metrics)
    found = {row["metric"]: row["value"] for row in written(*run, "--floor", 0.01)["rows"]}
    assert found == pytest.approx({row.metric: row.value for row in expected.rows}, rel=1e-9)
    if how == "npz":  # a calibrator without a floor of its own, too
        loss = fp.CalibrationLoss(fp.rules.Log(), fp.VectorScaling())
        floored = fp.Predictions.of(kind, y, scores, floor=0.01)
        (row, *_) = written(*run[:-1], "RCL", "--floor", 0.01, "--calibrator", "vector")["rows"]
        assert row["value"] == pytest.approx(loss(floored), rel=1e-9)
    out = succeed(*run)
    for metric, state in (("NCE", "infinite"), ("RCL", "undefined")):
        said = f"{state}: 6 samples have posterior 0 for the true class: pass --floor 0.001"
        assert re.search(rf"(?m)^{metric} +\S+ +{said} *$", out)


@pytest.mark.parametrize("how", ["parquet", "large"])
def test_a_floor_of_one_system_alone(how, monkeypatch):
    q = np.where(np.arange(N) == 5, 1.0 - Y, 1.0 / (1.0 + np.exp(-A)))
    path = table(how, monkeypatch, label=Y, q=q, z=B)
    run = ["--score", "q", "--score", "z", "--scores-are", "posteriors", "--scores-are", "llr"]
    found = written("compare", path, *run, *FEW, "--metrics", "NCE,NBS", "--floor", 0.05)["rows"]
    systems = {
        "q": fp.Predictions.from_posteriors(Y, q, floor=0.05), "z": fp.Predictions.from_llrs(Y, B)
    }  # fmt: skip
    expected = fp.evaluate(systems, ["NCE", "NBS"]).rows
    assert [each["value"] for each in found] == pytest.approx(
        [e.value for e in expected], rel=1e-12
    )
    without = written("compare", path, *run, *FEW, "--metrics", "NCE,NBS")
    notes = {(each["system"], each["metric"]): each["note"] for each in without["rows"]}
    assert notes["q", "NCE"] == (
        "infinite: 1 sample has posterior 0 for the true class: pass --floor 0.001"
    )


@pytest.mark.parametrize("kind", ["llr", "logits", "log-likelihoods"])
def test_a_floor_leaves_other_scores_as_they_are(kind):
    scores = np.column_stack([-A, A]) if kind == "log-likelihoods" else A
    write("t.npz", label=Y, s=scores)
    run = ["evaluate", "t.npz", "--scores-are", kind, "--metrics", "NCE,NBS"]
    assert written(*run, "--floor", 0.2)["rows"] == written(*run)["rows"]
    check_refusal(
        {}, [*run[:4], "--calibrator", "vector", "--floor", "0.2"], ["--floor has no effect on"]
    )
    write("u.npz", label=Y, z=np.where(np.arange(N) == 4, np.where(Y, -np.inf, np.inf), A))
    out = succeed("evaluate", "u.npz", "--scores-are", "logits", "--metrics", "NCE")
    assert "infinite: 1 sample has posterior 0 for the true class\n" in out  # no floor would help


def test_systems_of_unlike_kinds_have_metrics_of_their_own():
    joined()
    run = [
        "j.parquet",
        "--score",
        "a",
        "--score",
        "b",
        "--scores-are",
        "llr",
        "--scores-are",
        "raw",
    ]
    rows = written("evaluate", *run)["rows"]
    metrics = {name: [row["metric"] for row in rows if row["system"] == name] for name in "ab"}
    assert "NCE" in metrics["a"]
    assert metrics["b"] == ["EER", "minDCF(0.01)", "minCllr", "AUC"]


def test_an_error_names_the_system_and_the_option():
    joined()
    frame = polars.read_parquet("j.parquet")
    frame = frame.with_columns(number=polars.Series(range(len(frame))) / 7)
    frame.write_parquet("j.parquet")
    run = ["j.parquet", "--score", "a", "--score", "b", "--scores-are", "llr", "--by", "number"]
    assert fastpsr("evaluate", *run).err.startswith("error: a: --by number must have at most 20")
