"""Beta calibration: a map with a slope of its own on either side."""

from dataclasses import dataclass

import numpy as np

from fastpsr import kernels
from fastpsr.calibration.smooth import ScoreMap
from fastpsr.data import Floats

_TIE = 1e-14  # weight of (b - a)^2 / 2: decides b only where the data do not


@dataclass(frozen=True, eq=False)
class BetaCalibration(ScoreMap):
    """The map ``logit p = a log q - b log(1 - q) + c`` of least log loss, with a, b >= 0.

    Binary tasks only. The log-odds have the slope a far below 0 and b far above, so that scores of
    both classes may be over- or underconfident in their own way; with a = b it is
    direction-preserving calibration. It is the likelihood ratio of two Beta densities (Kull, Silva
    Filho and Flach, 2017, Equation 3).

    Parameters
    ----------
    floor : float
        Posteriors are clipped before fitting and transforming; see :class:`DirectionPreserving`.
    prior : float, optional
        P(class 1) at which the classes are weighed; see :class:`DirectionPreserving`.

    Attributes
    ----------
    parameters_ : ndarray of float64, shape (3,)
        a, b and c, at the training prior.
    prior_log_odds_ : float
        Log-odds of the training prior, for posteriors minus the log-odds of the priors of the data,
        which is 0 without a `prior`. They are added to scores before, and subtracted after the map.
    floor_ : float
        Value that replaced -inf in fitting.

    Raises
    ------
    ValueError
        From ``fit``: if a threshold separates the classes perfectly, so that there is no optimum;
        for constant scores; for a class without samples; for more than 2 classes, and for raw
        scores, which have no posteriors.

    Notes
    -----
    The problem is convex, and solved to a gradient below 1e-9 per sample. A posterior of 0 or 1 is
    mapped to the limit: itself, or a posterior in between if a = 0 or b = 0. Where posteriors do
    not tell a from b, since all are nearly 0 or nearly 1, both are equal.

    References
    ----------
    M. Kull, T. Silva Filho and P. Flach, "Beyond sigmoids: how to obtain well-calibrated
    probabilities from binary classifiers with beta calibration", Electronic Journal of Statistics
    11, 2017, doi:10.1214/17-EJS1338SI.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> log_odds = np.array([-2.0, -1.0, 1.0, -0.5, 2.0, 3.0])
    >>> data = fp.Predictions.from_logits([0, 0, 0, 1, 1, 1], log_odds)
    >>> fp.BetaCalibration().fit(data).parameters_.round(4).tolist()
    [0.6138, 1.1858, -0.876]
    """

    adds_prior_first = True
    needs_posteriors = True
    constant = "a = b = 0"

    def features(self, scores: Floats) -> Floats:
        softplus = kernels.log_space.softplus
        return np.stack([-softplus(-scores), softplus(scores)])

    def steepness(self, parameters: Floats) -> float:
        return max(float(parameters[:2].max()), 1.0)

    @property
    def lower(self) -> Floats:
        return np.array([0.0, 0.0, -np.inf])

    @property
    def penalty(self) -> Floats:
        return _TIE * np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
