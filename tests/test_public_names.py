"""Names of the package are found when asked for, and are what subpackages export."""

import ast
import difflib
import importlib
import inspect
import pickle
import pydoc
import subprocess
import sys

import pytest

import fastpsr as fp
from fastpsr.cli import app
from fastpsr.exports import MODULE_OF, SUBPACKAGES, WITH_EXTRAS
from tests import exports, interface
from tests.commands import surroundings


def run(code):
    """Run a program that has imported nothing yet."""
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True, text=True, timeout=100, env=surroundings(),
    )  # fmt: skip


@pytest.mark.parametrize("texts", [exports.of_kernels, exports.of_package])
def test_what_is_written_is_what_there_is(texts):
    for path, text in texts().items():
        assert ast.dump(ast.parse(path.read_text("utf-8"))) == ast.dump(ast.parse(text)), path


def test_what_a_version_promises_changes_on_purpose_only():
    listed = interface.FILE.read_text("utf-8")
    changed = [*difflib.unified_diff(listed.splitlines(), interface.text().splitlines(), n=0)]
    assert changed == [], "if this is right: python -m tests.interface"


def test_a_name_is_what_its_module_exports():
    wrong = []
    for name, module in MODULE_OF.items():
        there = importlib.import_module(f"fastpsr.{module}")
        if name not in there.__all__ or getattr(fp, name) is not getattr(there, name):
            wrong.append(name)
    assert wrong == []
    for name in SUBPACKAGES + WITH_EXTRAS:
        assert getattr(fp, name) is importlib.import_module(f"fastpsr.{name}")


def test_all_names_nothing_twice():
    listed = [name for names in exports.names().values() for name in names]
    assert sorted(fp.__all__) == sorted([*listed, *SUBPACKAGES])
    assert len(fp.__all__) == len(set(fp.__all__))
    assert set(dir(fp)) == {*fp.__all__, *WITH_EXTRAS, "__version__"}


def test_star_imports_all_names():
    names = {}
    exec("from fastpsr import *", names)
    assert {name for name in names if name != "__builtins__"} == set(fp.__all__)
    assert all(names[name] is getattr(fp, name) for name in fp.__all__)


def test_help_shows_all_names():
    shown = pydoc.plain(pydoc.render_doc(fp))
    functions = [name for name in fp.__all__ if inspect.isfunction(getattr(fp, name))]
    classes = [name for name in fp.__all__ if inspect.isclass(getattr(fp, name))]
    assert [name for name in functions if f"\n    {name}(" not in shown] == []
    assert [name for name in classes if f"\n    class {name}(" not in shown] == []


@pytest.mark.parametrize(
    "before",
    [
        "import fastpsr.bootstrap",
        "import fastpsr.bootstrap.bands",
        "import importlib; importlib.import_module('fastpsr.bootstrap')",
        "import fastpsr as fp; fp.evaluate",
    ],
)
def test_a_subpackage_does_not_hide_the_function_of_its_name(before):
    done = run(f"{before}; import fastpsr as fp; print(fp.bootstrap.__qualname__)")
    assert (done.stdout, done.stderr) == ("bootstrap\n", "")


def test_names_can_be_replaced(monkeypatch):
    with monkeypatch.context() as patched:
        for name in ("bootstrap", "EER", "metrics"):
            patched.setattr(fp, name, 1)
            assert getattr(fp, name) == 1
    assert inspect.isfunction(fp.bootstrap)
    assert inspect.ismodule(fp.metrics)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match=r"^module 'fastpsr' has no attribute 'evalute'$"):
        fp.evalute  # noqa: B018
    with pytest.raises(ImportError, match=r"^cannot import name 'evalute' from 'fastpsr'"):
        exec("from fastpsr import evalute")
    assert "Did you mean: 'evaluate'?" in run("import fastpsr as fp; fp.evalute").stderr


def test_objects_are_unpickled_before_anything_is_imported():
    made = pickle.dumps([fp.EER(), fp.bootstrap, fp.Predictions.from_llrs([0, 1], [0.0, 1.0])])
    done = run(f"import pickle; print(*map(type, pickle.loads({made!r})))")
    kinds = (fp.EER, type(fp.bootstrap), fp.Predictions)
    assert (done.stdout.strip(), done.stderr) == (" ".join(map(str, kinds)), "")


TOGETHER = """
import sys, threading
import fastpsr as fp
sys.setswitchinterval(1e-5)
names = dir(fp)
start = threading.Barrier(16)
wrong = []
def ask(first):
    start.wait()
    try:
        for name in names[first:] + names[:first]:
            getattr(fp, name)
    except BaseException as error:
        wrong.append(error)
threads = [threading.Thread(target=ask, args=(5 * k,)) for k in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(wrong)
"""


def test_threads_may_ask_at_the_same_time():
    done = run(TOGETHER)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_commands_are_listed_with_what_they_say_of_themselves():
    listed = {name: app.load(name).help.split("\n\n")[0] for name in app.COMMANDS}
    assert listed == app.COMMANDS
