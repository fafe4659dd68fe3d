"""Every option of every command has an effect, and a wrong value is refused before a file is read.

The options are those of the command line itself: a new one fails here until a line uses it.
"""

import contextlib
import shlex
from functools import cache
from pathlib import Path

import numpy as np
import polars
import pytest
import typer
from typer.main import get_command

from fastpsr.cli import app
from tests.commands import fastpsr
from tests.golden.command_lines import CLOCK
from tests.golden.files import write_files


def tree(group, *names):
    """Yield the names of all commands with the commands."""
    context = typer.Context(group)
    for name in group.list_commands(context):
        _, command, _ = group.resolve_command(context, [name])
        if hasattr(command, "list_commands"):
            yield from tree(command, *names, name)
        else:
            yield " ".join([*names, name]), command


COMMANDS = {
    name: {
        parameter.opts[0]: parameter
        for parameter in command.params
        if parameter.param_type_name == "option"
    }
    for name, command in tree(get_command(app.app))
}

#: How trials are read: lines of one system, and the file of a further one.
TRIALS = [
    ("--key few_key --allow missing,extra,duplicates,nan --scores messy.txt",
     "b.txt"),
    ("--key odd_key --key-format voxceleb --scores odd.txt", "odd2.txt"),
    ("--key odd.csv --key-format enroll=a,test=b,label=is "
     "--scores odd.csv --format enroll=a,test=b,score=x", "odd2.csv"),
    ("--key key.h5 --key-format transpose --scores s.h5 --format no-transpose", "s2.h5"),
    ("--key key --scores numbers.txt --format in-order", "numbers2.txt"),
    ("--key target=targets --key nontarget=nontargets --scores a.txt", "b.txt"),
    ("--key key --scores a.txt --speakers speakers.txt", "b.txt"),
    ("--key nist.tsv --scores a.txt --speakers columns:seconds,seconds", "b.txt"),
    ("--key key --scores a.txt --speakers pattern:^[^/]+", "b.txt"),
    ("--key key --metadata s=durations.txt --speakers columns:enroll_s,test_s --scores a.txt",
     "b.txt"),
]  # fmt: skip
#: How tables are read, and another one.
TABLES = [
    ("words.csv --labels truth --columns p_bird,p_cat,p_dog --classes bird,cat,dog", "words2.csv"),
    ("t.csv --columns q,weight --allow unnormalized --weights age", "u.csv"),
]
FEW = "--resamples 40 --ci percentile"
DRAWN = "--ci 0.5:basic --resamples 40 --seed 2"
FILES = "--json o.json --output o.csv --output o.md --output o.tex"
CONDITIONS = "--by age:2 --min-per-class 9"
LINES = {
    "evaluate": [
        "evaluate --key key --scores a.txt --output o.html --base 10",
        *(f"evaluate {line}" for line, _ in TRIALS + TABLES),
        f"evaluate t.csv --columns q --metrics NCE,EER --eer nearest {DRAWN} --resample patient "
        "--by age:2 --differences pooled --scores-are logits",
        f"evaluate words.csv --labels truth --columns p_bird,p_cat,p_dog --classes bird,cat,dog "
        f"--costs costs3.json --priors 0.5,0.3,0.2 --folds 3 --calibrator vector {FILES}",
        "evaluate zeros.csv --columns q --floor 0.01 --metrics NCE",
        "evaluate t.csv --columns q --columns z --scores-are logits",
        "evaluate --key nist.tsv --scores a.txt --equalize session --dcf 0.05 --metrics minDCF",
        "evaluate --key spoof.key --scores a.txt --dcf 0.2:0.3:1:1:5",
    ],
    "compare": [
        f"compare --key key --scores a.txt b.txt --metrics EER {FEW} --output o.html --base 10",
        f"compare t.csv u.csv --columns q --calibrator temperature --folds 3 --metrics RCL {FEW}",
        *(f"compare {line} {other} --metrics EER {FEW}" for line, other in TRIALS),
        *(f"compare {line} {other} --metrics NCE {FEW}" for line, other in TABLES),
        f"compare t.csv u.csv --columns q --metrics NCE,EER --eer nearest {DRAWN} "
        "--resample patient --by age:2 --differences first,conditions --scores-are logits",
        f"compare words.csv words2.csv --labels truth --columns p_bird,p_cat,p_dog "
        f"--classes bird,cat,dog --costs costs3.json --priors 0.5,0.3,0.2 "
        f"--metrics 'NRisk costs' {FILES} {FEW}",
        f"compare zeros.csv u.csv --columns q --floor 0.01 --metrics NCE {FEW}",
        "compare --key nist.tsv --scores a.txt b.txt --equalize session --dcf 0.05 "
        f"--metrics minDCF {FEW}",
        "compare --key spoof.key --scores a.txt b.txt --dcf 0.2:0.3:1:1:5 "
        f"--metrics minADCF(0.2:0.3:1:1:5) {FEW}",
        "compare t.csv --columns q --columns z --columns age --differences pairs --scores-are raw "
        f"--metrics AUC {FEW}",
    ],
    "calibrate": [
        *(f"calibrate {line} --output {'o.h5' if '.h5' in line else 'o'}" for line, _ in TRIALS),
        *(f"calibrate {line} --output o.csv" for line, _ in TABLES),
        "calibrate t.csv --columns q --floor 0.1 --calibrator pav --folds 3 --output o.csv",
        "calibrate t.csv --columns z --scores-are llr --prior 0.1 --save o.json --apply u.csv "
        f"--output o.csv {CONDITIONS} --base 10",
        "calibrate --load map.json --apply t.csv --columns q --output o.csv",
    ],
    "select": [
                *(f"select {line} --calibrators none,dp" for line, _ in TRIALS + TABLES),
        "select t.csv --columns z --scores-are llr --calibrators dp,beta --rule brier "
        "--folds 4 --simplest --save o.json --json t.json --ci 0.9 --resamples 40 --seed 3 "
        "--resample patient",
        f"select t.csv --columns q --calibrators dp {CONDITIONS}",
    ],
    "threshold": [
        *(f"threshold {line} --at dcf=0.1 --ci 0.9 --resamples 40" for line, _ in TRIALS),
        "threshold two.csv --labels truth --columns p_bird,p_cat --classes bird,cat "
        "--allow unnormalized --at fa=0.1 --weights size",
        f"threshold t.csv --columns z --scores-are llr --at miss=0.1 --resample patient {DRAWN}",
        "threshold t.csv --columns q --at dcf=0.1 --json o.json --base 10",
    ],
    "fuse": [
        f"fuse --key key --scores a.txt b.txt --metrics EER {FEW} --table o.html",
        "fuse --key key --scores a.txt b.txt --refits --metrics EER --resamples 40",
        *(f"fuse {line} {other} --metrics EER {FEW}" for line, other in TRIALS),
        "fuse --key key --scores a.txt b.txt --quality durations.txt --quality-terms bilinear "
        f"--metrics Cllr {DRAWN}",
        "fuse --key nist.tsv --scores a.txt b.txt --quality seconds,session --by gender "
        f"--min-per-class 5 --resample session --metrics Cllr --save o.json {FEW}",
        f"fuse --key nist.tsv --scores a.txt b.txt --by seconds:2 --metrics Cllr {FEW}",
        "fuse --key key --scores a.txt b.txt --apply few.txt --apply a.txt --allow missing "
        f"--output o.txt --metrics Cllr {FEW}",
        "fuse --load fusion.json --apply a.txt --apply b.txt --output o.txt --base 10",
        "fuse --key key --scores raw.txt --scores a.txt --scores-are raw --prior 0.1 --dcf 0.05 "
        f"--folds 3 --metrics minDCF {FILES} {FEW}".replace("--output", "--table"),
    ],
    "join": [
        *(f"join {line} --output o.parquet" for line, _ in TRIALS if "h5" not in line),
    ],
    "simulate trials": ["simulate trials o.csv --targets 20 --nontargets 50 --seed 3"],
    "simulate challenge": ["simulate challenge o --targets 30 --nontargets 60 --seed 2"],
    "simulate classes": [
        "simulate classes o.csv --samples 30 --classes 3 --system mcps --seed 1"
    ],
}  # fmt: skip
#: Commands without further files, which take long: test_cli_simulate.py and test_cli_warmup.py.
ELSEWHERE = {"demo", "warmup"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write the files of the golden command lines, and those of formats that must be named."""
    path = tmp_path_factory.mktemp("options")
    with contextlib.chdir(path):
        write_files()
        write_trials_of_formats()
        for line in ("calibrate t.csv --columns q --save map.json",
                     "fuse --key key --scores a.txt b.txt --metrics EER --resamples 40 "
                     "--save fusion.json"):  # fmt: skip
            assert fastpsr(*line.split()).code == 0
        words = polars.read_csv("words.csv")
        words.with_columns(p_bird="p_cat", p_cat="p_bird").write_csv("words2.csv")
        two = words.filter(polars.col("truth") != "dog")
        two.with_columns(size=polars.int_range(len(two)) % 5 + 1).write_csv("two.csv")
    return path


def write_trials_of_formats():
    h5py = pytest.importorskip("h5py")
    rows = [line.split() for line in Path("a.txt").read_text("utf-8").splitlines()]
    lines = Path("a.txt").read_text("utf-8").splitlines(keepends=True)
    messy = [*lines[3:], lines[9], "id99/enroll.wav id99/test.wav 1.0\n"]
    messy[1] = " ".join([*messy[1].split()[:2], "nan\n"])
    Path("messy.txt").write_text("".join(messy), "utf-8")
    y = [line.split()[2] for line in Path("key").read_text("utf-8").splitlines()]
    for name, word in (("targets", "target"), ("nontargets", "nontarget")):
        ids = [f"{e} {t}\n" for (e, t, _), label in zip(rows, y, strict=True) if label == word]
        Path(name).write_text("".join(ids), "utf-8")
    labels = [int(label == "target") for label in y]
    table = polars.DataFrame(rows, schema=["a", "b", "x"], orient="row")
    table = table.with_columns(polars.col("x").cast(float), **{"is": polars.Series(labels)})
    table.write_csv("odd.csv")
    table.with_columns(x=polars.col("x").round(0)).write_csv("odd2.csv")
    plain = {"separator": " ", "include_header": False}
    number = polars.int_range(len(rows))  # test ids of 0 and 1 could be labels, or scores
    ids = {"e": polars.format("m{}", number // 2), "t": number % 2}
    table.select("is", **ids).write_csv("odd_key", **plain)
    table.select("x", **ids).write_csv("odd.txt", **plain)
    table.select(polars.col("x").round(0), **ids).write_csv("odd2.txt", **plain)
    table.select(polars.col("x").round(0)).write_csv("numbers2.txt", **plain)
    random = np.random.RandomState(3)
    for path in ("key.h5", "s.h5", "s2.h5"):
        with h5py.File(path, "w") as file:
            names = [f"{k:02}".encode() for k in range(12)]
            file["modelset"], file["segset"] = names, names
            mask = np.where(np.arange(144).reshape(12, 12) % 3 > 0, -1, 1)
            file["trial_mask"] = np.asarray(mask.T if path == "key.h5" else mask, np.int8)
            file["scores"] = random.standard_normal((12, 12)) + (mask > 0)
            file["score_mask"] = np.ones((12, 12), np.uint8)


@cache
def outcome(folder, words):
    """Return the exit status, what is printed, and the content of the files that are written."""
    with contextlib.chdir(folder):
        before = {*Path().rglob("*")}
        run = fastpsr(*words)
        texts = {}
        for path in sorted({*Path().rglob("*")} - before, reverse=True):
            if path.is_dir():
                path.rmdir()
            else:
                is_text = path.suffix != ".parquet"
                texts[path] = path.read_bytes() if is_text else str(polars.read_parquet(path))
                path.unlink()
    return run.code, CLOCK.sub("", run.out), CLOCK.sub("", run.err), texts


def without(words, option):
    """Return the words of a command line without an option and its values."""
    names = {*option.opts, *option.secondary_opts}
    takes_value = not option.is_flag
    kept = []
    for place, word in enumerate(words):
        is_value = takes_value and place > 0 and words[place - 1] in names
        if word not in names and not is_value:
            kept.append(word)
    return tuple(kept)


OPTIONS = [
    (name, option)
    for name, options in COMMANDS.items()
    if name not in ELSEWHERE
    for option in options
]


@pytest.mark.parametrize(("command", "name"), OPTIONS)
def test_every_option_has_an_effect(folder, command, name):
    option = COMMANDS[command][name]
    lines = [tuple(shlex.split(line)) for line in LINES[command]]
    with_option = [words for words in lines if {*option.opts, *option.secondary_opts} & {*words}]
    assert with_option, f"no line has {name}"
    words = with_option[-1]
    result = outcome(folder, words)
    assert result[0] == 0, result
    others = without(words, option)
    if name == "--resamples":
        others += (name, "41")  # the default takes long
    assert outcome(folder, others) != result


#: Values that are wrong whatever the data are.
WRONG = {
    "--json": "none/o",
    **dict.fromkeys(["--output", "--save", "--table"], "none/o.npz"),
    **dict.fromkeys(["--key", "--metadata", "--speakers", "--load"], "none.txt"),
    **dict.fromkeys(["--apply", "--labels", "--weights"], "none.npy"),
    **dict.fromkeys(["--metrics", "--calibrator", "--ci", "--scores-are"], "nope"),
    **dict.fromkeys(["--eer", "--key-format", "--format", "--rule", "--calibrators"], "nope"),
    **dict.fromkeys(["--at", "--dcf", "--allow", "--costs", "--differences"], "nope"),
    **dict.fromkeys(["--quality", "--quality-terms"], "nope"),
    **dict.fromkeys(["--priors", "--prior", "--floor"], "7"),
    **dict.fromkeys(["--folds", "--resamples"], "1"),
    **dict.fromkeys(["--seed", "--min-per-class"], "-1"),
    "--by": "a:2,a:3",
    "--base": "2",
}
#: Names of columns, and switches, which only the data can refuse.
DATA_DECIDE = {
    "--scores", "--columns", "--equalize", "--resample", "--classes", "--simplest", "--refits",
}  # fmt: skip
DAMAGED = {
    "evaluate": ["s.npz", "--key key --scores scores"],
    "compare": ["s.npz t.npz", "--key key scores other"],
    "calibrate": ["s.npz --output o.npz", "--key key --scores scores --output o"],
    "fuse": ["--key key --scores scores other", "--load scores --apply other --output o"],
    "select": ["s.npz", "--key key --scores scores"],
    "threshold": ["s.npz --at dcf=0.1", "--key key --scores scores --at dcf=0.1"],
    "join": ["--key key --scores scores --output o.parquet"],
}


@pytest.mark.parametrize("command", DAMAGED)
def test_wrong_values_are_refused_before_a_file_is_read(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"s.npz", "t.npz", "key", "scores", "other"}
    for file in files:
        Path(file).write_bytes(b"\x00 cannot be read")
    options = {*COMMANDS[command]} - DATA_DECIDE
    assert options <= {*WRONG}
    for line in DAMAGED[command]:
        for option in sorted(options):
            words = [command, *without(line.split(), COMMANDS[command][option])]
            refused = fastpsr(*words, option, WRONG[option])
            assert refused.code == 2, option
            assert option in refused.err or WRONG[option] in refused.err, refused.err
            assert refused.err.count("\n") == 1
            assert "cannot be read" not in refused.err
    assert {path.name for path in Path().iterdir()} == files
