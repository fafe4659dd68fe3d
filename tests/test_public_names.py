"""Names of the package: which there are, that they are imported when asked for, what help shows."""

import ast
import difflib
import inspect
import pickle
import pydoc

import pytest

import fastpsr as fp
from fastpsr.exports import SUBPACKAGES, WITH_EXTRAS
from tests.commands import program
from tools import exports, interface


def test_generated_modules_are_current():
    for path, text in exports.of_package().items():
        written = ast.parse(path.read_text("utf-8"))
        assert ast.dump(written) == ast.dump(ast.parse(text)), "python -m tools.exports"


def test_what_a_version_promises_changes_on_purpose_only():
    listed = interface.FILE.read_text("utf-8")
    changed = [*difflib.unified_diff(listed.splitlines(), interface.text().splitlines(), n=0)]
    assert changed == [], "if this is right: python -m tools.interface"


def test_names_are_listed_imported_and_shown():
    listed = [name for names in exports.names().values() for name in names]
    assert sorted(fp.__all__) == sorted([*listed, *SUBPACKAGES])
    assert len(fp.__all__) == len(set(fp.__all__))
    assert set(dir(fp)) == {*fp.__all__, *WITH_EXTRAS, "__version__"}
    names = {}
    exec("from fastpsr import *", names)
    assert names.keys() - {"__builtins__"} == set(fp.__all__)
    shown = pydoc.plain(pydoc.render_doc(fp))
    for name in fp.__all__:
        value = getattr(fp, name)
        assert names[name] is value
        if not inspect.ismodule(value):
            begin = "class " if inspect.isclass(value) else ""
            assert f"\n    {begin}{name}(" in shown
            assert "\nExamples\n--------\n>>> " in inspect.getdoc(value), name


@pytest.mark.parametrize(
    "before",
    [
        "import fastpsr.bootstrap",
        "import importlib; importlib.import_module('fastpsr.bootstrap')",
        "import fastpsr as fp; fp.evaluate",
    ],
)
def test_a_subpackage_does_not_hide_the_function_of_its_name(before):
    process = program(code=f"{before}; import fastpsr as fp; print(fp.bootstrap.__qualname__)")
    assert (process.stdout, process.stderr) == ("bootstrap\n", "")


def test_names_can_be_replaced(monkeypatch):
    with monkeypatch.context() as patched:
        for name in ("bootstrap", "EER", "metrics"):
            patched.setattr(fp, name, 1)
            assert getattr(fp, name) == 1
    assert inspect.isfunction(fp.bootstrap)
    assert inspect.ismodule(fp.metrics)


def test_unknown_names_are_refused():
    with pytest.raises(ImportError, match=r"^cannot import name 'evalute' from 'fastpsr'"):
        exec("from fastpsr import evalute")
    process = program(code="import fastpsr as fp; fp.evalute")
    assert "Did you mean: 'evaluate'?" in process.stderr


def test_objects_are_unpickled_before_anything_is_imported():
    pickled = pickle.dumps([fp.EER(), fp.bootstrap, fp.Predictions.from_llrs([0, 1], [0.0, 1.0])])
    process = program(code=f"import pickle; print(*map(type, pickle.loads({pickled!r})))")
    kinds = (fp.EER, type(fp.bootstrap), fp.Predictions)
    assert (process.stdout.strip(), process.stderr) == (" ".join(map(str, kinds)), "")


THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
import fastpsr as fp
sys.setswitchinterval(1e-5)
names = dir(fp)
def import_all(first):
    for name in names[first:] + names[:first]:
        getattr(fp, name)
with ThreadPoolExecutor(16) as pool:
    list(pool.map(import_all, range(0, 80, 5)))
"""


def test_threads_import_names_at_the_same_time():
    process = program(code=THREADS)
    assert (process.returncode, process.stderr) == (0, "")
