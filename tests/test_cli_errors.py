"""What the command line refuses: one line that names the culprit, and nothing left behind."""

import os
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import FOLDER, GOOD, Q, Y, check_refusal, fastpsr, npz, packed

RUN = ("evaluate", "s.npz")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def changed(values, place, value):
    values = np.array(values, float)
    values[place] = value
    return values


PARQUET = packed(lambda file: polars.DataFrame({"label": Y, "score": Q}).write_parquet(file))
TABLES = {  # the content of a table, its ending, and words of the message
    "no file": (None, ".csv", ["No such file", "s.csv"]),
    "folder": (FOLDER, ".npy", ["s.npy"]),
    "truncated .npz": (GOOD[:-200], ".npz", ["s.npz", "whole .npz"]),
    "truncated .parquet": (PARQUET[:-50], ".parquet", ["s.parquet", "Parquet"]),
    "objects": (npz(score=np.array([None] * 40)), ".npz", ["s.npz"]),
    "no labels": (packed(np.savez, score=Q), ".npz", ["--labels"]),
    "several arrays": (npz(other=Q), ".npz", ["--columns", "score, other"]),
    "two separators": (b"y;q,r\nno;0,1\nyes;0,2\n", ".csv", ["pass sep=; as its first line"]),
    "label 2": (npz(label=changed(Y, 7, 2)), ".npz", ["label", "[7]", "0 to 1"]),
    "over 1": (npz(score=changed(Q, 7, 1.5)), ".npz", ["score[7] is 1.5", "--scores-are"]),
    "lengths": (npz(label=Y[:9]), ".npz", ["label", "40", "9"]),
    "weight": (npz(weight=changed(Q, 7, -1)), ".npz", ["weight", "[7]", "-1"]),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy leaves a
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # truncated .npz file open
@pytest.mark.parametrize("name", TABLES)
def test_tables(name):
    content, ending, words = TABLES[name]
    files = {} if content is None else {f"s{ending}": content}
    check_refusal(files, ["evaluate", f"s{ending}"], words)


COSTS = {
    "folder": (FOLDER, ".json", ["c.json"]),
    "truncated": (b"[[0, 1], [1", ".json", ["c.json", "JSON"]),
    "object": (b'{"a": 1}', ".json", ["c.json", "matrix"]),
    "ragged": (b"[[0, 1], [1]]", ".json", ["every row must have the same number of costs"]),
    "a cost of several": (b"[[0, [1]], [1, 0]]", ".json", ["c.json", "real numbers"]),
    "nan": (b"0,1\nnan,0\n", ".csv", ["costs[1, 0]", "nan"]),
    "nested deeply": (b"[" * 100_000, ".json", ["c.json"]),
}


@pytest.mark.parametrize("name", COSTS)
def test_costs(name):
    content, ending, words = COSTS[name]
    check_refusal({"s.npz": GOOD, f"c{ending}": content}, [*RUN, "--costs", f"c{ending}"], words)


@pytest.mark.parametrize("name", ["unknown", "text", "labels", "nan"])
@pytest.mark.parametrize("in_parts", [False, True])
def test_columns_of_systems(name, in_parts, monkeypatch):
    column, words = {
        "unknown": ("col_c", "t.parquet has no column 'col_c'"),
        "text": ("word", "column 'word'"),
        "labels": ("x=label", "must not be the labels, column 'label'"),
        "nan": ("gap", "gap must not be nan, but gap[3] is nan"),
    }[name]
    word, gap = np.where(Y, "no", "yes"), np.where(np.arange(40) == 3, np.nan, Q)
    columns = {"label": Y, "q": Q, "word": word, "gap": gap}
    polars.DataFrame(columns).write_parquet("t.parquet")
    if in_parts:
        monkeypatch.setenv("FASTPSR_MEMORY", "1KB")
    run = ["compare", "t.parquet", "--columns", "q", "--columns", column, "--scores-are", "llr"]
    outcome = fastpsr(*run, "--output", "out.csv")
    assert outcome.code == 2
    message = outcome.err.splitlines()[-1]  # others say that the file is read in parts
    assert message.startswith("error: ")
    assert words in message
    assert not Path("out.csv").exists()


def test_saved_calibrators():
    fp.save_calibrator(fp.DirectionPreserving().fit(fp.Predictions.from_posteriors(Y, Q)), "f.json")
    text = Path("f.json").read_bytes()
    files = {
        "s.npz": GOOD, "cut.json": text[:150], "a.json": b'{"a": 1}',
        "foo.json": text.replace(b"DirectionPreserving", b"Foo"),
    }  # fmt: skip
    use = ["--apply", "s.npz", "--output", "o.npz"]
    for path, words in (
        ("s.npz", ["s.npz", "calibrator saved by"]), ("cut.json", ["cut.json", "calibrator saved"]),
        ("a.json", ["a.json", "saved by fastpsr"]), ("foo.json", ["must be one of", "not 'Foo'"]),
        ("f.json", ["posteriors", "likelihoods"]),
    ):  # fmt: skip
        options = ["--scores-are", "llr"] if path == "f.json" else []
        check_refusal(files, ["calibrate", "--load", path, *use, *options], words)
        files = {}


USAGE = {
    "valuate": "No such command 'valuate'",
    "evaluate s.npz --scores-are tea": "--scores-are': 'tea' is ",
    "evaluate s.npz --color red": "--color",
    "evaluate s.npz --format csv --format nist": "--format must be given once, not 2 times",
    "simulate nothing": "nothing",
    "evaluate s.npz --differences first,pairs": "--differences must have one of first and pairs",
    "compare s.npz t.npz --differences unpaired,pooled": "--differences unpaired is between",
    "evaluate --key s --scores s --key-format target=a,nontarget=a": "--key-format must give a",
    "evaluate s.npz --ci bca:normal": "not 'bca:normal'",
    "evaluate --key s.npz --scores s.npz --speakers columns:": "ENROLL,TEST, not 'columns:'",
    "evaluate s.npz --csv t.csv": "--csv is now --output",
    "fuse --scores s.npz --key s.npz --csv t.csv": "--csv is now --table",
    "threshold s.npz --latex t.tex": "No such option: --latex",
    "evaluate s.npz --columns q -- --csv": "not s.npz, --csv",
    "simulate classes o.npz --classes 1": "--classes must be",
    "calibrate --output o": "give a table of scores with labels, or --key and --scores",
    "calibrate s.npz --key key --output o": "--key needs --scores FILE: without it s.npz is a",
    "calibrate s.npz --load m --apply t --output o": "--load leaves nothing to train",
    "calibrate s.npz --save o --folds 3": "--folds is for cross-fitting: --output without --apply",
    "calibrate s.npz --output o.npz --allow extra": "--allow extra is for trials",
    "compare": "FILE must name two systems or more, not none",
    "compare s.npz b": "b must end in .npz, .npy, .csv, .tsv or .parquet to be a table",
    "compare --key key --scores a": "--scores must name two systems or more, not a alone",
    "evaluate --columns x=a": "--columns of several systems need one FILE without a name",
    "evaluate s.npz --output o.txt": "--output must end in .csv, .json, .md, .tex or .html, as o.t",
    "evaluate s.npz --output -": "--json - writes to standard output",
    "evaluate --scores a --columns score=x": "--columns is for a table of scores, not for",
    "evaluate s.npz --dcf .01,.05": "give --dcf once for each operating point",
    "evaluate s.npz --metrics NCE,AUC --dcf 0.1": "--dcf has no effect on NCE, AUC: --metrics "
    "leaves out minDCF(0.1) and actDCF(0.1)",
    "evaluate s.npz --metrics NCE --folds 3": "--folds has no effect on NCE",
    "evaluate s.npz --metrics NCE --calibrator pav": "--calibrator has no effect on NCE",
}


@pytest.mark.parametrize("line", USAGE)
def test_usage(line):
    """Refused before the file is read."""
    check_refusal({"s.npz": b"cannot be read"}, line.split(), [USAGE[line]])


def test_options_of_metrics_that_are_left_out():
    files = dict.fromkeys(["s.npz", "key", "a", "b"], b"cannot be read") | {"c.csv": b"0,1\n1,0\n"}
    for line in (
        "fuse --key key --scores a b --metrics EER --dcf 0.1",
        "evaluate s.npz --scores-are llr --metrics EER --costs c.csv",
        "compare --key key --scores a b --metrics EER --folds 3",
    ):
        *_, option, _ = line.split()
        check_refusal(files, line.split(), [f"{option} has no effect on EER"])


def test_operating_points_of_a_report_need_no_metric():
    Path("s.npz").write_bytes(GOOD)
    line = [*RUN, "--metrics", "NCE", "--dcf", "0.1", "--output", "o.html"]
    assert fastpsr(*line).code == 0


def test_the_environment_is_not_an_error_of_a_file(monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "abc")
    message = "error: FASTPSR_NUM_THREADS must be a positive integer, not 'abc'\n"
    Path("s.npz").write_bytes(GOOD)
    assert fastpsr(*RUN).err == message


def test_a_file_that_may_not_be_read():
    Path("s.npz").write_bytes(GOOD)
    Path("s.npz").chmod(0)
    if os.access("s.npz", os.R_OK):
        pytest.skip("this user reads all files")
    outcome = fastpsr(*RUN)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert "s.npz" in outcome.err


def test_a_folder_that_may_not_be_written_is_refused_before_the_work(monkeypatch):
    Path("s.npz").write_bytes(GOOD)
    Path("folder").mkdir()
    may = os.access  # root may write in folders of any mode
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    outcome = fastpsr(*RUN, "--output", "folder/t.csv")
    assert outcome.out == ""
    assert outcome.err == "error: No permission to write in the folder of: folder/t.csv\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_device_without_space():
    Path("s.npz").write_bytes(GOOD)
    Path("t.csv").symlink_to("/dev/full")
    assert fastpsr(*RUN, "--output", "t.csv").err == "error: No space left on device\n"
