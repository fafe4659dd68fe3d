"""Write what is exported: names of ``fastpsr``, with their modules.

``python -m tools.exports`` writes `__init__.pyi`, by which the package finds the module of a name
without importing it, and type checkers and editors find types; and `exports.py`, which has the
names that the help of commands lists.
"""

import importlib
from itertools import chain
from pathlib import Path

import fastpsr
from fastpsr import calibration, metrics, trials
from fastpsr.calibration import stacks

PACKAGE = Path(fastpsr.__file__).parent
_HEAD = '"""{}, written by ``python -m tools.exports``."""\n\n'
#: Modules of which everything in ``__all__`` is a name of the package, or only what is listed.
_PUBLIC = {
    "bootstrap": ...,
    "calibration": ...,
    "costs": ...,
    "curves": ...,
    "dask": ...,
    "data": ["PartitionedPredictions", "from_parts"],
    "data.groupings": ["SharedTargets"],
    "data.parquet": ["scan_parquet"],
    "data.predictions": ["Predictions"],
    "errors": ["ArgumentError", "SuspicionWarning"],
    "evaluation": [
        "Decomposition", "Evaluation", "Selection", "decompose", "evaluate",
        "evaluate_fusion", "select",
    ],
    "metrics": ...,
    "parallel": ...,
    "tables": ["read_table"],
}  # fmt: skip
_SUBPACKAGES = ["calibration", "curves", "metrics", "rules", "simulate", "trials"]
#: Subpackages that ``from fastpsr import *`` leaves out: some need what is not installed.
_WITH_EXTRAS = ["compat", "plotting"]
#: Names of what commands take, which their help lists, by the name of that in the library.
_CHOICES = {
    "CALIBRATORS": calibration.NAMED,
    "FORMATS": trials.FORMATS,
    "PRESETS": metrics.PRESETS,
    "QUALITY_TERMS": stacks.TERMS,
}


def names() -> dict[str, list[str]]:
    """Return the public names by module, in the order of ruff."""
    return {module: sorted(_listed_by(module), key=_as_imported) for module in _PUBLIC}


def of_package() -> dict[Path, str]:
    """Return the content of both files."""
    listed = names()
    public = sorted([*chain.from_iterable(listed.values()), *_SUBPACKAGES], key=_in_order)
    return {
        PACKAGE / "exports.py": _HEAD.format("Public subpackages, and choices")
        + f"SUBPACKAGES = {_lines(_SUBPACKAGES, '()')}"
        + f"WITH_EXTRAS = {_lines(_WITH_EXTRAS, '()')}"
        + "".join(f"{name} = {_lines([*each], '()')}" for name, each in _CHOICES.items()),
        PACKAGE / "__init__.pyi": _HEAD.format("Types of the public names")
        + f"from fastpsr import {_lines(_SUBPACKAGES, '()', quote='')}"
        + "".join(f"from fastpsr import {name} as {name}\n" for name in _WITH_EXTRAS)
        + "".join(
            f"from fastpsr.{module} import {_lines(listed[module], '()', quote='')}"
            for module in listed
        )
        + "from fastpsr.version import __version__ as __version__\n\n"
        + f"__all__ = {_lines(public, '[]')}",
    }


def _listed_by(module: str) -> list[str]:
    listed = _PUBLIC[module]
    return importlib.import_module(f"fastpsr.{module}").__all__ if listed is ... else listed


def _in_order(name: str) -> tuple[bool, bool, str]:
    """Sort as ruff does: constants, classes, functions."""
    return not name.isupper(), not name[0].isupper(), name


def _as_imported(name: str) -> tuple[bool, bool, str]:
    """Sort as ruff does in imports, where small and capital letters are alike."""
    return *_in_order(name)[:2], name.lower()


def _lines(entries: list[str], brackets: str, quote: str = '"') -> str:
    """Return entries in brackets, a line each."""
    lines = [f"    {quote}{name}{quote},\n" for name in entries]
    return f"{brackets[0]}\n{''.join(lines)}{brackets[1]}\n"


if __name__ == "__main__":
    for path, text in of_package().items():
        path.write_text(text, "utf-8")
