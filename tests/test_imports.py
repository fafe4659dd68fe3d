"""What importing costs, who may import whom, and what the public names say about themselves."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import fastpsr as fp

PACKAGE = Path(fp.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))
HEAVY = {
    "numba", "llvmlite", "scipy", "sklearn", "torch", "polars", "pandas", "typer", "rich",
    "matplotlib", "torchmetrics",
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
    {"summaries"},
    {"rules", "costs"},
    {"plans"},
    {"predictions"},
    {"ids"},
    {"compiled", "interval_rule", "options", "parallel"},
    {"caching", "checks", "errors", "wording", "files", "simulate", "results"},
    {"html", "interrupts", "optional", "strict_json", "version"},
    {"kernels"},
)
#: Methods that users call, and which are computed above: data in parts explain a table of metrics,
#: and an evaluation is written as a report.
UPWARD = {
    ("fastpsr.plans.partitioned", "fastpsr.evaluation.explain"),
    ("fastpsr.evaluation.table", "fastpsr.report"),
}
UNDOCUMENTED = {  # defects: no section Examples
    "Evaluation", "HeldOut", "TrainOnTest", "load_calibrator", "save_calibrator",
}  # fmt: skip


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


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_imports_go_downwards(path):
    module = name_of(path)
    for target in imported(path.read_text("utf-8"), set(NAMES)):
        if target.split(".")[0] == "fastpsr" and (module, target) not in UPWARD:
            assert floor(target) >= floor(module), f"{module} imports {target}, which lies above it"


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_only_kernels_know_numba(path):
    module = name_of(path)
    roots = {t.split(".")[0] for t in imported(path.read_text("utf-8"), set(NAMES))}
    if not module.startswith("fastpsr.kernels."):
        assert not roots & {"numba", "llvmlite"}


ADAPTERS = {"sklearn", "torchmetrics"}  # modules of the names of what they need


@pytest.mark.parametrize("name", NAMES)
def test_exported_names_exist(name):
    needed = name.removeprefix("fastpsr.")
    if needed in ADAPTERS:
        pytest.importorskip(needed)
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert [each for each in exported if not hasattr(module, each)] == []
    assert len(set(exported)) == len(exported)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_names_that_tests_import_exist(path):
    """Pytest skips a module of tests that cannot be imported, where it looks for doctests too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        root, *needed = (getattr(node, "module", None) or "").split(".")
        if not isinstance(node, ast.ImportFrom) or root not in ("fastpsr", "tests", "benchmarks"):
            continue
        if root == "fastpsr" and needed[:1] and needed[0] in ADAPTERS:
            pytest.importorskip(needed[0])
        module = importlib.import_module(node.module)
        for alias in node.names:
            if not hasattr(module, alias.name):
                importlib.import_module(f"{node.module}.{alias.name}")


def loaded_by(code):
    script = f"{code}\nimport sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import fastpsr",
        "import fastpsr.cli",
        "import fastpsr as fp; fp.ECE(); fp.rules.Beta(2, 2); fp.PAV(); fp.CrossFit()",
        "import fastpsr as fp; fp.simulate.gaussian_classes(10)",
    ],
)
def test_nothing_heavy_is_imported(code):
    loaded = loaded_by(code)
    assert {"fastpsr", "numpy"} <= loaded
    assert not loaded & HEAVY


def test_kernels_bring_numba_only():
    loaded = loaded_by("import fastpsr as fp; fp.ECE()([0, 1], [0.2, 0.7])")
    assert "numba" in loaded
    assert not loaded & (HEAVY - {"numba", "llvmlite", "scipy"})  # numba imports scipy


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


def test_all_is_complete_and_names_nothing_twice():
    assert len(PUBLIC) > 20
    shown = {name for name in vars(fp) if not name.startswith("_")}
    modules = {name for name in shown if inspect.ismodule(getattr(fp, name))}
    assert shown - modules == set(PUBLIC), "a public name is missing from __all__"
    assert len(fp.__all__) == len(set(fp.__all__))


@pytest.mark.parametrize(
    "name",
    list(PUBLIC),
)
def test_public_names_are_documented_by_example(name):
    text = inspect.getdoc(PUBLIC[name])
    assert PUBLIC[name].__module__.startswith("fastpsr.")
    assert text.splitlines()[0].endswith(".")
    assert "\nExamples\n--------\n>>> " in text


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
