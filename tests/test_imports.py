"""What names and commands import, and what is said where a package is missing."""

import json

import numpy as np

from fastpsr.cli import app
from tests.commands import program

EXTRAS = {
    "sklearn", "torch", "polars", "pandas", "matplotlib", "torchmetrics", "dask", "distributed",
    "pyarrow", "fsspec", "h5py", "jinja2",
}  # fmt: skip
#: Packages that take long to import; Numba imports SciPy.
HEAVY = {"numpy", "numba", "llvmlite", "scipy", "typer", "rich", *EXTRAS}

# Each program begins without fastpsr; other packages stay loaded, so what loads least comes first.
PROGRAMS = """
import contextlib, io, json, sys
outcomes = []
for code in json.loads(sys.argv[1]):
    for name in [name for name in sys.modules if name.partition(".")[0] == "fastpsr"]:
        del sys.modules[name]
    printed, ended = io.StringIO(), 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(code, {})
        except SystemExit as end:
            ended = end.code
        except ImportError as error:
            ended = str(error)
    outcomes.append([[*sys.modules], ended, printed.getvalue()])
print(json.dumps(outcomes))
"""


def run(*codes):
    """Run programs one after the other in a process; return their modules, code and output."""
    return json.loads(program(json.dumps(codes), code=PROGRAMS, COLUMNS="250").stdout)


def loaded_by(programs):
    """Return the heavy packages, and the modules of fastpsr, that programs load, by their names."""
    outcomes = run(*programs.values())
    assert [end for _, end, _ in outcomes if end not in (0, 2)] == []
    loaded = {}
    for name, (modules, _, _) in zip(programs, outcomes, strict=True):
        parts = {module.partition(".")[2] for module in modules if module.startswith("fastpsr.")}
        loaded[name] = {module.split(".")[0] for module in modules} & HEAVY, parts
    return loaded


def command(*arguments):
    return f"import sys, fastpsr.cli; sys.argv[1:] = {list(arguments)}; fastpsr.cli.main()"


def test_names_load_what_they_need():
    loaded = loaded_by(
        {
            "none": "import fastpsr as fp; dir(fp); fp.__version__; hasattr(fp, 'unknown')",
            "data": "import fastpsr as fp; fp.Predictions",
            "objects": "import fastpsr as fp; fp.ECE(); fp.rules.Beta(2, 2); fp.CrossFit()",
            "all": "from fastpsr import *",
            "simulated": "import fastpsr as fp; fp.simulate.gaussian_classes(10)",
            "a kernel": "import fastpsr as fp; fp.ECE()([0, 1], [0.2, 0.7])",
        }
    )
    assert loaded["none"] == (set(), {"exports", "version"})
    assert "data.predictions" in loaded["data"][1]
    assert not loaded["data"][1] & {"metrics", "evaluation", "bootstrap", "calibration"}
    for name in ("data", "objects", "all", "simulated"):
        assert loaded[name][0] == {"numpy"}, name
    assert loaded["a kernel"][0] == {"numpy", "numba", "llvmlite", "scipy"}


def test_commands_load_what_they_use(tmp_path):
    table, text = tmp_path / "scores.npz", tmp_path / "scores.txt"
    y, llrs = np.arange(40) % 2, np.linspace(-1.0, 2.0, 40)
    np.savez(table, y_true=y, llr=llrs)
    text.write_text("".join(f"{x} {'non' * (1 - k)}target\n" for k, x in zip(y, llrs, strict=True)))
    names = app.COMMANDS
    loaded = loaded_by(
        {"import": "import fastpsr.cli", "no command": command("--help")}
        | {name: command(name, "--help") for name in names}
        | {"a table": command("evaluate", str(table), "--scores-are", "llr")}
        | {"trials": command("evaluate", "--scores", str(text))}
    )
    assert loaded["import"] == (set(), {"cli", "exports", "version"})
    for name in ("no command", *names):
        packages, parts = loaded[name]
        assert packages <= {"typer", "rich"}
        loaded_commands = {part for part in parts if part.removeprefix("cli.") in names}
        expected = {name, "evaluate"} if name == "compare" else {name}
        expected = {*names} if name == "no command" else expected
        assert loaded_commands == {f"cli.{each}" for each in expected}
    packages, parts = loaded["a table"]
    assert not packages & EXTRAS
    unused = {"trials", "curves", "compat", "report", "plotting", "dask"}
    assert not {part.split(".")[0] for part in parts} & unused
    assert loaded["trials"][0] & EXTRAS == {"polars"}


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == {0!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
try:
    {1}
finally:
    del sys.meta_path[0]
"""


def test_what_is_missing_is_named_with_how_to_install_it(tmp_path):
    table = tmp_path / "scores.csv"
    table.write_text("y_true,q\n0,0.25\n1,0.5\n", "utf-8")
    programs = {
        "typer": WITHOUT.format("typer", command("evaluate", str(table))),
        "rich": WITHOUT.format("rich", command("evaluate", str(table))),
        "polars": WITHOUT.format("polars", command("evaluate", str(table))),
        "sklearn": WITHOUT.format("sklearn", "import fastpsr.sklearn"),
        "torchmetrics": WITHOUT.format("torchmetrics", "import fastpsr.torchmetrics"),
    }
    for name, (_, message, _) in zip(programs, run(*programs.values()), strict=True):
        extra = name if name in ("sklearn", "torchmetrics") else "cli"
        assert name in message
        assert message.endswith(f'pip install "fastpsr[{extra}]"')
