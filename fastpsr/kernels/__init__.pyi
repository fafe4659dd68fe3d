"""Types of the kernels, written by ``python -m tools.exports``."""

from fastpsr.kernels.axis import *  # noqa: F403
from fastpsr.kernels.binning import *  # noqa: F403
from fastpsr.kernels.buckets import *  # noqa: F403
from fastpsr.kernels.cells import *  # noqa: F403
from fastpsr.kernels.checking import *  # noqa: F403
from fastpsr.kernels.checksums import *  # noqa: F403
from fastpsr.kernels.dealing import *  # noqa: F403
from fastpsr.kernels.decisions import *  # noqa: F403
from fastpsr.kernels.exact import *  # noqa: F403
from fastpsr.kernels.fitting import *  # noqa: F403
from fastpsr.kernels.grid import *  # noqa: F403
from fastpsr.kernels.grouping import *  # noqa: F403
from fastpsr.kernels.inductive import *  # noqa: F403
from fastpsr.kernels.isotonic import *  # noqa: F403
from fastpsr.kernels.linear import *  # noqa: F403
from fastpsr.kernels.log_space import *  # noqa: F403
from fastpsr.kernels.logits import *  # noqa: F403
from fastpsr.kernels.ordering import *  # noqa: F403
from fastpsr.kernels.panels import *  # noqa: F403
from fastpsr.kernels.resampling import *  # noqa: F403
from fastpsr.kernels.side_by_side import *  # noqa: F403
from fastpsr.kernels.softmax_fits import *  # noqa: F403
from fastpsr.kernels.sums import *  # noqa: F403
