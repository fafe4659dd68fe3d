"""devPAV: the distance of LLRs from the LLRs after isotonic calibration."""

from dataclasses import dataclass

import numpy as np

from fastpsr import checks
from fastpsr.counts import count
from fastpsr.counts.ranks import pav_blocks
from fastpsr.counts.roc import require_both_classes
from fastpsr.counts.scores import HighestInSteps
from fastpsr.data import Data, Floats
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import LLRMetric


@dataclass(frozen=True, eq=False)
class _PavSteps:
    """Steps of a PAV fit: lowest and highest LLR of each step, and the LLR after PAV."""

    lowest: Floats
    highest: Floats
    mapped: Floats


@dataclass(frozen=True, eq=False)
class DevPAV(LLRMetric[_PavSteps]):
    """Mean distance of the PAV curve from the identity, on log10 axes.

    The curve joins the points (LLR, LLR after PAV) with straight lines; steps that PAV maps to
    minus or plus infinity are left out. The area between the curve and the identity is divided by
    the range of the remaining LLRs.

    Returns
    -------
    float
        In units of log10 LR; 0 for perfect calibration, inf if an infinite LLR is mapped to a
        finite one.

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, a class without samples, and if the scores separate the
        classes, so that all steps are mapped to infinity.

    References
    ----------
    P. Vergeer et al., "Measuring calibration of likelihood-ratio systems: a comparison of four
    metrics, including a new metric devPAV", Forensic Science International 321, 2021,
    doi:10.1016/j.forsciint.2021.110722.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.DevPAV()([0, 1, 0, 0, 1, 1, 0, 1], [-3.0, -2.0, -1.0, 0.0, 1.0, 1.5, 2.0, 3.0]), 4)
    0.2607
    """

    label = "devPAV"
    meaning = "mean change of the LLRs by PAV, in log10"
    binary_only = True
    value_range = (0.0, np.inf)

    def total(self, data: Data) -> _PavSteps:
        data.require_posteriors("distances between LLRs")
        checks.check_binary("devPAV", data.n_classes)
        require_both_classes("devPAV", data.class_weights)
        offset = 0.0  # LLR minus score
        if data.kind == "posteriors":
            if not data.priors.all():
                priors = data.priors.tolist()
                raise ArgumentError(
                    "priors", f"must be positive to turn posteriors into LLRs, not {priors}"
                )
            offset = float(np.log(data.priors[1]) - np.log(data.priors[0]))
        blocks = pav_blocks(data)
        highest = count(HighestInSteps(blocks.lowest[1:]).over(data))
        totals = data.class_weights
        frequencies = np.log(totals / totals.sum())
        odds = checks.log_of_rows(blocks.positives) - checks.log_of_rows(blocks.negatives)
        mapped = odds - (frequencies[1] - frequencies[0])
        return _PavSteps(blocks.lowest - offset, highest - offset, mapped)

    def finish(self, summary: _PavSteps) -> float:
        used = np.isfinite(summary.mapped)
        if not used.any():
            raise ValueError("devPAV needs scores that overlap: PAV maps every one to infinity")
        x = np.column_stack([summary.lowest[used], summary.highest[used]]).ravel() / np.log(10.0)
        y = np.repeat(summary.mapped[used], 2) / np.log(10.0)
        if not np.isfinite(x).all():
            return float("inf")
        if x[0] == x[-1]:
            return float(abs(x[0] - y[0]))
        gap = y - x
        before, after, width = np.abs(gap[:-1]), np.abs(gap[1:]), np.diff(x)
        both = before + after
        crossing = gap[:-1] * np.sign(gap[1:]) < 0.0
        share = np.divide(before, both, out=np.ones_like(both), where=crossing)
        # where the curve crosses the identity, (before^2 + after^2) / (2 both), without squares
        distance = 0.5 * np.where(share < 1.0, before * share + after * (1.0 - share), both)
        return float((distance * (width / (x[-1] - x[0]))).sum())
