"""The modules, for type checkers."""

from fastpsr.kernels import axis as axis
from fastpsr.kernels import buckets as buckets
from fastpsr.kernels import cells as cells
from fastpsr.kernels import checking as checking
from fastpsr.kernels import dealing as dealing
from fastpsr.kernels import decisions as decisions
from fastpsr.kernels import fitting as fitting
from fastpsr.kernels import isotonic as isotonic
from fastpsr.kernels import log_space as log_space
from fastpsr.kernels import logits as logits
from fastpsr.kernels import panels as panels
from fastpsr.kernels import reductions as reductions
from fastpsr.kernels import resampling as resampling
from fastpsr.kernels import side_by_side as side_by_side
from fastpsr.kernels import sorting as sorting
from fastpsr.kernels import sums as sums
