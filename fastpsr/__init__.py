"""Evaluation of probabilistic classifiers by scoring rules, Bayes risks and calibration."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from fastpsr import interrupts as _interrupts  # noqa: F401  first: the rest takes a while

# isort: split
from fastpsr import bootstrap as _bootstrap
from fastpsr import calibration, curves, metrics, rules, simulate
from fastpsr.bootstrap import *  # noqa: F403  each subpackage defines __all__
from fastpsr.calibration import *  # noqa: F403
from fastpsr.costs import CostMatrix, bayes_decisions, expected_cost
from fastpsr.curves import *  # noqa: F403
from fastpsr.dask import from_dask
from fastpsr.errors import ArgumentError, SuspicionWarning
from fastpsr.evaluation import (
    Decomposition,
    Evaluation,
    Selection,
    SharedTargets,
    decompose,
    evaluate,
    select,
)
from fastpsr.metrics import *  # noqa: F403
from fastpsr.parallel import threads
from fastpsr.plans import PartitionedPredictions, from_parts
from fastpsr.plans.parquet import scan_parquet
from fastpsr.predictions import Predictions
from fastpsr.tables import read_table
from fastpsr.version import __version__ as __version__

if _TYPE_CHECKING:
    from fastpsr import plotting as plotting  # not in __all__: needs an extra
    from fastpsr import trials

__all__ = [
    "ArgumentError",
    "CostMatrix",
    "Decomposition",
    "Evaluation",
    "PartitionedPredictions",
    "Predictions",
    "Selection",
    "SharedTargets",
    "SuspicionWarning",
    "bayes_decisions",
    "calibration",
    "curves",
    "decompose",
    "evaluate",
    "expected_cost",
    "from_dask",
    "from_parts",
    "metrics",
    "read_table",
    "rules",
    "scan_parquet",
    "select",
    "simulate",
    "threads",
    "trials",
]
#: Subpackages that are imported on first use, some of which need extras.
_ON_FIRST_USE = ("compat", "plotting", "trials")
__all__ += metrics.__all__
__all__ += curves.__all__
__all__ += calibration.__all__
__all__ += _bootstrap.__all__


def __dir__() -> list[str]:
    return sorted({*__all__, *_ON_FIRST_USE, "__version__"})


def __getattr__(name: str) -> _Any:
    if name in _ON_FIRST_USE:
        import importlib

        return importlib.import_module(f"fastpsr.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
