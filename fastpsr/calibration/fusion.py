"""Linear fusion: one score from the scores of several systems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from fastpsr import checks
from fastpsr.calibration.base import Fittable, require_fitted
from fastpsr.calibration.folds import Folds, one_fold
from fastpsr.calibration.fusion_fits import Fusions, fit_fusions
from fastpsr.calibration.stacks import TERMS, Quality, Stack, check_differ
from fastpsr.counts import one_call
from fastpsr.data import Data, Floats, Kind, Part, PartitionedPredictions, Predictions
from fastpsr.data.reading import Reading, Rows
from fastpsr.data.sources import Source
from fastpsr.errors import ArgumentError, warn

#: Predictions of the same samples by several systems, and quality measures of these samples.
Systems = (
    Mapping[str, Data]
    | Mapping[str, Predictions | Quality]
    | Mapping[str, PartitionedPredictions | Quality]
    | Sequence[Data | Quality]
)


@dataclass(frozen=True, eq=False)
class LinearFusion(Fittable):
    """Log-likelihood ratio as a weighted sum of the scores of several systems.

    For two classes ``z = sum_s weights_s x_s + bias``, by logistic regression: the weights and the
    bias minimize ``prior mean_tar log(1 + exp(-z - o)) + (1 - prior) mean_non log(1 + exp(z + o))``
    with ``o = logit(prior)``. For more classes there is a weight for each system and a bias for
    each class, and classes count alike.

    Parameters
    ----------
    prior : float
        P(class 1) at which the classes are weighed, at least 1e-300 and below 1; for two classes.
    quality : {"min,max", "bilinear", "scale"}
        Columns that each quality measure q of two recordings makes: the smaller and the larger of
        both; their product and sum; or as the first, and these times the scores of each system.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (D,)
        Weight of each column: scores of systems, then columns of quality measures.
    bias_ : ndarray of float64, shape (K,)
        Added to the log-likelihood of each class; sums to 0. The LLR of two classes has
        the difference.
    rank_ : int
        How many columns are not linear functions of others on the training data.
    columns_ : tuple of str
        Names of the columns, such as "ecapa" and "min(duration)".
    systems_ : tuple of str
        Names of systems and measures; of a list, their places.

    Raises
    ------
    ArgumentError
        From ``fit``: for systems that are not of the same samples, labels and weights; infinite
        scores or measures; posteriors; a class without samples; systems that are constant, or
        together separate the classes; measures for more than two classes; parts that exceed
        ``FASTPSR_MEMORY``, whose rows a fit needs in memory.

    Warns
    -----
    RuntimeWarning
        For negative weights: higher scores of that system then count against class 1.

    Notes
    -----
    Systems that are linear functions of others share weights as the least sum of squares has them,
    in units of each system's standard deviation, classes counting alike: other choices give the
    same scores. In cross-fitting all samples decide what is such a function. Samples of weight 0
    are ignored.

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
    quality: str = "min,max"
    weights_: Floats = field(init=False, repr=False)
    bias_: Floats = field(init=False, repr=False)
    rank_: int = field(init=False, repr=False)
    columns_: tuple[str, ...] = field(init=False, repr=False)
    systems_: tuple[str, ...] = field(init=False, repr=False)

    fitted_names = ("weights_", "bias_", "rank_", "columns_", "systems_")
    fitted_texts = ("columns_", "systems_")

    def __post_init__(self) -> None:
        rule = "lie strictly between 0 and 1"
        prior = checks.check_number("prior", self.prior, 1e-300, 1.0 - 2.0**-53, rule)
        object.__setattr__(self, "prior", prior)
        checks.check_choice("quality", self.quality, TERMS)

    def fit(self, systems: Systems) -> Self:
        """Return a copy fitted to labeled predictions of several systems.

        Parameters
        ----------
        systems : dict of name to Predictions or Quality, or list of these
            LLRs, log-likelihoods or raw scores of the same samples in the same order, in memory or
            in the same parts, and quality measures of these samples.
        """
        inputs, stack = self._stacked(systems)
        with one_call():
            stack.begin()
            fits = fit_fusions(stack, one_fold(), self.prior).fusions
        weights = dict(zip(stack.names, fits.weights[0], strict=True))
        negative = [name for name in map(str, inputs) if weights.get(name, 0.0) < 0.0]
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
            "columns_": stack.names,
            "systems_": tuple(map(str, inputs)),
            "class_names_": stack.first.class_names,
        }
        return self.with_fitted("likelihoods", attributes)

    def transform(self, systems: Systems) -> Any:
        """Return the fused LLRs or log-likelihoods; labels are not needed in memory.

        Systems in parts are fused when they are read.

        Parameters
        ----------
        systems : dict of name to Predictions or Quality, or list of these
            As in the fit: by name, or in the same order.
        """
        self.require_fit()
        inputs = {str(name): system for name, system in systems_by_name(systems).items()}
        if not isinstance(systems, Mapping) and len(inputs) == len(self.systems_):
            inputs = dict(zip(self.systems_, inputs.values(), strict=True))
        if {*inputs} != {*self.systems_}:
            rule = f"must be {', '.join(self.systems_)}, as in the fit, not {', '.join(inputs)}"
            raise ArgumentError("systems", rule)
        stack = Stack.of(
            {name: inputs[name] for name in self.systems_}, self.quality, labeled=False
        )
        if stack.n_classes != self.bias_.size:
            rule = f"must have {self.bias_.size} classes, as in the fit, not {stack.n_classes}"
            raise ArgumentError("systems", rule)
        self.require_same_classes("systems", stack.first)
        if stack.names != self.columns_:
            rule = f"must make the columns {', '.join(self.columns_)}, not {', '.join(stack.names)}"
            raise ArgumentError("systems", rule)
        fits = Fusions(self.weights_[None], self.bias_[None], self.rank_)
        return fused_data(stack, fits, None)

    def cross_fitted(
        self,
        systems: Systems,
        folds_of: Callable[[Data], Folds],
        *,
        refits: bool = False,
    ) -> Any:
        """Return scores of each sample by a fusion that other folds train.

        With `refits`, in memory, they are those of fusions fitted again where samples are weighed
        differently, as in replicates.
        """
        _, stack = self._stacked(systems)
        with one_call():
            stack.begin()
            folds = folds_of(stack.first)
            fits = fit_fusions(stack, folds, self.prior)
        fused = fused_data(stack, fits.fusions, folds)
        if not refits or stack.held is None:
            return fused
        columns: Any = stack.held
        if stack.n_classes == 2:  # side by side, once for all replicates
            columns = np.asarray(columns, np.float64)
        of_row = folds.calibrator_of_rows(Part.whole(stack.first))
        fusions_of: dict[bytes, Fusions] = {}

        def refit(weights: Floats) -> Floats:
            # a row of a table and its differences have the same replicates
            key = blake2b(np.ascontiguousarray(weights).data, digest_size=16).digest()
            if key not in fusions_of:
                fusions_of[key] = fits.at_weights(weights)
            return fusions_of[key].fuse(columns, of_row)

        return fused.compact(refit=refit)

    def samples_of(self, systems: Systems) -> Any:
        """Return the first system; raise unless all systems have its samples."""
        return Stack.of(systems_by_name(systems), self.quality, labeled=False).first

    def check_fitted(self) -> None:
        weights, bias = np.asarray(self.weights_), np.asarray(self.bias_)
        require_fitted("weights_", weights.ndim == 1 and np.isfinite(weights).all())
        require_fitted("bias_", bias.ndim == 1 and bias.size > 1 and np.isfinite(bias).all())
        is_number = np.ndim(self.rank_) == 0
        require_fitted("rank_", is_number and self.rank_ in range(1, weights.size + 1))
        object.__setattr__(self, "rank_", int(self.rank_))  # files have numbers of one type
        require_fitted("columns_", len(self.columns_) == weights.size)
        require_fitted("systems_", 0 < len(self.systems_) <= weights.size)

    def _stacked(self, systems: Systems) -> tuple[dict[Any, Data | Quality], Stack]:
        inputs = systems_by_name(systems)
        stack = Stack.of(inputs, self.quality)
        if stack.n_classes > 2 and self.prior != 0.5:
            rule = f"is of two classes; these are {stack.n_classes}, which count alike"
            raise ArgumentError("prior", rule, remedy="leave it out for several classes")
        return inputs, stack


def systems_by_name(systems: Any) -> dict[Any, Data | Quality]:
    """Return systems and measures by name, or by their place in a list."""
    if isinstance(systems, Mapping):
        check_differ([*map(str, systems)])
        return {**systems}
    is_one = isinstance(systems, Predictions | PartitionedPredictions)
    if is_one or not isinstance(systems, Sequence):
        rule = f"must be a list of predictions, or a dict by name, not {systems!r}"
        raise ArgumentError("systems", rule)
    return dict(enumerate(systems))


def fused_data(stack: Stack, fusions: Fusions, folds: Folds | None) -> Any:
    """Return the fused scores of all samples; with folds, each by the fusion that serves it."""
    if stack.held is None:
        return PartitionedPredictions(_FusedParts(stack, fusions, folds)).as_known(stack.first)
    fusion_of_row = None if folds is None else folds.calibrator_of_rows(Part.whole(stack.first))
    return stack.first.replace_scores("likelihoods", fusions.fuse(stack.held, fusion_of_row))


class _FusedParts(Source):
    """Parts of several systems, read together."""

    kind: Kind = "likelihoods"

    def __init__(self, stack: Stack, fusions: Fusions, folds: Folds | None) -> None:
        first = stack.first
        self._stack, self._fusions, self._folds = stack, fusions, folds
        self.n_classes, self.given_priors = first.n_classes, first.given_priors
        self.n_parts, self.columns = first.n_parts, first.source.columns
        self.hint_if_changed = first.source.hint_if_changed
        self.n_rows = first.source.n_rows

    def name_of(self, number: int) -> str:
        return str(self._stack.first.source.name_of(number))

    def name_of_row(self, number: int, row: int) -> str:
        return str(self._stack.first.source.name_of_row(number, row))

    def wanted(self, reads: frozenset[str]) -> frozenset[str]:
        if "scores" not in reads:
            return reads
        reads |= self._stack.reads
        return reads if self._folds is None else reads | self._folds.reads

    def load(self, number: int, wanted: frozenset[str]) -> Any:
        data = self._stack.data if "scores" in wanted else self._stack.data[:1]
        reading = Reading([Rows(wanted).over(*data)])
        raws = reading.parts(number, reading.load(number))
        return [system.part(raws[id(system.source)], {}) for system in data]

    def build(self, loaded: Any, reads: frozenset[str]) -> Predictions:
        first = loaded[0]
        predictions: Predictions = first.predictions
        if len(loaded) < len(self._stack.data):  # labels alone
            return predictions.replace_scores("likelihoods", predictions.scores)
        of_row = None if self._folds is None else self._folds.calibrator_of_rows(first)
        fused = self._fusions.fuse(self._stack.columns(loaded), of_row)
        return predictions.replace_scores("likelihoods", fused)
