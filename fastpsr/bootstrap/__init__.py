"""Replicates, confidence intervals, and paired comparison."""

from fastpsr.bootstrap.bootstrap import bootstrap, compare
from fastpsr.bootstrap.intervals import Interval
from fastpsr.bootstrap.resampling import (
    IID,
    RESAMPLINGS,
    Clusters,
    Resampling,
    Stratified,
    TwoWay,
)
from fastpsr.bootstrap.result import BootstrapResult

__all__ = [
    "IID",
    "RESAMPLINGS",
    "BootstrapResult",
    "Clusters",
    "Interval",
    "Resampling",
    "Stratified",
    "TwoWay",
    "bootstrap",
    "compare",
]
