"""`fastpsr evaluate --ci --resamples`: intervals are those of the library on the same arrays."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.evaluation import default_metrics
from fastpsr.evaluation.layout import with_interval
from tests.commands import (
    GOOD,
    INTERRUPTIBLE,
    RUN,
    check_refusal,
    csv_rows,
    data,
    fastpsr,
    npz,
    parameters,
    program,
    strict_json,
    succeed,
    surroundings,
    write,
    write_trials,
)

NUMBERS = ("value", "low", "high", "bias", "n_undefined")
TRIALS = ("evaluate", "--key", "key", "--scores", "a")
SPEAKERS = ("--speaker-columns", "by,of")

# small lists: intervals say that few trials or speakers hold the values, or are none
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*degrees of freedom:RuntimeWarning", "ignore:.*has no interval:RuntimeWarning"
)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def said_of(table, drawn):
    """The line about the intervals of a table, with the name of what is drawn."""
    before, after = table.settings.split(", resampling ")
    return f"{before}, resampling {drawn}, seed{after.split(' seed')[1]}"


def check(rows, table):
    """Whether rows of JSON have the numbers of an evaluation."""
    assert [row["metric"] for row in rows] == [row.metric for row in table.rows]
    for found, expected in zip(rows, table.rows, strict=True):
        for name in NUMBERS:
            value, number = getattr(expected, name), found[name]
            if value is not None and np.isnan(value):
                value = None  # JSON has no nan
            same = number is value or number == pytest.approx(value, rel=1e-9)
            assert same, found["metric"]


# Tables


def table_of(ending, scheme="COLUMN", n=240):
    """Write a table; return the predictions, its options, and both names of what is drawn."""
    y, z, _ = data(n=n)
    cluster = np.arange(n) // 2 % 20
    write(f"s{ending}", label=y, s=z, cluster=cluster)
    options = ["--scores-are", "logits"]
    if ending == ".npy":
        options += ["--labels", "label.npy"]
    names = {"iid": fp.IID(), "stratified": fp.Stratified(), "COLUMN": fp.Clusters(cluster),
             "nested:COLUMN": fp.Nested(cluster)}  # fmt: skip
    column = "cluster.npy" if ending == ".npy" else "cluster"
    by_column = scheme.endswith("COLUMN")
    if ending == ".npz" and not by_column:
        options += ["--columns", "s"]
    elif not by_column and ending != ".npy":
        options += ["--columns", "s_0,s_1"]
    scheme_option = scheme.replace("COLUMN", column)
    return fp.Predictions.from_logits(y, z), options, scheme_option, names[scheme]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("ending", [".npz", ".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("scheme", ["iid", "stratified", "COLUMN", "nested:COLUMN"])
def test_tables(ending, scheme):
    predictions, options, drawn, resampling = table_of(ending, scheme)
    run = ["evaluate", f"s{ending}", *options, "--resamples", 60, "--ci", 0.9, "--resample", drawn]
    out = succeed(*run, "--seed", 5, "--json", "t.json")
    table = fp.evaluate(
        predictions, n_resamples=60, confidence_level=0.9, resampling=resampling, seed=5
    )
    content = strict_json("t.json")
    check(content["rows"], table)
    said = said_of(table, drawn)
    assert said.startswith("90 % intervals: ")
    assert said in out.splitlines()
    assert (f"; clusters: {drawn};" in out) == (scheme == "COLUMN")
    assert content["intervals"] == {
        "confidence_level": 0.9, "method": "auto", "n_resamples": 60, "resampling": drawn,
        "seed": 5,
    }  # fmt: skip
    for row in table.rows:
        assert f"{row.metric} " in out
        value, interval = with_interval(row.value, row.low, row.high, row.unit)
        assert re.search(rf" {value}  {re.escape(interval)} ", out)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca", "normal", "subsampling"])
def test_ways_to_make_an_interval(method):
    predictions, options, *_ = table_of(".npz", "iid")
    run = ["evaluate", "s.npz", *options, "--ci", 0.9, "--resamples", 60, "--interval", method]
    asked = ["NCE", "RCL"]
    succeed(*run, "--metrics", ",".join(asked), "--seed", 1, "--json", "t.json")
    table = fp.evaluate(
        predictions, asked, n_resamples=60, confidence_level=0.9, method=method, seed=1
    )
    check(strict_json("t.json")["rows"], table)


@pytest.mark.parametrize(
    ("options", "level", "n_resamples"),
    [(["--ci", 0.8], 0.8, 1000), (["--resamples", 70], 0.95, 70)],
    ids=["--ci", "--resamples"],
)
def test_either_option_turns_intervals_on(options, level, n_resamples):
    _, are, *_ = table_of(".npz", "iid")
    succeed("evaluate", "s.npz", *are, *options, "--metrics", "NCE", "--json", "t.json")
    made = strict_json("t.json")["intervals"]
    assert (made["confidence_level"], made["n_resamples"]) == (level, n_resamples)
    assert (made["resampling"], made["method"], made["seed"]) == ("iid", "auto", 0)


def test_without_them_there_are_none():
    _, are, *_ = table_of(".npz", "iid")
    out = succeed("evaluate", "s.npz", *are, "--json", "t.json", "--csv", "t.csv")
    assert "[" not in out
    assert "interval" not in out
    assert strict_json("t.json")["intervals"] is None
    rows = strict_json("t.json")["rows"]
    assert {row[name] for row in rows for name in ("low", "high", "bias")} == {None}
    assert csv_rows() == rows


def test_the_same_command_prints_the_same():
    _, are, *_ = table_of(".npz", "iid")
    run = ["evaluate", "s.npz", *are, "--resamples", 60, "--metrics", "NCE,ECE"]
    assert succeed(*run) == succeed(*run, "--seed", 0) != succeed(*run, "--seed", 1)


def test_every_kind_of_table():
    predictions, are, *_ = table_of(".npz", "iid")
    files = ["--json", "t.json", "--csv", "t.csv", "--markdown", "t.md", "--latex", "t.tex"]
    succeed("evaluate", "s.npz", *are, "--resamples", 60, *files)
    rows = fp.evaluate(predictions, n_resamples=60, seed=0).rows
    assert csv_rows() == strict_json("t.json")["rows"]
    cells = [
        tuple(f"{cell}" for cell in (r.metric, *with_interval(r.value, r.low, r.high, r.unit)))
        for r in rows
    ]
    assert [row[0] for row in cells if row[2] == ""] == ["RCL bound"]
    markdown = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in Path("t.md").read_text().splitlines()
    ]
    header = [("metric", "value", "interval"), ("---", "--:", "--:")]
    assert [tuple(line) for line in markdown] == [*header, *cells]
    latex = Path("t.tex").read_text().replace(r"\%", "%").splitlines()
    assert latex[0] == r"\begin{tabular}{lrr}"
    units = [" [%]" * ("%" in value) for _, value, _ in cells]
    moved = [[c[0] + u, *c[1:]] for c, u in zip(cells, units, strict=True)]
    assert latex[4:-2] == [" & ".join(line).replace(" %", "") + r" \\" for line in moved]


def test_a_metric_without_a_value_has_no_interval():
    y = np.arange(60) % 2
    write("s.npz", y_true=y, q=np.where(y == 1, 0.7, 0.2) + np.arange(60) / 1000)
    succeed("evaluate", "s.npz", "--resamples", 60, "--json", "t.json")
    rows = {row["metric"]: row for row in strict_json("t.json")["rows"]}
    assert [rows["RCL"][name] for name in NUMBERS] == [None, None, None, None, 0]
    assert rows["RCL"]["note"].startswith("not computed: scores separate")
    assert rows["NCE"]["low"] < rows["NCE"]["value"] < rows["NCE"]["high"]


def test_infinite_ends():
    y, z, _ = data()
    q = 1 / (1 + np.exp(z[:, 0] - z[:, 1]))
    q[0] = 1.0 - y[0]
    write("s.npz", y_true=y, q=q)
    out = succeed("evaluate", "s.npz", "--resamples", 60, "--json", "t.json")
    row = strict_json("t.json")["rows"][0]
    assert (row["metric"], row["value"], row["high"], row["bias"]) == ("NCE", "inf", "inf", None)
    assert re.search(r"(?m)^NCE +inf +\[\d\.\d{4}, inf\] ", out)


def test_replicates_without_a_class_are_counted_and_warned_of():
    y = (np.arange(60) < 2).astype(int)
    write("s.npz", y_true=y, llr=np.random.default_rng(0).normal(size=60))
    run = ["evaluate", "s.npz", "--scores-are", "raw", "--resamples", 100, "--json", "t.json"]
    outcome = fastpsr(*run)
    assert outcome.code == 0
    rows = strict_json("t.json")["rows"]
    for row in rows:
        assert 2 <= row["n_undefined"] <= 40  # (58 / 60)**60 = 13 %
    first, *others = rows
    (line,) = [line for line in outcome.err.splitlines() if "is undefined in" in line]
    assert line.startswith(f"warning: {first['metric']} is undefined in {first['n_undefined']} of")
    names = "; ".join(row["metric"] for row in others)
    assert line.endswith(f" (and {len(others)} like this: {names})")


def test_scores_are_not_what_is_drawn():
    y, z, _ = data()
    write("s.csv", label=y, q=1 / (1 + np.exp(-z[:, 0])), speaker=np.arange(y.size) % 9)
    out = succeed("evaluate", "s.csv", "--ci", 0.95, "--resamples", 40, "--resample", "speaker")
    assert "scores: q; labels: label; weights: none; clusters: speaker; taken as" in out


# Trials


def costs_of(*arguments):
    """Detection costs at an operating point by name."""
    return {m.label: m for m in (fp.MinDCF(*arguments), fp.ActDCF(*arguments))}


def metrics_of_trials(groups=None, dcf=0.01):
    usual = default_metrics(2, train=fp.CrossFit(5, groups=groups))
    ranks = {"EER": fp.EER(), **costs_of(dcf)}
    rest = {"Cllr": fp.Cllr(), "minCllr": fp.MinCllr(), "AUC": fp.AUC()}
    return {**ranks, **rest, **{name: usual[name] for name in ("NCE", "NBS", "RCL")}}


SCHEMES = {
    "iid": ([], lambda trials: fp.IID()),
    "stratified": ([], lambda trials: fp.Stratified()),
    "session": ([], lambda trials: fp.Clusters(trials.session)),
    "nested:session": ([], lambda trials: fp.Nested(trials.session)),
    "speaker": (SPEAKERS, lambda trials: fp.TwoWay(*trials.speakers())),
}


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(each, marks=pytest.mark.slow if each in ("iid", "session") else [])
        for each in SCHEMES
    ],
)
def test_trials(scheme):
    options, resampling = SCHEMES[scheme]
    trials = write_trials()
    run = [*TRIALS, *options, "--resamples", 60, "--resample", scheme, "--dcf", "sre16"]
    out = succeed(*run, "--json", "t.json", "--csv", "t.csv", "--markdown", "t.md")
    groups = trials.speakers() if options else None
    table = fp.evaluate(trials.predictions("a"), metrics_of_trials(groups, "sre16"),
                        n_resamples=60, resampling=resampling(trials), seed=0)  # fmt: skip
    rows = strict_json("t.json")["rows"]
    check(rows, table)
    assert csv_rows() == rows
    assert said_of(table, scheme) in out.splitlines()
    for row in table.rows:
        cell = " ".join(with_interval(row.value, row.low, row.high, row.unit))
        assert re.search(rf"(?m)^{re.escape(row.metric)} +{re.escape(cell)} *$", out)
        assert f"| {cell} |" in Path("t.md").read_text("utf-8")


CAUTION = (
    "warning: intervals are too narrow if speakers repeat: give --speakers, --speaker-columns or "
    "--speaker-pattern, or --resample iid if none does\n"
)


def resampling_of(*arguments):
    """What is drawn, and whether there is a word on speakers."""
    outcome = fastpsr(*arguments, "--json", "t.json")
    assert outcome.code == 0, outcome.err
    intervals = strict_json("t.json")["intervals"]
    return intervals and intervals["resampling"], outcome.err.count(CAUTION) == 1


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_speakers_that_are_given_are_drawn(command):
    write_trials()
    ids = [line.split("\t") for line in Path("key").read_text("utf-8").splitlines()[1:]]
    mapping = dict([(e, b) for e, _, _, _, b, _ in ids] + [(t, o) for _, t, _, _, _, o in ids])
    Path("map").write_text("".join(f"{i} {s}\n" for i, s in mapping.items()), "utf-8")
    run = [command, "--key", "key", *["--scores"] * (command == "evaluate"), "a"]
    run += ["b"] * (command == "compare") + ["--resamples", 40, "--metrics", "Cllr"]
    for given in (SPEAKERS, ("--speakers", "map"), ("--speaker-pattern", r"\d")):
        assert resampling_of(*run, *given) == ("speaker", False)
    assert resampling_of(*run, *SPEAKERS, "--resample", "iid") == ("iid", False)
    assert resampling_of(*run) == ("iid", True)
    assert resampling_of(*run, "--resample", "iid") == ("iid", False)
    assert resampling_of(*run, "--resample", "session") == ("session", False)


def test_trials_without_intervals_need_no_speakers():
    write_trials()
    assert resampling_of(*TRIALS) == (None, False)


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_tables_with_speakers(ending):
    made = write_trials().made
    speakers = {"enroll_speaker": made.enroll_speaker, "test_speaker": made.test_speaker}
    for name, scores in (("s", made.llr), ("o", 0.9 * made.llr)):
        ids = {"enroll": made.enroll, "test": made.test}
        write(f"{name}{ending}", label=made.y_true, llr=scores, **ids, **speakers)
    run = ["evaluate", f"s{ending}", "--scores-are", "llr", "--resamples", 40]
    run += ["--metrics", "Cllr", "--json", "t.json"]
    out = succeed(*run)
    assert "scores: llr; labels: label; weights: none; clusters: enroll_speaker, test_sp" in out
    assert strict_json("t.json")["intervals"]["resampling"] == "speaker"
    data = fp.Predictions.from_llrs(made.y_true, made.llr)
    resampling = fp.TwoWay(*speakers.values())
    table = fp.evaluate(data, ["Cllr"], n_resamples=40, resampling=resampling, seed=0)
    check(strict_json("t.json")["rows"], table)
    refused = fastpsr(*run, "--interval", "bca")
    assert refused.err.startswith("error: --interval must not be bca with --resample speaker")
    assert resampling_of(*run[:-2], "--resample", "iid") == ("iid", False)
    assert resampling_of(*run[:-2], "--resample", "test_speaker") == ("test_speaker", False)
    nested = resampling_of(*run[:-2], "--resample", "nested:test_speaker")
    assert nested == ("nested:test_speaker", False)
    refused = fastpsr(*run, "--resample", "nested:speaker")
    assert refused.err.startswith("error: --resample nested:speaker must name one column of")
    pair = ["compare", f"s{ending}", f"o{ending}", *run[2:-2]]
    assert resampling_of(*pair) == ("speaker", False)


def test_speakers_of_one_of_two_tables():
    made = write_trials().made
    write("s.csv", label=made.y_true, llr=made.llr)
    write("o.csv", label=made.y_true, llr=made.llr, enroll_speaker=made.enroll_speaker,
          test_speaker=made.test_speaker)  # fmt: skip
    options = ["--scores-are", "llr", "--resamples", 40, "--metrics", "Cllr"]
    assert resampling_of("compare", "s.csv", "o.csv", *options) == ("speaker", False)
    assert resampling_of("compare", "o.csv", "s.csv", *options) == ("speaker", False)


def test_conditions_and_systems():
    trials = write_trials()
    asked = ["EER", "NBS"]
    run = [*TRIALS, "b", "--ci", 0.9, "--resamples", 40, "--resample", "by", "--by", "session"]
    succeed(*run, "--metrics", ",".join(asked), "--interval", "percentile", "--json", "t.json")
    rows = strict_json("t.json")["rows"]
    for system in "ab":
        here = trials.session == "3"
        table = fp.evaluate(
            trials.predictions(system, here), asked, n_resamples=40, method="percentile",
            confidence_level=0.9, resampling=fp.Clusters(trials.speakers(here)[0]), seed=0,
        )  # fmt: skip
        place = (system, "session=3")
        check([r for r in rows if (r["system"], r["group"]) == place], table)


def test_a_condition_with_too_little_to_draw_from():
    write_trials()
    run = [*TRIALS, "--resamples", 40, "--resample", "session", "--by", "session"]
    run += ["--metrics", "Cllr", "--interval", "percentile"]  # others need more than five clusters
    outcome = fastpsr(*run, "--json", "t.json")
    assert outcome.code == 0
    said = "no intervals: --resample must name at least two clusters, not 1"
    assert f"warning: a, session=0: {said} (and " in outcome.err
    lows = {(r["group"] is None, r["low"] is None) for r in strict_json("t.json")["rows"]}
    assert lows == {(True, False), (False, True)}


def test_equalized_trials():
    trials = write_trials()
    half = trials.session < "3"
    key = Path("key").read_text("utf-8").splitlines()
    rows = [f"{k}\t{h}" for k, h in zip(key, ["half", *half.astype(int)], strict=True)]
    Path("key").write_text("\n".join(rows) + "\n", "utf-8")
    asked = ["EER", "Cllr", "NBS"]
    run = [*TRIALS, "--equalize", "half", "--resamples", 40, "--metrics", ",".join(asked)]
    succeed(*run, "--json", "t.json")
    y, weights = trials.made.y_true, np.zeros(half.size)
    for k in (0, 1):
        for part in (half, ~half):
            cell = (y == k) & part
            weights[cell] = (y == k).sum() / 2 / cell.sum()
    weighed = trials.predictions("a", sample_weight=weights)
    table = fp.evaluate(weighed, asked, n_resamples=40, seed=0)
    check(strict_json("t.json")["rows"], table)


# Bad input

HOW = "is for intervals: give --ci or --resamples"
CI = ("--ci", "0.95")
ALIKE = npz(g=np.zeros(40, int))
BAD = {
    "level 95": ([*RUN, "--ci", "95"], ["--ci must lie strictly", "not 95.0: pass --ci 0.95"]),
    "level 0": ([*RUN, "--ci", "0"], ["--ci must"]),
    "level nan": ([*RUN, "--ci", "nan"], ["--ci must", "nan"]),
    "too few": ([*RUN, "--resamples", "39"], ["--resamples must", "at least 40", "0.95", "39"]),
    "too few for the level": (
        [*RUN, "--resamples", "1000", "--ci", "0.999"], ["--resamples must", "2000", "0.999"]
    ),
    "none": ([*RUN, "--resamples", "0"], ["--resamples must", "not 0"]),
    "negative": ([*RUN, "--resamples", "-5"], ["--resamples must", "-5"]),
    "no number": ([*RUN, "--resamples", "many"], ["--resamples", "valid integer", "'many'"]),
    "--resample alone": ([*RUN, "--resample", "iid"], ["--resample", HOW]),
    "--seed alone": ([*RUN, "--seed", "1"], ["--seed", HOW]),
    "--interval alone": ([*RUN, "--interval", "basic"], ["--interval", HOW]),
    "seed": ([*RUN, *CI, "--seed", "-1"], ["--seed must", "-1"]),
    "interval": ([*RUN, *CI, "--interval", "bayes"], ["--interval", "'bayes'", "percentile"]),
    "column": (
        [*RUN, *CI, "--resample", "g"], ["--resample must", "s.npz", "label, score", "'g'"]
    ),
    "speakers of a table": (
        [*RUN, *CI, "--resample", "speaker"],
        ["--resample must", "'speaker', which needs columns enroll_speaker and test_speaker"],
    ),
    "one cluster": (
        ["evaluate", "one.npz", *CI, "--resample", "g"], ["--resample", "at least two", "not 1"]
    ),
    "column of the wrong length": (
        ["evaluate", "short.npz", *CI, "--resample", "g"], ["--resample", "40", "9"]
    ),
    "column of .npy": (
        ["evaluate", "s.npy", *CI, "--resample", "g"], ["--resample must", "s.npy", "'g'"]
    ),
    "over what is drawn": (
        ["evaluate", "s.npy", *CI, "--resample", "g.npy", "--json", "g.npy"], ["--json", "input"]
    ),
    "speakers unknown": (
        [*TRIALS, *CI, "--resample", "speaker"],
        ["--resample speaker", "--speakers, --speaker-columns or --speaker-pattern"],
    ),
    "speakers and bca": (
        [*TRIALS, *CI, "--resample", "speaker", *SPEAKERS, "--interval", "bca"],
        ["--interval must not be bca with --resample speaker"],
    ),
    "speakers that are known and bca": (
        [*TRIALS, *CI, *SPEAKERS, "--interval", "bca"],
        ["--interval must not be bca with --resample speaker", "default", "or --resample iid"],
    ),
    "nested and bca": (
        [*TRIALS, *CI, "--resample", "nested:session", "--interval", "bca"],
        ["--interval must not be bca with --resample nested:session: use auto or percentile"],
    ),
    "nested speakers": (
        [*TRIALS, *CI, "--resample", "nested:speaker", *SPEAKERS],
        ["--resample must", "a column of the files", "'speaker'"],
    ),
    "nothing": ([*RUN, *CI, "--resample", ""], ["--resample must", "not ''"]),
    "column of a key": (
        [*TRIALS, *CI, "--resample", "place"],
        ["--resample must be iid, stratified, speaker or a column", "session, by, of", "'place'"],
    ),
    "one cluster of a key": (
        ["evaluate", "--key", "alike", "--scores", "a", *CI, "--resample", "by"],
        ["a: --resample", "two clusters"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), parameters(BAD))
def test_bad_input(arguments, words):
    write_trials()
    lines = Path("key").read_text("utf-8").splitlines()
    alike = [lines[0], *(re.sub(r"\t\d+\t(\d+)$", r"\t1\t\1", line) for line in lines[1:])]
    Path("alike").write_text("\n".join(alike) + "\n", "utf-8")
    files = {"s.npz": GOOD, "one.npz": ALIKE, "short.npz": npz(g=np.arange(9)), "s.npy": b""}
    check_refusal(files, [*arguments, *["--columns", "score"] * ("short.npz" in arguments)], words)


@pytest.mark.parametrize("option", ["--ci=2", "--resamples=3", "--resample=speaker"])
def test_bad_options_are_found_before_a_file_is_read(option):
    run = ["evaluate", "--key", "none", "--scores", "none", "--resamples=100"]
    check_refusal({}, [*run, option], [option.split("=")[0]])


# Progress and Ctrl-C


def shown_on_a_terminal(*arguments, stdout=None, code=None, stop_at=None):
    """What a terminal gets, of the output only if `stdout` is None; Ctrl-C once `stop_at` is there.

    The second value is how the command ended.
    """
    start = ["-m", "fastpsr"] if code is None else ["-c", code]
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, *start, *map(str, arguments)],
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        env=surroundings(TERM="xterm", COLUMNS="100"),
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # how a terminal ends
                break
            if not part:
                break
            shown += part
            if stop_at is not None and re.search(stop_at, shown):
                process.send_signal(signal.SIGINT)
                stop_at = None
    os.close(ours)
    return shown.decode("utf-8"), process.returncode


def screen(shown):
    """The lines that are left on a terminal, which is as high as needed."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", shown):
        if part == "\r":
            column = 0
        elif part == "\n":
            row, lines = row + 1, [*lines, *[""] * (row + 2 > len(lines))]
        elif part == "\x1b[2K":
            lines[row] = ""
        elif re.fullmatch(r"\x1b\[\d*A", part):
            row -= int(part[2:-1] or 1)
        elif not part.startswith("\x1b"):
            line = lines[row].ljust(column)
            lines[row] = line[:column] + part + line[column + len(part) :]
            column += len(part)
        else:
            assert part[-1] in "mhl", part  # colors, and the cursor shown or not
    return "\n".join(line.rstrip() for line in lines)


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
@pytest.mark.slow
def test_a_bar_with_the_time_that_is_left():
    _, are, *_ = table_of(".npz", "iid")
    run = ["evaluate", "s.npz", *are, "--resamples", "3000"]
    shown, _ = shown_on_a_terminal(*run, stdout=subprocess.DEVNULL)
    assert "replicates" in shown
    assert re.search(r"\d+ s left", shown)


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
@pytest.mark.slow
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_nothing_of_a_bar_is_left_on_a_terminal(command):
    write_trials()
    files = ["--scores", "a", "b"] if command == "evaluate" else ["a", "b"]
    run = [command, "--key", "key", *files, *SPEAKERS, "--resamples", "100"]
    run += ["--metrics", "EER,Cllr"]
    run += ["--interval", "percentile"]  # without warnings, which a terminal wraps
    with mock.patch.dict(os.environ, {"COLUMNS": "100"}):
        piped = program(*run).stdout  # first: on a terminal compiling would be announced
    shown, _ = shown_on_a_terminal(*run)
    assert "━" in shown
    last = max(int(step) for step in re.findall(r"step (\d+) of", shown))
    assert last == (7 if command == "evaluate" else 6)  # the key, two files read and joined, tables
    assert set(re.findall(r"step \d+ of (\d+)", shown)) == {str(last)}
    left = screen(shown)

    def without_times(text):
        return re.sub(r"\d+\.\d s| +$", "", text, flags=re.MULTILINE).strip()

    assert without_times(left) == without_times(piped)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("mode", ["evaluate", pytest.param("compare", marks=pytest.mark.slow)])
def test_ctrl_c_between_replicates(mode):
    write_trials()
    files = ["a", "b"] if mode == "compare" else ["--scores", "a"]
    run = [mode, "--key", "key", *files, "--resamples", "10000000", "--json", "t.json"]
    run += ["--metrics", "EER,Cllr,RCL"]
    before = sorted(os.listdir())
    shown, code = shown_on_a_terminal(
        *run, stdout=subprocess.DEVNULL, code=INTERRUPTIBLE, stop_at=rb"\d+ s left"
    )  # long before the last of the replicates
    assert code == 130
    assert screen(shown).split()[-1] == "stopped"
    assert "Traceback" not in shown
    assert sorted(os.listdir()) == before
