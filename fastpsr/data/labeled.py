"""Labels, weights, priors and scores of samples, and conversions between kinds of scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.caching import Remembering, cached_property
from fastpsr.data.columns import NO_COLUMNS, Columns, check_column
from fastpsr.data.logits import Logits
from fastpsr.errors import ArgumentError
from fastpsr.frames import RowOrder
from fastpsr.ids import as_ids
from fastpsr.kernels.types import index_type
from fastpsr.results import in_short, table

Floats = NDArray[np.float64]
Kind = Literal["posteriors", "likelihoods", "raw scores"]
ScoreKind = Literal[
    "posteriors", "log-posteriors", "logits", "likelihoods", "log-likelihoods", "llrs",
    "log10 llrs", "raw scores",
]  # fmt: skip
#: Kinds of scores, and the kind of the predictions made of them.
KINDS: dict[ScoreKind, Kind] = {
    "posteriors": "posteriors", "log-posteriors": "posteriors", "logits": "posteriors",
    "likelihoods": "likelihoods", "log-likelihoods": "likelihoods", "llrs": "likelihoods",
    "log10 llrs": "likelihoods", "raw scores": "raw scores",
}  # fmt: skip
Scale = Literal["llr", "log10-llr", "posteriors", "raw", "cosine"]
#: Names of scores of trials, and their kind for :meth:`fastpsr.Predictions.of`.
KINDS_OF_SCALES: dict[str, ScoreKind] = {
    "llr": "llrs", "log10-llr": "log10 llrs", "posteriors": "posteriors", "raw": "raw scores",
    "cosine": "raw scores",
}  # fmt: skip

_FEW_CODES = 8  # which comparisons count faster than NumPy does
_ROWS_TO_COUNT = 1 << 16  # at once; NumPy makes int64 of them
_FINITE = float(np.finfo(np.float64).max)


class LabeledData(Remembering, ABC):
    """Classes, their weights and priors, and the kind of the scores."""

    kind: Kind
    n_classes: int
    given_priors: Floats | None  #: The priors passed by the caller, or None.
    class_names: tuple[str, ...] | None = None  #: Labels of the classes, if the caller named them.
    #: Returns the scores at other weights (N,), where these depend on them.
    refit: Callable[[Floats], Floats] | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def class_weights(self) -> Floats:
        """Total sample weight of each class, shape (K,)."""

    @property
    @abstractmethod
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of samples of positive weight of each class, shape (K,)."""

    @property
    @abstractmethod
    def has_weights(self) -> bool:
        """Whether samples may have different weights."""

    @property
    @abstractmethod
    def common_weight(self) -> float | None:
        """Weight of all samples of positive weight; None if these have different weights."""

    @abstractmethod
    def check_column(self, argument: str, name: str) -> None:
        """Raise unless the data have a column of this name, or only reading can tell."""

    @property
    def priors(self) -> Floats:
        """Class priors of the evaluation, shape (K,); by default the class frequencies."""
        if self.given_priors is not None:
            return self.given_priors
        weights = self._weights_of_whole
        total = weights.sum()
        if total == 0.0:
            raise ArgumentError("priors", "must be given: no sample has positive weight")
        return np.asarray(weights / total)

    @property
    def _weights_of_whole(self) -> Floats:
        """Class weights that are the frequencies."""
        return self.class_weights

    @property
    def has_fixed_llrs(self) -> bool:
        """Whether LLRs are independent of weights; LLRs of posteriors depend on frequencies."""
        return self.kind == "likelihoods" or self.given_priors is not None

    @property
    def log_odds_offset(self) -> float:
        """Log-odds minus scores in a binary task; 0 for posteriors."""
        if self.kind != "likelihoods":
            return 0.0
        return log_prior_ratio(self, self._fix_posterior_priors())

    @property
    def drawn_from(self) -> Self:
        """The data that these reweight as a replicate; themselves if they are no replicate."""
        return self

    def _fix_posterior_priors(self) -> Floats:
        """Return the priors that turn likelihoods into posteriors, (K,), from now on the same."""
        return self.priors

    @abstractmethod
    def _shown(self) -> list[tuple[str, object]]:
        """Return further rows, name and value, for the display in notebooks."""

    def _repr_html_(self) -> str:
        priors = "class frequencies"
        if self.given_priors is not None:
            priors = in_short(self.given_priors)
        rows = [("kind", self.kind), ("classes", self.n_classes), ("priors", priors)]
        return table(type(self).__name__, ("attribute", "value"), [*rows, *self._shown()])

    def class_label(self, class_: int) -> str:
        """Return the label of a class, or "class 1"."""
        return f"class {class_}" if self.class_names is None else self.class_names[class_]

    def class_name(self, class_: int) -> str:
        """Return a class in words, by its label or its number."""
        label = class_ if self.class_names is None else repr(self.class_names[class_])
        return f"class {label}"

    def require_samples(self) -> None:
        """Raise if no sample has positive weight."""
        if not self.class_sizes.any():
            raise ArgumentError("predictions", "must have a sample of positive weight")

    def require_rows(self) -> None:
        """Raise if rows do not exist yet and cannot be counted."""
        return

    def require_posteriors(self, what: str) -> None:
        """Raise if the data are raw scores."""
        if self.kind == "raw scores":
            raise ArgumentError(
                "predictions",
                f"must be posteriors or likelihoods for {what}, not raw scores, which only rank "
                "samples",
                remedy="calibrate them first (fastpsr.cross_fit), or say what they are "
                "(from_llrs, ...)",
            )


def log_prior_ratio(data: LabeledData, priors: Floats) -> float:
    """Return the log-odds of class 1 at priors of data."""
    if not priors.all():
        k = int(priors.argmin())
        why = "" if data.given_priors is not None else f": {data.class_name(k)} has no weight"
        raise ArgumentError(
            "priors",
            "must be positive to turn likelihoods into posteriors or back, not "
            f"{priors.tolist()}{why}",
        )
    return float(np.log(priors[1]) - np.log(priors[0]))


class ScoredLabels(LabeledData):
    """Labels, weights and scores of samples in memory, and conversions between kinds of scores."""

    y_true: NDArray[Any] | None
    weights: Floats  #: Sample weights for kernels: empty if all weights are equal.
    _whole_weights: Floats | None  # class weights of the whole data, if these samples are a part
    _drawn_from: Any = None  # the predictions that these reweight as a replicate
    row_order: RowOrder = None  #: The index of pandas objects, to compare with those of ids.
    columns: Columns = NO_COLUMNS
    n_draws: Floats | None = None  #: How often a bootstrap replicate has each sample; in weights.

    # For posteriors: the posteriors, if _has_posteriors; logits, which are then in _logits; else
    # log-odds or log-posteriors. For likelihoods: LLRs or log-likelihoods. Raw scores unchanged.
    _values: NDArray[Any]
    _has_posteriors: bool
    _are_posteriors: bool  # what was passed, even if it was calibrated since
    _logits: Logits | None
    _posterior_priors: Floats | None  # priors used to convert likelihoods to posteriors

    def __len__(self) -> int:
        return int(self._values.shape[0])

    def check_column(self, argument: str, name: str) -> None:
        check_column(argument, name, self.columns)

    def ids(self, argument: str, ids: Any) -> Any:
        """Return one id per sample, an array or `CodedIds`: given, or of a named column.

        Errors are of the `argument` that gave them.
        """
        if not isinstance(ids, str):
            return as_ids(argument, ids, len(self), self.row_order)
        self.check_column(argument, ids)

        def of_column() -> Any:
            coded = self.columns.coded(ids)
            return as_ids(argument, self.columns[ids], len(self)) if coded is None else coded

        return self.remember(("ids", ids), of_column)

    @property
    def labels(self) -> NDArray[Any]:
        """`y_true`; raises an error if the data have no labels."""
        if self.y_true is None:
            raise ArgumentError("y_true", "must be given: these predictions are unlabeled")
        return self.y_true

    @property
    def sample_weight(self) -> Floats | None:
        """Weights (N,), None if all are equal."""
        return self.weights if self.weights.size else None

    @property
    def has_weights(self) -> bool:
        """Whether samples may have different weights."""
        return self.weights.size > 0

    @cached_property
    def common_weight(self) -> float | None:
        """Weight of all samples of positive weight; None if these have different weights."""
        if not self.weights.size:
            return 1.0
        largest = float(self.weights.max())
        is_common = ((self.weights == largest) | (self.weights == 0.0)).all()
        return largest if is_common else None

    @property
    def drawn_from(self) -> Self:
        return self if self._drawn_from is None else self._drawn_from

    @cached_property
    def class_weights(self) -> Floats:
        """Total sample weight of each class, shape (K,); needs labels."""
        y = self.labels
        if not self.weights.size:
            return _count(y, self.n_classes)
        return np.asarray(
            kernels.reductions.sum_exactly_by_group(self.weights, y, self.n_classes).sum(axis=1)
        )

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of samples of positive weight of each class, shape (K,); needs labels."""
        if not self.weights.size:
            return self.class_weights.astype(np.int64)
        present = self.labels[self.weights > 0.0]
        return _count(present, self.n_classes).astype(np.int64)

    @property
    def _weights_of_whole(self) -> Floats:
        if self.y_true is None:
            raise ArgumentError(
                "priors", "must be given: unlabeled predictions have no frequencies"
            )
        return self.class_weights if self._whole_weights is None else self._whole_weights

    def balanced_weights(self) -> Floats:
        """Sample weights adjusted to the given priors, as calibrators use them.

        Empty if all samples have the same weight.
        """
        if self.given_priors is None:
            return self.weights
        per_sample = class_factors(self._weights_of_whole, self.given_priors)[self.labels]
        return np.asarray(per_sample * self.weights if self.weights.size else per_sample)

    def require_samples(self) -> None:
        """Raise if no sample has positive weight."""
        if len(self) == 0 or (self.weights.size and not self.weights.any()):
            raise ArgumentError("predictions", "must have a sample of positive weight")

    @cached_property
    def log_odds(self) -> Floats:
        """Log-odds of class 1, shape (N,); binary tasks only."""
        self.require_posteriors("log-odds")
        checks.check_binary("log-odds", self.n_classes)
        if self._has_posteriors:
            return kernels.log_space.log_odds_from_posteriors(self._values)
        if self.kind == "likelihoods":
            prior_log_odds = self.log_odds_offset
            return self._values + prior_log_odds if prior_log_odds else self._values
        return self._values

    @cached_property
    def log_posteriors(self) -> Floats:
        """Normalized log-posteriors, shape (N, K)."""
        self.require_posteriors("log-posteriors")
        if self.n_classes == 2:
            return kernels.log_space.log_sigmoid_columns(self.log_odds)
        if self._has_posteriors:
            return checks.log_softmax("q", checks.log_of_rows(self._values))[0]
        if self._logits is not None:
            return self._logits.log_posteriors
        if self.kind == "likelihoods":
            log_priors = checks.log_of_rows(self._fix_posterior_priors())
            out = np.empty(self._values.shape)
            log_sums = kernels.log_space.normalize_log_rows(self._values, log_priors, out)
            row = kernels.checking.find_outside(log_sums, -_FINITE, np.inf)
            if row >= 0:
                raise ArgumentError(
                    "log_lk",
                    "must be finite for a class of positive prior in every row, but row "
                    f"{row} is {self._values[row].tolist()}, with priors {self.priors.tolist()}",
                    int(row),
                )
            return out
        return self._values

    @cached_property
    def posteriors(self) -> Floats:
        """Posteriors, shape (N, K)."""
        if self._has_posteriors:
            if self._values.ndim == 2:
                return self._values
            return np.column_stack([1.0 - self._values, self._values])
        if self.n_classes == 2:
            sigmoid = kernels.log_space.sigmoid
            return np.column_stack([sigmoid(-self.log_odds), sigmoid(self.log_odds)])
        return np.exp(self.log_posteriors)

    @property
    def positive_posteriors(self) -> Floats:
        """Posteriors of class 1 as they were given, shape (N,); binary tasks only."""
        if not self._has_posteriors:
            return kernels.log_space.sigmoid(self.log_odds)
        checks.check_binary("the posterior of class 1", self.n_classes)
        if self._values.ndim == 1:
            return self._values
        return np.ascontiguousarray(self._values[:, 1])

    @property
    def _passed_posteriors(self) -> Floats | None:
        """Posteriors of class 1 for comparison with thresholds, if posteriors were passed."""
        is_so = self.kind == "posteriors" and self._are_posteriors
        return self.positive_posteriors if is_so else None

    @property
    def llrs(self) -> Floats:
        """Log-likelihood ratios of class 1 against class 0, natural logarithms, shape (N,).

        For likelihoods, the values as given; else the log-odds minus the logit of the prior in
        ``priors``, those given or the class frequencies of these samples. Of posteriors that
        contain the prior of other data, take ``as_llrs(training_prior=...)``.
        """
        checks.check_binary("LLRs", self.n_classes)
        if self.kind == "likelihoods":
            return self._values
        return self.log_odds - log_prior_ratio(self, self.priors)

    @property
    def scores(self) -> Floats:
        """Input of calibrators: LLRs, log-likelihoods, raw scores, log-odds or log-posteriors."""
        if self.kind != "posteriors":
            return self._values
        return self.log_odds if self.n_classes == 2 else self.log_posteriors

    def _fix_posterior_priors(self) -> Floats:
        if self._posterior_priors is None:
            self._posterior_priors = self.priors
        return self._posterior_priors

    # For the rest of the package

    @property
    def score_range(self) -> tuple[float, float]:
        """Lowest and highest of :attr:`scores`; may be infinite; (0, 0) without samples."""
        scores = self.scores
        if not scores.size:
            return 0.0, 0.0
        low, high = self.remember("range", lambda: (scores.min(), scores.max()))
        return float(low), float(high)

    @property
    def has_finite_scores(self) -> bool:
        """Whether all :attr:`scores` are finite."""
        return bool(np.isfinite(self.score_range).all())

    # The same samples, or some of them

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached values and the index: other processes do not need them."""
        return super().__getstate__() | {"row_order": None, "_drawn_from": None}

    def __getitem__(self, index: Any) -> Self:
        """Return the samples selected by a slice, a boolean mask or an array of row numbers."""
        if not isinstance(index, slice):
            index = _as_rows(index)
        if self.kind == "likelihoods" and (
            self.y_true is not None or self.given_priors is not None
        ):
            self._fix_posterior_priors()  # posteriors do not change
        picked = self.compact(_whole_weights=None, row_order=None, _drawn_from=None)
        if self._logits is None:
            picked._values = np.ascontiguousarray(self._values[index])
        else:
            picked._logits = self._logits[index]
            picked._values = picked._logits.rows
        if self._has_posteriors:
            for name in ("log_odds", "log_posteriors"):  # not to take the logarithms again
                if name in self.results:
                    picked.results[name] = np.ascontiguousarray(self.results[name][index])
        if self.y_true is not None:
            picked.y_true = np.ascontiguousarray(self.y_true[index])
        if self.weights.size:
            picked.weights = np.ascontiguousarray(self.weights[index])
        if self.n_draws is not None:
            picked.n_draws = self.n_draws[index]
        picked.columns = self.columns.rows(index)
        return picked

    def with_columns(self, columns: Columns) -> Self:
        """Return the same samples with these columns."""
        return self if columns is self.columns else self.compact(columns=columns)

    def present(self) -> Self:
        """Return the samples of positive weight."""
        if not self.weights.size or self.weights.all():
            return self
        present = self[self.weights > 0.0]
        present._whole_weights = self._whole_weights
        return present

    def replace_scores(self, kind: Kind, values: Floats) -> Self:
        """Return the same samples with other :attr:`scores` of the given `kind`."""
        new = self.compact(kind=kind, _values=values, _has_posteriors=False, _logits=None)
        if kind != self.kind:  # raw scores become LLRs: the receiver's prior makes posteriors
            new._posterior_priors = self.given_priors
        return new

    def reweighted(self, sample_weight: Floats, n_draws: Floats | None = None) -> Self:
        """Return the same samples with other weights; posteriors do not change but by a refit.

        Weights of a replicate contain the number of draws of each sample.
        """
        if self.kind == "likelihoods":
            self._fix_posterior_priors()
        new = self.compact(
            keep={"log_odds", "log_posteriors", "posteriors"}, weights=sample_weight,
            n_draws=n_draws, refit=None, _whole_weights=None, _drawn_from=self.drawn_from,
        )  # fmt: skip
        if self.refit is None:
            return new
        return new.replace_scores(self.kind, self.refit(sample_weight))

    def as_part_of(self, class_weights: Floats, *, is_given: bool = False) -> Self:
        """Return the same samples as a part of data with these total class weights.

        Class frequencies, and posteriors that depend on them, become those of the whole data, also
        if the caller has computed posteriors of the part before.
        """
        new = self.compact(_whole_weights=class_weights)
        if is_given:
            new._posterior_priors = new.given_priors
        return new

    def alone(self) -> Self:
        """Return the same samples as a separate data set, no longer a part of a whole.

        Without given priors, likelihoods are converted with the frequencies of these samples.
        """
        return self.compact(_posterior_priors=self.given_priors, _whole_weights=None)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the samples of all parts, one after another."""
        forms = {(p._has_posteriors, p._logits is None, p._values.ndim) for p in parts}
        if len(forms) > 1:  # such as posteriors in some parts, logarithms in others
            parts = [part.replace_scores(part.kind, part.scores) for part in parts]
        new = parts[0].compact(_whole_weights=None, row_order=None, _drawn_from=None)
        filled = [part for part in parts if len(part)] or parts
        new.columns = Columns.joined([part.columns for part in filled])
        logits = [part._logits for part in parts if part._logits is not None]
        if logits:
            new._logits = Logits.joined(logits)
            new._values = new._logits.rows
        else:
            new._values = np.concatenate([part._values for part in parts])
        if new.y_true is not None:
            new.y_true = np.concatenate([part.labels for part in parts])
        if any(part.weights.size for part in parts):
            weights = [part.weights if part.weights.size else np.ones(len(part)) for part in parts]
            new.weights = np.concatenate(weights)
        draws = [part.n_draws for part in parts if part.n_draws is not None]
        new.n_draws = np.concatenate(draws) if len(draws) == len(parts) else None
        return new

    def compact(self, keep: AbstractSet[str] = frozenset(), **changes: Any) -> Self:
        """Return a copy with other attributes, and without cached values but those to `keep`."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__ | changes)
        results = new.__dict__.pop("_results", {})
        new.results.update({name: results[name] for name in keep if name in results})
        return new


def _as_rows(index: Any) -> NDArray[Any]:
    """Return an index as an array of row numbers or a mask."""
    rows = np.atleast_1d(checks.read("index", index, "row numbers, a mask or a slice"))
    if rows.ndim > 1 or (rows.dtype.kind == "f" and rows.size):
        raise ArgumentError(
            "index",
            "must be row numbers, a mask or a slice, not an array of "
            f"{rows.dtype} of shape {rows.shape}",
        )
    return rows if rows.size else rows.astype(np.int64)


def class_factors(totals: Floats, given_priors: Floats | None) -> Floats:
    """Return the factor on the sample weights of each class: its prior over its total weight.

    Factors are normalized so that the sum of the weights does not change.
    """
    if given_priors is None:
        return np.ones(totals.size)
    absent = np.flatnonzero((given_priors > 0.0) & (totals == 0.0))
    if absent.size:
        k = int(absent[0])
        rule = f"must have samples of class {k} with weight: its prior is {given_priors[k]:g}"
        raise ArgumentError("priors", rule, name="y_true")
    with np.errstate(over="ignore"):
        factors = np.divide(given_priors, totals, out=np.zeros_like(totals), where=totals > 0.0)
        factors *= totals.sum()
    if not np.isfinite(factors).all():
        raise ArgumentError(
            "sample_weight",
            "must not differ so much between classes that their ratio is no float "
            f"where priors are given: the classes weigh {totals.tolist()}",
        )
    return np.asarray(factors)


def weigh_groups(groups: NDArray[Any], weights: Floats, n_groups: int) -> Floats:
    """Return the total weight of each group, (G,); `weights` are empty if all are equal."""
    if not weights.size:
        return _count(groups, n_groups)
    groups = groups.astype(index_type(n_groups), copy=False)
    return np.asarray(
        kernels.reductions.sum_exactly_by_group(weights, groups, n_groups).sum(axis=1)
    )


def _count(codes: NDArray[Any], n: int) -> Floats:
    """Return how often each of 0 to n - 1 occurs, (n,)."""
    if n == 2:
        n_ones = np.count_nonzero(codes)
        return np.array([codes.size - n_ones, n_ones], np.float64)
    if n <= _FEW_CODES:
        of_code = [int(np.count_nonzero(codes == code)) for code in range(n - 1)]
        return np.array([*of_code, codes.size - sum(of_code)], np.float64)
    counts = np.zeros(n)
    n_rows = max(_ROWS_TO_COUNT, n)
    for start in range(0, codes.size, n_rows):
        counts += np.bincount(codes[start : start + n_rows], minlength=n)
    return counts
