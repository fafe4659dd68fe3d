"""Load the package that is installed: doctests, found by their paths, would load another copy."""

import contextlib
import importlib
import pkgutil

import fastpsr

for module in pkgutil.walk_packages(fastpsr.__path__, "fastpsr."):
    with contextlib.suppress(ImportError):  # of what is optional
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
