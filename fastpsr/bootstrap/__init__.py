"""Bootstrap replicates, confidence intervals and bands, and paired comparisons.

`RESAMPLINGS` lists all resampling schemes; warm-up, fuzzing and tests iterate over it.
"""

from fastpsr.bootstrap.bands import Band, band
from fastpsr.bootstrap.bootstrap import bootstrap, compare
from fastpsr.bootstrap.intervals import Interval as Interval
from fastpsr.bootstrap.results import BootstrapResult
from fastpsr.bootstrap.sample_size import SampleSize, sample_size
from fastpsr.bootstrap.schemes import IID, Clusters, Nested, Stratified, TwoWay
from fastpsr.bootstrap.schemes import Resampling as Resampling

RESAMPLINGS: tuple[type[Resampling], ...] = (IID, Stratified, Clusters, Nested, TwoWay)

__all__ = [
    "IID",
    "Band",
    "BootstrapResult",
    "Clusters",
    "Nested",
    "SampleSize",
    "Stratified",
    "TwoWay",
    "band",
    "bootstrap",
    "compare",
    "sample_size",
]
