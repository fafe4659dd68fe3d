"""What importing costs, who may import whom, and what the public names say about themselves."""

import ast
import importlib
import inspect
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars

import fastpsr as fp
from fastpsr.cli import app
from tests.commands import surroundings

PACKAGE = Path(fp.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))
EXTRAS = {
    "sklearn", "torch", "polars", "pandas", "matplotlib", "torchmetrics", "dask", "distributed",
    "duckdb", "pyarrow", "fsspec", "h5py", "jinja2",
}  # fmt: skip
#: Packages that take long to import; Numba imports SciPy.
HEAVY = {"numpy", "numba", "llvmlite", "scipy", "typer", "rich", *EXTRAS}

# from the top; an import stays on its floor or goes down
FLOORS = (
    {"cli", "report", "sklearn", "torchmetrics", "__main__"},
    {""},  # the package itself
    {"plotting"},
    {"tables"},
    {"trials"},
    {"evaluation"},
    {"compat"},
    {"bootstrap"},
    {"dask"},
    {"curves"},
    {"metrics"},
    {"calibration"},
    {"groups"},
    {"summaries"},
    {"rules", "costs"},
    {"plans"},
    {"predictions"},
    {"ids"},
    {"compiled", "interval_rule", "options", "parallel"},
    {"caching", "checks", "errors", "frames", "wording", "files", "simulate", "results"},
    {"exports", "html", "optional", "strict_json", "version"},
    {"kernels"},
)
#: Methods that users call, and which are computed above: an evaluation is written as a report.
UPWARD = {("fastpsr.evaluation.table", "fastpsr.report")}


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = [name_of(path) for path in MODULES]


def imported(source, known):
    """Dotted names that a source imports, anywhere in it; modules of `known` in full."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in known else node.module)
    return found


def floor(module):
    room = module.split(".")[1] if "." in module else ""
    floors = [number for number, rooms in enumerate(FLOORS) if room in rooms]
    assert floors, f"room {room!r} has no floor yet: say in FLOORS where it lies"
    return floors[0]


def test_who_may_import_whom():
    source = """
import numba.core
from fastpsr import evaluation, __version__
def late():
    from fastpsr.cli.app import run
"""
    known = {"fastpsr", "fastpsr.evaluation", "fastpsr.cli", "fastpsr.cli.app"}
    assert imported(source, known) == {
        "numba.core", "fastpsr.evaluation", "fastpsr", "fastpsr.cli.app",
    }  # fmt: skip
    upwards, knowing = set(), set()
    for path in MODULES:
        module = name_of(path)
        for target in imported(path.read_text("utf-8"), set(NAMES)):
            root = target.split(".")[0]
            if root == "fastpsr" and floor(target) < floor(module):
                upwards.add((module, target))
            if root in ("numba", "llvmlite"):
                knowing.add(module)
    assert upwards == UPWARD
    assert "fastpsr.kernels.compiler" in knowing
    assert [name for name in knowing if not name.startswith("fastpsr.kernels.")] == []


ADAPTERS = {"sklearn", "torchmetrics"}  # modules of the names of what they need


def not_installed(module):
    """Whether a module is an adapter of a package that is not installed."""
    _, _, needed = module.partition(".")
    return needed in ADAPTERS and find_spec(needed) is None


def exists(module, name):
    """Whether a name can be imported from a module."""
    try:
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def test_names_that_modules_export_and_tests_import_exist():
    """Pytest skips a module of tests that cannot be imported, where it looks for doctests too."""
    wrong = []
    for name in NAMES:
        if not_installed(name):
            continue
        module = importlib.import_module(name)
        exported = getattr(module, "__all__", [])
        wrong += [f"{name}.{each}" for each in exported if not hasattr(module, each)]
        wrong += [f"{name}.{each} twice" for each in set(exported) if exported.count(each) > 1]
    for path in TESTS:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            root = (getattr(node, "module", None) or "").split(".")[0]
            if (
                not isinstance(node, ast.ImportFrom)
                or root not in ("fastpsr", "tests", "benchmarks")
                or not_installed(node.module)
            ):
                continue
            wrong += [
                f"{path.name}: {node.module}.{alias.name}"
                for alias in node.names
                if not exists(node.module, alias.name)
            ]
    assert wrong == []


def test_public_names_are_shown_and_documented_by_example():
    public = {
        name: value
        for name in fp.__all__
        if inspect.isclass(value := getattr(fp, name)) or inspect.isfunction(value)
    }
    assert len(public) > 20
    wrong = [
        name
        for name, value in public.items()
        if not value.__module__.startswith("fastpsr.")
        or not (text := inspect.getdoc(value)).splitlines()[0].endswith(".")
        or "\nExamples\n--------\n>>> " not in text
    ]
    assert wrong == []
    assert {"plotting", "trials", "compat", "EER", "evaluate"} <= set(dir(fp))
    assert not {"wording", "html", "strict_json", "checks", "kernels"} & set(dir(fp))
    for name in dir(fp):
        assert getattr(fp, name) is not None
    data = fp.Predictions.from_llrs([0, 1], [0.0, 1.0])
    assert {"llrs", "posteriors", "from_llrs"} <= set(dir(data))
    assert not {"remember", "replace_scores", "compact"} & set(dir(data))
    for name in dir(data):
        getattr(data, name)


# What is loaded

# Each program begins without fastpsr; other packages stay loaded, so what loads least comes first.
PROGRAMS = """
import contextlib, io, json, sys
done = []
for code in json.loads(sys.argv[1]):
    for name in [name for name in sys.modules if name.partition(".")[0] == "fastpsr"]:
        del sys.modules[name]
    said, ended = io.StringIO(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            exec(code, {})
        except SystemExit as end:
            ended = end.code
        except ImportError as error:
            ended = str(error)
    done.append([[*sys.modules], ended, said.getvalue()])
print(json.dumps(done))
"""


def run(*codes):
    """Run programs one after the other in a process; return their modules, code and output."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAMS, json.dumps(codes)],
        capture_output=True, text=True, timeout=100, env=surroundings(COLUMNS="250"), check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def loaded_by(programs):
    """Return the modules that are loaded after each of the programs, by their names."""
    found = run(*programs.values())
    assert [end for _, end, _ in found if end not in (0, 2)] == []
    return {name: set(modules) for name, (modules, _, _) in zip(programs, found, strict=True)}


def heavy(modules):
    return {name.split(".")[0] for name in modules} & HEAVY


def own(modules):
    """Return the modules of fastpsr below the package, without its name."""
    return {name.partition(".")[2] for name in modules if name.startswith("fastpsr.")}


def command(*arguments):
    return f"import sys, fastpsr.cli; sys.argv[1:] = {list(arguments)}; fastpsr.cli.main()"


BARE = {"exports", "version"}
COMMAND_LINE = {"cli", "cli.app", "cli.show", "cli.wording", "errors", "files", *BARE}


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
    wrong = {name: heavy(modules) - {"numpy"} for name, modules in loaded.items()}
    wrong["none"] = heavy(loaded["none"]) | own(loaded["none"]) ^ BARE
    wrong["data"] |= own(loaded["data"]) & {"metrics", "evaluation", "bootstrap", "calibration"}
    wrong["a kernel"] = heavy(loaded["a kernel"]) - {"numpy", "numba", "llvmlite", "scipy"}
    assert {name: found for name, found in wrong.items() if found} == {}
    assert "predictions" in own(loaded["data"])
    assert {"numpy", "numba"} <= loaded["a kernel"]


def test_commands_load_what_they_use(tmp_path):
    table, text = tmp_path / "scores.npz", tmp_path / "scores.txt"
    y, llrs = np.arange(40) % 2, np.linspace(-1.0, 2.0, 40)
    np.savez(table, y_true=y, llr=llrs)
    text.write_text("".join(f"{x} {'non' * (1 - k)}target\n" for k, x in zip(y, llrs, strict=True)))
    answered = [(), ("--help",), ("--version",), ("--no",), ("no",)]
    of_commands = {
        " ".join([name, option]): command(name, option)
        for name in sorted(app.COMMANDS, key="warmup".__eq__)  # which needs NumPy, comes last
        for option in ("--help", "--no")
    }
    loaded = loaded_by(
        {"import": "import fastpsr.cli"}
        | {"without a command: " + " ".join(each): command(*each) for each in answered}
        | of_commands
        | {"a table": command("evaluate", str(table), "--scores-are", "llr")}
        | {"trials": command("evaluate", "--scores", str(text))}
    )
    names = {f"cli.{name}" for name in app.COMMANDS}
    wrong = {"import": heavy(loaded["import"]) | own(loaded["import"]) ^ {"cli", *BARE}}
    for name, modules in loaded.items():
        if name.startswith("without a command"):
            wrong[name] = own(modules) ^ COMMAND_LINE
        elif name in of_commands:
            wrong[name] = own(modules) & names ^ {f"cli.{name.split()[0]}"}
        if name in of_commands or name.startswith("without a command"):
            wrong[name] |= heavy(modules) - {"typer", "rich"}
        if name.startswith("warmup"):
            wrong[name] -= {"numpy"}
    rooms = {name.split(".")[0] for name in own(loaded["a table"])}
    wrong["a table"] = heavy(loaded["a table"]) & EXTRAS
    wrong["a table"] |= rooms & {"trials", "curves", "compat", "report", "plotting", "dask"}
    wrong["trials"] = heavy(loaded["trials"]) & EXTRAS - {"polars"}
    assert {name: found for name, found in wrong.items() if found} == {}
    assert {"typer", "numba", "fastpsr.bootstrap"} <= loaded["a table"]
    assert {"polars", "fastpsr.trials"} <= loaded["trials"]


# What is missing

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


def test_what_is_missing_is_said(tmp_path):
    table, parts = tmp_path / "scores.csv", tmp_path / "scores.parquet"
    table.write_text("y_true,q\n0,0.25\n1,0.5\n", "utf-8")
    polars.DataFrame({"target": [0, 1] * 20, "llr": [0.5, -0.5] * 20}).write_parquet(parts)
    evaluate = command("evaluate", str(table))
    of_parts = command("evaluate", str(parts.parent / "*.parquet"))
    libraries, adapters = ["typer", "rich", "polars"], sorted(ADAPTERS)
    *found, (_, ended, said) = run(
        *(WITHOUT.format(name, evaluate) for name in libraries),
        *(f"import sys; sys.modules[{n!r}] = None; import fastpsr.{n}" for n in adapters),
        f"import sys; sys.modules['pyarrow.dataset'] = None; {of_parts}",
    )
    messages = [message for _, message, _ in found]
    assert messages[: len(libraries)] == [
        f'fastpsr: the command line needs {name}: pip install "fastpsr[cli]"' for name in libraries
    ]
    for name, message in zip(adapters, messages[len(libraries) :], strict=True):
        assert message.endswith(f'pip install "fastpsr[{name}]"')
    assert (ended, said.splitlines()[-1]) == (
        2, 'error: Parquet files in parts need pyarrow: pip install "fastpsr[big]"'
    )  # fmt: skip
