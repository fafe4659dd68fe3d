"""The package as it is installed, kernels for all processes, no doctests of tests."""

import contextlib
import importlib
import pkgutil
import sys
from pathlib import Path

import pytest

import fastpsr
from fastpsr.kernels.compilation import compile_signature, listed

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
        for signature in listed():
            compile_signature(signature)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for no doctests in tests: pytest would skip a file that cannot be imported."""
    collectors = yield
    return [each for each in collectors if type(each) is pytest.Module]
