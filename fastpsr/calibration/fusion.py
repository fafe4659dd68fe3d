"""Linear fusion: one score from those of several systems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from fastpsr import checks
from fastpsr.calibration.fittable import Fittable, require_fitted
from fastpsr.calibration.folds import Folds, OneFold
from fastpsr.calibration.fusion_fits import Fusions, Stack, fit_fusions
from fastpsr.errors import ArgumentError, warn
from fastpsr.plans import Part
from fastpsr.predictions import Floats, Predictions

__all__ = ["LinearFusion", "Systems"]

#: Predictions of the same samples by several systems.
Systems = Mapping[str, Predictions] | Sequence[Predictions]


@dataclass(frozen=True, eq=False)
class LinearFusion(Fittable):
    """Weighted sum of the scores of several systems, which is a log-likelihood ratio.

    For two classes ``z = sum_s weights_s x_s + bias``, by logistic regression: the weights and the
    bias minimize ``prior mean_tar log(1 + exp(-z - o)) + (1 - prior) mean_non log(1 + exp(z + o))``
    with ``o = logit(prior)``. For more classes there is a weight for each system and a bias for
    each class, and classes count alike.

    Parameters
    ----------
    prior : float
        P(class 1) at which the classes are weighed, above 0 and below 1; of two classes only.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (S,)
        What each system is multiplied by.
    bias_ : ndarray of float64, shape (K,)
        What is added to the log-likelihood of each class; sums to 0. The LLR of two classes has
        the difference.
    rank_ : int
        How many systems are not linear functions of others on the training data.
    systems_ : tuple of str
        Names of the systems; empty where they had none.

    Raises
    ------
    ArgumentError
        From ``fit``: for systems that are not of the same samples, labels and weights; infinite
        scores; posteriors; a class without samples; systems that are constant, or together
        separate the classes.

    Warns
    -----
    RuntimeWarning
        For negative weights: higher scores of that system then count against class 1.

    Notes
    -----
    Systems that are linear functions of others share weights as the least sum of squares has them,
    in units of each system's standard deviation, classes counting alike: other choices give the
    same scores. Samples of weight 0 are ignored.

    References
    ----------
    S. Pigeon, P. Druyts and P. Verlinde, "Applying logistic regression to the fusion of the
    NIST'99 1-speaker submissions", Digital Signal Processing 10 (2000), doi:10.1006/dspr.1999.0358;
    N. Brummer et al., "Fusion of heterogeneous speaker recognition systems in the STBU submission
    for the NIST SRE 2006", IEEE TASLP 15 (2007), doi:10.1109/TASL.2007.902870, for several classes.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(4000) < 0.3).astype(int)
    >>> one, other = (
    ...     fp.Predictions.from_raw_scores(y, y + rng.normal(size=y.size)) for _ in range(2))
    >>> fusion = fp.LinearFusion().fit([one, other])
    >>> fusion.weights_.round(2).tolist()
    [0.92, 0.9]
    >>> for systems in ([one], [one, other]):
    ...     print(round(fp.Cllr()(fp.cross_fit(fp.LinearFusion(), systems)), 3))
    0.856
    0.744
    """

    prior: float = 0.5
    weights_: Floats = field(init=False, repr=False)
    bias_: Floats = field(init=False, repr=False)
    rank_: int = field(init=False, repr=False)
    systems_: tuple[str, ...] = field(init=False, repr=False)

    fitted_names = ("weights_", "bias_", "rank_", "systems_")
    fitted_texts = ("systems_",)

    def __post_init__(self) -> None:
        rule = "lie strictly between 0 and 1"
        prior = checks.check_number("prior", self.prior, 5e-324, 1.0 - 2.0**-53, rule)
        object.__setattr__(self, "prior", prior)

    def fit(self, systems: Systems) -> Self:
        """Return a copy fitted to labeled predictions of several systems.

        Parameters
        ----------
        systems : dict of name to Predictions, or list of Predictions
            LLRs, log-likelihoods or raw scores of the same samples in the same order.
        """
        names, stack = self._stacked(systems)
        fits = fit_fusions(stack, OneFold(), self.prior)
        negative = [self._named(names, s) for s, w in enumerate(fits.weights[0]) if w < 0.0]
        if negative:
            warn(
                f"weights of {', '.join(negative)} are negative: "
                "higher scores then count against the class",
                kind="weights",
            )
        attributes = {
            "weights_": fits.weights[0],
            "bias_": fits.bias[0],
            "rank_": fits.rank,
            "systems_": names,
        }
        return self.with_fitted("likelihoods", attributes)

    def transform(self, systems: Systems) -> Predictions:
        """Return the fused LLRs or log-likelihoods; labels are not needed.

        Parameters
        ----------
        systems : dict of name to Predictions, or list of Predictions
            The systems of the fit, by name if they had names then, else in the same order.
        """
        if not hasattr(self, "domain_"):
            raise ValueError(f"{self.name} must be fitted before it transforms")
        names, given = _by_name(systems, self.systems_)
        if len(given) != self.weights_.size:
            rule = f"must be {self.weights_.size}, as those of the fit, not {len(given)}"
            raise ArgumentError("systems", rule)
        stack = Stack.of(names, given, labeled=False)
        if stack.n_classes != self.bias_.size:
            rule = f"must have {self.bias_.size} classes, as in the fit, not {stack.n_classes}"
            raise ArgumentError("systems", rule)
        fits = Fusions(self.weights_[None], self.bias_[None], self.rank_)
        return given[0].replace_scores("likelihoods", fits.fuse(stack, None))

    def cross_fitted(
        self, systems: Systems, folds_of: Callable[[Predictions], Folds]
    ) -> Predictions:
        """Return scores of each sample by a fusion that other folds train."""
        _, stack = self._stacked(systems)
        first = stack.systems[0]
        folds = folds_of(first)
        fits = fit_fusions(stack, folds, self.prior)
        fused = fits.fuse(stack, folds.calibrator_of_rows(Part.whole(first)))
        return first.replace_scores("likelihoods", fused)

    def check_fitted(self) -> None:
        weights, bias = np.asarray(self.weights_), np.asarray(self.bias_)
        require_fitted("weights_", weights.ndim == 1 and np.isfinite(weights).all())
        require_fitted("bias_", bias.ndim == 1 and bias.size > 1 and np.isfinite(bias).all())
        require_fitted("rank_", self.rank_ in range(1, weights.size + 1))
        require_fitted("systems_", len(self.systems_) in (0, weights.size))

    def _stacked(self, systems: Systems) -> tuple[tuple[str, ...], Stack]:
        names, given = _by_name(systems)
        stack = Stack.of(names, given)
        if stack.n_classes > 2 and self.prior != 0.5:
            rule = f"is of two classes; these are {stack.n_classes}, which count alike"
            raise ArgumentError("prior", rule, remedy="leave it out")
        return names, stack

    @staticmethod
    def _named(names: Sequence[str], place: int) -> str:
        return names[place] if names else f"system {place}"


def _by_name(systems: Any, fitted: Sequence[str] = ()) -> tuple[tuple[str, ...], list[Predictions]]:
    """Return names, if there are any, and the systems, in the order of the fit."""
    if isinstance(systems, Mapping):
        names = tuple(fitted) or tuple(map(str, systems))
        missing = [name for name in names if name not in systems]
        if missing or len(systems) > len(names):
            rule = f"must be {', '.join(names)}, as those of the fit, not {', '.join(systems)}"
            raise ArgumentError("systems", rule)
        return names, [systems[name] for name in names]
    if isinstance(systems, Predictions) or not isinstance(systems, Sequence):
        rule = f"must be a list of predictions, or a dict by name, not {systems!r}"
        raise ArgumentError("systems", rule)
    return tuple(fitted), list(systems)
