"""What other systems lack, or do otherwise, as far as it can be seen on one of them."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import data, program, succeed, surroundings, write, write_trials

pytestmark = pytest.mark.usefixtures("_here")


@pytest.fixture
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# What POSIX has

#: Takes from a process what Windows does not have, after the libraries were imported.
WITHOUT_POSIX = """
import os, signal, sys
import jinja2, matplotlib.pyplot, numba, polars, pyarrow.dataset, rich.progress, typer
for name in ("fcntl", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "getuid", "mkfifo", "register_at_fork", "sched_getaffinity", "sysconf"):
    delattr(os, name)
del signal.SIGPIPE
"""

#: Runs commands one after the other in a process, those of standard input.
COMMANDS = """
import json, sys
from fastpsr.cli import app
for arguments in json.load(sys.stdin):
    sys.argv = ["fastpsr", *arguments]
    code = app.run()
    assert code == 0, (arguments, code)
"""


def test_commands_without_what_is_of_posix_alone():
    write_trials()
    evaluate = ["--key", "key", "--scores", "a", "--metrics", "EER,Cllr"]
    commands = [
        ["evaluate", *evaluate, "--output", "r.html", "--json", "t.json"],
        ["join", "--key", "key", "--scores", "b", "--output", "b.parquet"],
        ["evaluate", "b.parquet", "--scores-are", "llr"],
    ]
    done = program(code=WITHOUT_POSIX + COMMANDS, stdin=json.dumps(commands))
    assert (done.returncode, done.stderr) == (0, "")
    succeed("evaluate", *evaluate, "--json", "u.json")
    assert json.loads(Path("t.json").read_bytes()) == json.loads(Path("u.json").read_bytes())


#: A system on which a file that is standard input is not opened anew.
ELSEWHERE = """
import sys, types
from fastpsr import files
from fastpsr.cli import app
files.sys = types.SimpleNamespace(
    platform="darwin", getfilesystemencoding=sys.getfilesystemencoding
)
sys.exit(app.run())
"""


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_as_standard_input_is_read_once_where_it_is_not_opened_anew(packed):
    write_trials()
    content = Path("a").read_bytes()
    Path("a").write_bytes(gzip.compress(content) if packed else content)
    run = ["evaluate", "--key", "key", "--metrics", "EER,Cllr"]
    with Path("a").open("rb") as given:
        done = subprocess.run(
            [sys.executable, "-P", "-c", ELSEWHERE, *run, "--scores", "-", "--json", "t.json"],
            stdin=given, capture_output=True, text=True, env=surroundings(),
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    succeed(*run, "--scores", "a", "--json", "u.json")
    found, expected = (json.loads(Path(name).read_bytes()) for name in ("t.json", "u.json"))
    of_a = [row | {"system": "a"} for row in found["rows"]]
    assert of_a == expected["rows"]
    assert found["inputs"][0] == {"path": "/dev/stdin", "n_bytes": None, "sha256": None}


# Text

#: Makes an error of text that is read or written in the encoding of the locale.
STRICT = """
import warnings
warnings.filterwarnings("error", category=EncodingWarning, module="fastpsr")
"""


@pytest.mark.slow
def test_no_encoding_is_that_of_the_locale():
    write_trials()
    Path("costs.json").write_text("[[0, 1], [10, 0]]", "utf-8")
    Path("costs.csv").write_text("0,1\n10,0\n", "utf-8")
    outputs = ["u.json", *(f"u.{ending}" for ending in ("csv", "md", "tex", "html"))]
    given = ["--json", outputs[0], *(part for path in outputs[1:] for part in ("--output", path))]
    trials = ["--key", "key", "--scores", "a"]
    costs = ["--scores-are", "llr", "--metrics", "NRisk costs", "--costs"]
    commands = [
        ["evaluate", *trials, "--metrics", "Cllr", *given],
        ["calibrate", *trials, "--save", "map.json", "--output", "b.tsv"],
        ["calibrate", "--load", "map.json", "--apply", "a", "--output", "c.txt"],
        ["simulate", "trials", "t.csv", "--targets", "50", "--nontargets", "50"],
        ["evaluate", "t.csv", "--columns", "llr", *costs, "costs.json"],
        ["evaluate", "t.csv", "--columns", "llr", *costs, "costs.csv"],
    ]
    code, given = STRICT + COMMANDS, json.dumps(commands)
    done = program(code=code, stdin=given, PYTHONWARNDEFAULTENCODING="1")
    assert done.returncode == 0, done.stderr
    for path in ("map.json", "b.tsv", "c.txt", "t.csv", *outputs):
        assert b"\r" not in Path(path).read_bytes()


@pytest.mark.parametrize("encoding", ["cp1252", "cp437"])
def test_a_console_of_windows(encoding):
    """Letters that it has are shown, others as Python writes them."""
    y, _, _ = data()
    write("s.csv", label=y, **{"größe φ": y / 2 + 0.2})
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fastpsr", "evaluate", "s.csv", "--metrics", "NCE"],
        capture_output=True, encoding=encoding, env=surroundings(PYTHONIOENCODING=encoding),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    shown = "φ" if encoding == "cp437" else r"\u03c6"
    assert f"scores: größe {shown}; labels" in done.stdout
