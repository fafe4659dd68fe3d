"""Evaluation of probabilistic classifiers by scoring rules, Bayes risks and calibration."""

# The module of a name is imported when the name is first asked for: see `__getattr__`. The stub
# `__init__.pyi` says which it is.

import importlib
import sys
from threading import RLock
from types import ModuleType
from typing import Any

from fastpsr.exports import SUBPACKAGES, WITH_EXTRAS
from fastpsr.version import __version__ as __version__


def _modules() -> dict[str, str]:
    """Return the module of each public name, from which the stub imports it."""
    modules, module = {}, ""
    with open(__file__.removesuffix("c") + "i", encoding="utf-8") as stub:
        for line in stub.read().splitlines():
            if not line.startswith(" "):
                is_import = line.startswith("from fastpsr.") and line.endswith("(")
                module = line.split()[1].removeprefix("fastpsr.") if is_import else ""
            elif module:
                modules[line.strip(" ,")] = module
    return modules


#: Module of each public name.
MODULE_OF = _modules()

__all__ = [*MODULE_OF, *SUBPACKAGES]

_one_at_a_time = RLock()  # two threads that import modules of each other's packages may fail


def __dir__() -> list[str]:
    return sorted({*__all__, *WITH_EXTRAS, "__version__"})


def __getattr__(name: str) -> Any:
    if name in WITH_EXTRAS:  # which ask for names themselves, so they are not imported in the lock
        __getattr__("evaluate")  # what they stand on
        return importlib.import_module(f"{__name__}.{name}")
    if name not in MODULE_OF and name not in SUBPACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _one_at_a_time:
        module = importlib.import_module(f"{__name__}.{MODULE_OF.get(name, name)}")
    globals()[name] = value = getattr(module, name) if name in MODULE_OF else module
    return value


class _Package(ModuleType):
    """The package, in which the function `bootstrap` is not hidden by the subpackage `bootstrap`.

    Importing a subpackage sets it as an attribute of the package.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in MODULE_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
