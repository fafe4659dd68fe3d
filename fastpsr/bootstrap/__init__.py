"""Bootstrap replicates, confidence intervals and bands, and paired comparisons.

`RESAMPLINGS` lists all resampling schemes; warm-up, fuzzing and tests iterate over it.
"""

from fastpsr.bootstrap.bands import Band, band
from fastpsr.bootstrap.bootstrap import bootstrap, compare
from fastpsr.bootstrap.clusters import Clusters, TwoWay
from fastpsr.bootstrap.intervals import Interval as Interval
from fastpsr.bootstrap.nested import Nested
from fastpsr.bootstrap.resampling import Resampling as Resampling
from fastpsr.bootstrap.result import BootstrapResult
from fastpsr.bootstrap.rows import IID, Stratified
from fastpsr.bootstrap.sample_size import SampleSize, sample_size

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
