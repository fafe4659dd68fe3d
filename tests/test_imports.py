"""What importing costs, who may import whom, and what the public names say about themselves."""

import ast
import importlib
import inspect
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.cli import app

PACKAGE = Path(fp.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))
OF_KERNELS = {"numba", "llvmlite", "scipy"}  # Numba imports SciPy
OF_COMMANDS = {"typer", "rich"}
EXTRAS = {
    "sklearn", "torch", "polars", "pandas", "matplotlib", "torchmetrics", "dask", "distributed",
    "duckdb", "pyarrow", "fsspec", "h5py", "jinja2",
}  # fmt: skip

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
    {"caching", "checks", "errors", "wording", "files", "simulate", "results"},
    {"exports", "html", "optional", "strict_json", "version"},
    {"kernels"},
)
#: Methods that users call, and which are computed above: data in parts explain a table of metrics,
#: and an evaluation is written as a report.
UPWARD = {
    ("fastpsr.plans.partitioned", "fastpsr.evaluation.explain"),
    ("fastpsr.evaluation.table", "fastpsr.report"),
}


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


@cache
def imports():
    """The names that each module imports."""
    return {name_of(path): imported(path.read_text("utf-8"), set(NAMES)) for path in MODULES}


def floor(module):
    room = module.split(".")[1] if "." in module else ""
    floors = [number for number, rooms in enumerate(FLOORS) if room in rooms]
    assert floors, f"room {room!r} has no floor yet: say in FLOORS where it lies"
    return floors[0]


def test_imported_sees_every_kind_of_import():
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


def test_imports_go_downwards():
    assert imports().keys() == set(NAMES)
    upwards = {
        (module, target)
        for module, targets in imports().items()
        for target in targets
        if target.split(".")[0] == "fastpsr" and floor(target) < floor(module)
    }
    assert upwards == UPWARD


def test_only_kernels_know_numba():
    knowing = {
        module
        for module, targets in imports().items()
        if {target.split(".")[0] for target in targets} & {"numba", "llvmlite"}
    }
    assert "fastpsr.kernels.compiler" in knowing
    assert [name for name in knowing if not name.startswith("fastpsr.kernels.")] == []


ADAPTERS = {"sklearn", "torchmetrics"}  # modules of the names of what they need


def not_installed(module):
    """Whether a module is an adapter of a package that is not installed."""
    _, _, needed = module.partition(".")
    return needed in ADAPTERS and find_spec(needed) is None


def test_exported_names_exist():
    wrong = []
    for name in NAMES:
        if not_installed(name):
            continue
        module = importlib.import_module(name)
        exported = getattr(module, "__all__", [])
        wrong += [f"{name}.{each}" for each in exported if not hasattr(module, each)]
        wrong += [f"{name}.{each} twice" for each in set(exported) if exported.count(each) > 1]
    assert wrong == []


def test_names_that_tests_import_exist():
    """Pytest skips a module of tests that cannot be imported, where it looks for doctests too."""
    wrong = []
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


def exists(module, name):
    """Whether a name can be imported from a module."""
    try:
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def loaded_by(code):
    """The modules that are loaded after a program, which may end itself."""
    script = """
import sys
try:
    exec(sys.argv.pop())
except SystemExit:
    pass
print("", *sys.modules, sep="\\n", file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, code],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return set(done.stderr.split("\n"))


def roots(modules):
    return {name.split(".")[0] for name in modules}


def own(modules):
    return {name for name in modules if name.startswith("fastpsr.")}


def command(*arguments):
    return f"import sys, fastpsr.cli; sys.argv[1:] = {list(arguments)}; fastpsr.cli.main()"


def test_the_package_is_imported_with_the_first_name():
    bare = {"fastpsr.exports", "fastpsr.version"}
    loaded = loaded_by("import fastpsr as fp; dir(fp); fp.__version__; hasattr(fp, 'unknown')")
    assert own(loaded) == bare
    assert not roots(loaded) & {"numpy", *OF_KERNELS, *OF_COMMANDS, *EXTRAS}
    loaded = loaded_by("import fastpsr.cli")
    assert own(loaded) == {*bare, "fastpsr.cli"}
    assert not roots(loaded) & {"numpy", *OF_KERNELS, *OF_COMMANDS, *EXTRAS}
    loaded = loaded_by("import fastpsr as fp; fp.Predictions")
    assert {"fastpsr.predictions", "numpy"} <= loaded
    assert not loaded & {"fastpsr.metrics", "fastpsr.evaluation", "fastpsr.bootstrap"}


@pytest.mark.parametrize(
    "code",
    [
        "from fastpsr import *",
        "import fastpsr as fp; fp.ECE(); fp.rules.Beta(2, 2); fp.PAV(); fp.CrossFit()",
        "import fastpsr as fp; fp.simulate.gaussian_classes(10)",
    ],
)
def test_nothing_heavy_is_imported(code):
    loaded = roots(loaded_by(code))
    assert {"fastpsr", "numpy"} <= loaded
    assert not loaded & (OF_KERNELS | OF_COMMANDS | EXTRAS)


def test_kernels_bring_numba_only():
    loaded = roots(loaded_by("import fastpsr as fp; fp.ECE()([0, 1], [0.2, 0.7])"))
    assert "numba" in loaded
    assert not loaded & (OF_COMMANDS | EXTRAS)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--version",), ("--no",), ("no",)])
def test_what_no_command_answers_needs_no_library(arguments):
    loaded = loaded_by(command(*arguments))
    assert "typer" in loaded
    assert own(loaded) == {
        f"fastpsr.{name}"
        for name in ("cli", "cli.app", "cli.show", "cli.wording", "errors", "exports", "files",
                     "version")
    }  # fmt: skip
    assert not roots(loaded) & {"numpy", *OF_KERNELS, *EXTRAS}


def test_help_of_a_command_imports_this_command():
    for name in app.COMMANDS:
        loaded = loaded_by(command(name, "--help"))
        assert own(loaded) & {f"fastpsr.cli.{each}" for each in app.COMMANDS} == {
            f"fastpsr.cli.{name}"
        }
        assert not roots(loaded) & (OF_KERNELS | EXTRAS)


def test_a_command_imports_what_it_uses(tmp_path):
    file = tmp_path / "scores.npz"
    np.savez(file, y_true=np.arange(40) % 2, q=np.linspace(0.25, 0.75, 40))
    loaded = roots(loaded_by(command("evaluate", str(file))))
    assert "numba" in loaded
    assert not loaded & EXTRAS


WITHOUT = """
import sys
file, missing = sys.argv[1:]

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
sys.argv[1:] = ["evaluate", file]
import fastpsr.cli
fastpsr.cli.main()
"""


@pytest.mark.parametrize(
    "missing",
    ["typer", "rich", "polars"],
)
def test_what_the_command_line_needs_is_said(tmp_path, missing):
    file = tmp_path / "scores.csv"
    file.write_text("y_true,q\n0,0.25\n1,0.5\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, file, missing], capture_output=True, text=True, timeout=60
    )
    message = f'fastpsr: the command line needs {missing}: pip install "fastpsr[cli]"\n'
    assert (done.returncode, done.stderr) == (1, message)


def test_what_parts_need_is_said(tmp_path):
    file = tmp_path / "scores.parquet"
    polars.DataFrame({"target": [0, 1] * 20, "llr": [0.5, -0.5] * 20}).write_parquet(file)
    script = WITHOUT.replace('["evaluate", file]', '["evaluate", file, "--explain"]')
    script = script.replace("sys.meta_path", "sys.modules[missing] = None; sys.meta_path")
    done = subprocess.run(
        [sys.executable, "-c", script, file, "pyarrow.dataset"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        'error: Parquet files in parts need pyarrow: pip install "fastpsr[big]"'
    )


@pytest.mark.parametrize("needed", sorted(ADAPTERS))
def test_what_an_adapter_needs_is_said(needed):
    script = f"import sys; sys.modules[{needed!r}] = None; import fastpsr.{needed}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert f'pip install "fastpsr[{needed}]"' in done.stderr.splitlines()[-1]


PUBLIC = {
    name: getattr(fp, name)
    for name in fp.__all__
    if inspect.isclass(getattr(fp, name)) or inspect.isfunction(getattr(fp, name))
}


def test_public_names_are_documented_by_example():
    assert len(PUBLIC) > 20
    wrong = [
        name
        for name, value in PUBLIC.items()
        if not value.__module__.startswith("fastpsr.")
        or not (text := inspect.getdoc(value)).splitlines()[0].endswith(".")
        or "\nExamples\n--------\n>>> " not in text
    ]
    assert wrong == []


def test_dir_shows_what_users_call():
    assert {"plotting", "trials", "compat", "EER", "evaluate"} <= set(dir(fp))
    assert not {"wording", "html", "strict_json", "checks", "kernels"} & set(dir(fp))
    for name in dir(fp):
        assert getattr(fp, name) is not None
    data = fp.Predictions.from_llrs([0, 1], [0.0, 1.0])
    assert {"llrs", "posteriors", "from_llrs"} <= set(dir(data))
    assert not {"remember", "replace_scores", "compact"} & set(dir(data))
    for name in dir(data):
        getattr(data, name)
