"""The package as it is installed, kernels for all processes, which cases of a test are quick."""

import contextlib
import importlib
import pkgutil
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import fastpsr
from fastpsr.cli.compiling import compile_all
from fastpsr.kernels.signatures import listed

sys.path.append(str(Path(__file__).parents[1]))  # for tools; the package may be installed elsewhere

# doctests, found by their paths, would load another copy
for module in pkgutil.walk_packages(fastpsr.__path__, "fastpsr."):
    with contextlib.suppress(ImportError):  # of what is optional
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def pytest_sessionstart(session):
    """Fill the cache before processes that run all tests would each compile the same kernels."""
    config = session.config
    if getattr(config.option, "numprocesses", None) and "tests" in config.args:
        for _ in compile_all(listed()):
            pass


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for no doctests in tests: pytest would skip a file that cannot be imported."""
    collectors = yield
    return [each for each in collectors if type(each) is pytest.Module]


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem():
    """Of the cases of a test that is marked ``in_turn(n)``, one of n is quick, the others slow.

    It is chosen by the sum of the places of its values: all values of a list are there if another
    list has n, and all pairs of values of two lists if a third has.
    """
    found = yield
    mark = found[0].get_closest_marker("in_turn") if isinstance(found, list) and found else None
    if mark is not None:
        places = defaultdict(dict)  # in each list, of its values
        for case in found:
            if sum(_places_of(case, places)) % mark.args[0]:
                case.add_marker(pytest.mark.slow)
    return found


def _places_of(case, places):
    for mark in case.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        values = tuple(id(case.callspec.params[name]) for name in names)
        yield places[tuple(names)].setdefault(values, len(places[tuple(names)]))
