"""`Predictions`: the output of a classifier, validated once, with labels, priors and weights."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks, kernels
from fastpsr.caching import cached_property
from fastpsr.errors import ArgumentError, SuspicionWarning, warn
from fastpsr.html import table, values
from fastpsr.kernels.blocks import together
from fastpsr.options import with_hints

__all__ = ["Floats", "Kind", "Predictions", "class_factors"]

Floats = NDArray[np.float64]
Kind = Literal["posteriors", "likelihoods", "raw scores"]

_NO_WEIGHTS = np.empty(0)
_FINITE = float(np.finfo(np.float64).max)
_FEWEST_TO_JUDGE = 10  # rows, to say what logits look like
_WORTH_A_THREAD = 1 << 16  # scores, to find their range


class Predictions:
    """Posteriors, likelihoods or raw scores of N samples, with labels, priors and weights.

    Create them with one of the constructors ``from_...``, which validate their input. Arrays of
    float64 or float32 are referenced, not copied (those of several classes if each row is
    contiguous in memory): do not modify them afterwards.

    Attributes
    ----------
    kind : {"posteriors", "likelihoods", "raw scores"}
        Kind of the input. Raw scores only rank samples.
    n_classes : int
        The number K of classes; class 1 is the positive (target) class in binary tasks.
    y_true : ndarray of uint8 or int32, shape (N,), or None
        True classes, 0 to K-1; None for unlabeled data.
    sample_weight : ndarray of float64, shape (N,), or None
        Weights; None if all samples have the same weight. Samples of weight 0 are ignored.

    Notes
    -----
    ``priors`` are the class priors that the evaluation assumes: the weight of each sample is
    multiplied by the prior of its class and divided by the total weight of its class (Ferrer and
    Ramos, 2024, appendix A). By default they are the weighted class frequencies of the data; a
    subset then has its own frequencies. Posteriors are fixed when the object is created.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> predictions = fp.Predictions.from_posteriors([0, 1, 1], [0.2, 0.9, 0.4])
    >>> len(predictions), predictions.priors.round(3).tolist()
    (3, [0.333, 0.667])
    >>> predictions[predictions.y_true == 1].posteriors.tolist()
    [[0.09999999999999998, 0.9], [0.6, 0.4]]
    """

    kind: Kind
    n_classes: int
    y_true: NDArray[Any] | None
    sample_weight: Floats | None

    def __init__(self) -> None:
        raise TypeError("make Predictions with one of its constructors, such as from_posteriors")

    @classmethod
    @with_hints
    def from_posteriors(
        cls,
        y_true: ArrayLike | None,
        q: ArrayLike,
        *,
        priors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        normalize: bool = False,
        floor: float = 0.0,
    ) -> Self:
        """Make predictions from posterior probabilities.

        Parameters
        ----------
        y_true : array-like, shape (N,), or None
            True classes: integers 0 to K-1, booleans, or the labels listed in `classes`.
        q : array-like of float, shape (N, K), or (N,) for P(class 1) in a binary task
            Posterior probabilities. Each row must sum to 1 within 1e-6 plus the rounding errors of
            K numbers of its dtype. Metrics use rows divided by their sum, except the expected
            calibration error, which bins the values as given. Values outside [0, 1] by no more
            than this tolerance are set to 0 or 1.
        priors : array-like of float, shape (K,), optional
            Class priors of the evaluation; by default the class frequencies.
        sample_weight : array-like of float, shape (N,), optional
            Finite weights, none negative.
        classes : array-like, shape (K,), optional
            Labels in the order of the columns; in binary tasks [negative, positive].
        normalize : bool
            Whether to divide each row by its sum first, however far the sum is from 1.
        floor : float
            Posteriors are clipped to [floor, 1 - floor], and rows are divided by their sums again,
            so that no loss is infinite. At least 0 and below 0.5; 0 means no clipping.

        Raises
        ------
        ArgumentError
            If there are nan, values outside [0, 1], rows that do not sum to 1 (with `normalize`:
            rows that sum to 0), labels that are not classes, or arrays of different lengths.

        Examples
        --------
        >>> import fastpsr as fp
        >>> votes = [[7, 3], [0, 10], [9, 1]]  # of ten trees
        >>> data = fp.Predictions.from_posteriors(
        ...     ["ham", "ham", "spam"], votes, classes=["spam", "ham"], normalize=True, floor=0.01
        ... )
        >>> data.posteriors.round(2).tolist()
        [[0.7, 0.3], [0.01, 0.99], [0.9, 0.1]]
        """
        checks.require_one_label("y_true", y_true)
        low = checks.as_floor(floor)
        values = checks.as_posteriors("q", q, normalize=normalize, floor=low)
        return cls._make(y_true, "posteriors", values, priors, sample_weight, classes, given=True)

    @classmethod
    @with_hints
    def from_log_posteriors(
        cls,
        y_true: ArrayLike | None,
        log_q: ArrayLike,
        *,
        priors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        normalize: bool = False,
        floor: float = 0.0,
    ) -> Self:
        """Make predictions from natural logarithms of posteriors, shape (N, K).

        ``-inf`` is a posterior of 0. The exponentials of each row must sum to 1, unless `normalize`
        is true; they are normalized in both cases. Otherwise as :meth:`from_posteriors`.
        """
        checks.require_one_label("y_true", y_true)
        low = checks.as_floor(floor)
        rows = checks.as_log_posterior_rows("log_q", log_q, normalize=normalize, floor=low)
        return cls._from_log_rows(y_true, rows, priors, sample_weight, classes)

    @classmethod
    @with_hints
    def from_logits(
        cls,
        y_true: ArrayLike | None,
        z: ArrayLike,
        *,
        priors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from logits: (N, K) for a softmax, (N,) for the log-odds of class 1.

        Rows may contain ``-inf``, but need a finite entry, and must not contain ``+inf``; log-odds
        may be infinite. Otherwise as :meth:`from_posteriors`.

        Warns
        -----
        SuspicionWarning
            If at least 10 rows all look like probabilities: in [0, 1], and rows that sum to 1.
        """
        given = checks.as_column(checks.read("z", z))
        if _are_like_probabilities(given):
            warn(_PROBABILITIES_AS_LOGITS)
        if given.ndim == 1:
            log_odds = checks.as_scores("z", given)
            return cls._make(y_true, "posteriors", log_odds, priors, sample_weight, classes)
        exact = given.shape[1:] == (2,)  # log-odds need no normalization
        rows = checks.as_log_rows("z", given) if exact else checks.log_softmax("z", given)
        return cls._from_log_rows(y_true, rows, priors, sample_weight, classes)

    @classmethod
    @with_hints
    def from_log_likelihoods(
        cls,
        y_true: ArrayLike | None,
        log_lk: ArrayLike,
        *,
        priors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from log-likelihoods of the classes, shape (N, K), natural logarithms.

        A constant may be added to each row. Likelihoods are converted to posteriors with `priors`,
        by default the class frequencies. Otherwise as :meth:`from_logits`.
        """
        rows = checks.as_log_rows("log_lk", log_lk)
        values = _two_columns_apart(rows)
        return cls._make(y_true, "likelihoods", values, priors, sample_weight, classes)

    @classmethod
    @with_hints
    def from_llrs(
        cls,
        y_true: ArrayLike | None,
        llr: ArrayLike,
        *,
        prior: float | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from log-likelihood ratios of class 1 against class 0.

        Parameters
        ----------
        y_true : array-like, shape (N,), or None
            0 for non-target, 1 for target; booleans; or the labels listed in `classes`.
        llr : array-like of float, shape (N,)
            Natural logarithms; may be infinite, not nan.
        prior : float, optional
            P(class 1), strictly between 0 and 1; by default the weighted frequency of class 1.
        sample_weight : array-like of float, shape (N,), optional
            Finite weights, none negative.
        classes : array-like, shape (2,), optional
            Labels: [non-target, target].

        Raises
        ------
        ArgumentError
            If there are nan, a prior outside (0, 1), labels that are not classes, or arrays of
            different lengths.
        """
        values = checks.as_scores("llr", llr)
        return cls._make(y_true, "likelihoods", values, _pair(prior), sample_weight, classes)

    @classmethod
    @with_hints
    def from_target_nontarget(
        cls, tar: ArrayLike, non: ArrayLike, *, prior: float | None = None
    ) -> Self:
        """Make predictions from the LLRs of targets and those of non-targets, as two arrays.

        Targets come first. Otherwise as :meth:`from_llrs`.
        """
        targets, nontargets = checks.as_scores("tar", tar), checks.as_scores("non", non)
        y_true = np.repeat(np.array([1, 0], np.uint8), [targets.size, nontargets.size])
        return cls.from_llrs(y_true, np.concatenate([targets, nontargets]), prior=prior)

    @classmethod
    @with_hints
    def from_raw_scores(
        cls,
        y_true: ArrayLike | None,
        scores: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from scores that only rank samples: higher means class 1.

        They can be used by metrics that depend on ranks and by calibrators; metrics that need
        posteriors raise an error. Infinite scores are allowed, nan is not.
        """
        values = checks.as_scores("scores", scores)
        return cls._make(y_true, "raw scores", values, None, sample_weight, classes)

    @classmethod
    def _from_log_rows(
        cls,
        y_true: ArrayLike | None,
        rows: Floats,
        priors: ArrayLike | None,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None,
    ) -> Self:
        values = _two_columns_apart(rows)
        return cls._make(y_true, "posteriors", values, priors, sample_weight, classes)

    @classmethod
    def _make(
        cls,
        y_true: ArrayLike | None,
        kind: Kind,
        values: NDArray[Any],
        priors: ArrayLike | None,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None = None,
        *,
        given: bool = False,
    ) -> Self:
        """Check labels, priors and weights, and set the fields."""
        made = cls.__new__(cls)
        made.kind = kind
        made.n_classes = values.shape[1] if values.ndim == 2 else 2
        made._values = values
        made._given_posteriors = values if given else None
        n_samples = values.shape[0]
        made.y_true = None
        if y_true is not None:
            made.y_true = checks.as_labels(
                "y_true", y_true, n_samples, made.n_classes, classes, takes_classes=True
            )
        made._weights = checks.as_weights("sample_weight", sample_weight, n_samples)
        made.sample_weight = made._weights if made._weights.size else None
        made.given_priors = None
        if priors is not None:
            made.given_priors = checks.as_priors("priors", priors, made.n_classes)
        made._posterior_priors = made.given_priors
        made._whole_weights = None
        return made

    # Data

    # As given, float64 or float32, contiguous or strided. For posteriors: the posteriors, if given
    # as such (then _given_posteriors is the same array), else log-odds or log-posteriors. For
    # likelihoods: LLRs or log-likelihoods. Raw scores unchanged.
    _values: NDArray[Any]
    _given_posteriors: NDArray[Any] | None
    _weights: Floats  # empty if all weights are equal
    _posterior_priors: Floats | None  # priors used to convert likelihoods to posteriors
    _whole_weights: Floats | None  # class weights of the whole data, if these samples are a part
    given_priors: Floats | None  #: The priors passed by the caller, or None.

    def __len__(self) -> int:
        return int(self._values.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached values, which need not be sent to other processes."""
        return {k: v for k, v in self.__dict__.items() if k not in _CACHED}

    def __dir__(self) -> list[str]:
        """Return what users of the library need; the rest is for its other modules."""
        return sorted(_FOR_USERS)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError("Predictions are no array: use .posteriors, .log_odds, .llrs or .scores")

    def __repr__(self) -> str:
        labeled = "" if self.y_true is not None else ", unlabeled"
        return (
            f"<Predictions: {len(self):,} samples, {self.n_classes} classes, {self.kind}{labeled}>"
        )

    def _repr_html_(self) -> str:
        is_known = self.given_priors is not None
        return table(
            "Predictions",
            ("attribute", "value"),
            [
                ("kind", self.kind),
                ("samples", f"{len(self):,}"),
                ("classes", self.n_classes),
                ("labels", "none" if self.y_true is None else "given"),
                ("weights", "given" if self.has_weights else "none"),
                ("priors", values(self.given_priors) if is_known else "class frequencies"),
            ],
        )

    def __getitem__(self, index: Any) -> Self:
        """Return the samples selected by a slice, a boolean mask or an array of row numbers."""
        if not isinstance(index, slice):
            index = _as_rows(index)
        picked = type(self).__new__(type(self))
        if self.kind == "likelihoods" and (
            self.y_true is not None or self.given_priors is not None
        ):
            self._fix_posterior_priors()  # posteriors do not change
        picked.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _CACHED})
        picked._values = np.ascontiguousarray(self._values[index])
        picked._whole_weights = None
        if self._given_posteriors is not None:
            picked._given_posteriors = picked._values
            for name in ("log_odds", "log_posteriors"):  # not to take the logarithms again
                if name in self.__dict__:
                    picked.__dict__[name] = np.ascontiguousarray(self.__dict__[name][index])
        if self.y_true is not None:
            picked.y_true = np.ascontiguousarray(self.y_true[index])
        if self._weights.size:
            picked._weights = np.ascontiguousarray(self._weights[index])
            picked.sample_weight = picked._weights
        return picked

    @cached_property
    def class_weights(self) -> Floats:
        """Total sample weight of each class, shape (K,); needs labels."""
        y = self.labels
        if not self._weights.size:
            if self.n_classes == 2:
                n_positive = float(np.count_nonzero(y))
                return np.array([y.size - n_positive, n_positive])
            return np.bincount(y, minlength=self.n_classes).astype(np.float64)
        return np.asarray(
            kernels.sum_exactly_by_class(self._weights, y, self.n_classes).sum(axis=1)
        )

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of samples of positive weight of each class, shape (K,); needs labels."""
        if not self._weights.size:
            return self.class_weights.astype(np.int64)
        if self.n_classes == 2:
            is_present = self._weights > 0.0
            n_positive = np.count_nonzero(is_present & (self.labels != 0))
            return np.array([np.count_nonzero(is_present) - n_positive, n_positive])
        present = self.labels[self._weights > 0.0]
        return np.bincount(present, minlength=self.n_classes).astype(np.int64)

    @property
    def has_weights(self) -> bool:
        """Whether samples may have different weights."""
        return self._weights.size > 0

    @property
    def labels(self) -> NDArray[Any]:
        """`y_true`; raises an error if the data have no labels."""
        if self.y_true is None:
            raise ArgumentError("y_true", "must be given: these predictions are unlabeled")
        return self.y_true

    @property
    def priors(self) -> Floats:
        """Class priors of the evaluation, shape (K,); by default the class frequencies."""
        if self.given_priors is not None:
            return self.given_priors
        if self.y_true is None:
            raise ArgumentError(
                "priors", "must be given: unlabeled predictions have no frequencies"
            )
        weights = self._whole_weights
        if weights is None:
            weights = self.class_weights
        total = weights.sum()
        if total == 0.0:  # of a part of the samples
            raise ArgumentError("priors", "must be given: no sample has positive weight")
        return np.asarray(weights / total)

    @cached_property
    def log_odds(self) -> Floats:
        """Log-odds of class 1, shape (N,); binary tasks only."""
        self.require_posteriors("log-odds")
        checks.check_binary("log-odds", self.n_classes)
        if self._given_posteriors is not None:
            return kernels.log_odds_from_posteriors(self._given_posteriors)
        if self.kind == "likelihoods":
            prior_log_odds = self._prior_log_odds()
            return self._floats + prior_log_odds if prior_log_odds else self._floats
        return self._floats

    @cached_property
    def log_posteriors(self) -> Floats:
        """Normalized log-posteriors, shape (N, K)."""
        self.require_posteriors("log-posteriors")
        if self.n_classes == 2:
            return kernels.log_sigmoid_columns(self.log_odds)
        if self._given_posteriors is not None:
            return checks.log_softmax("q", checks.log_of_rows(self._given_posteriors))
        if self.kind == "likelihoods":
            log_priors = checks.log_of_rows(self._fix_posterior_priors())
            out = np.empty(self._values.shape)
            log_sums = kernels.normalize_log_rows(self._values, log_priors, out)
            row = kernels.find_outside(log_sums, -_FINITE, np.inf)
            if row >= 0:
                raise ArgumentError(
                    "log_lk",
                    "must be finite for a class of positive prior in every row, but row "
                    f"{row} is {self._values[row].tolist()}, with priors {self.priors.tolist()}",
                    int(row),
                )
            return out
        return self._floats

    @cached_property
    def posteriors(self) -> Floats:
        """Posteriors, shape (N, K)."""
        if self._given_posteriors is not None:
            if self._given_posteriors.ndim == 2:
                return self._floats
            return np.column_stack([1.0 - self._floats, self._floats])
        if self.n_classes == 2:
            return kernels.sigmoid_columns(self.log_odds)
        return kernels.exp(self.log_posteriors)

    @property
    def positive_posteriors(self) -> Floats:
        """Posteriors of class 1 as they were given, shape (N,); binary tasks only."""
        if self._given_posteriors is None:
            return kernels.sigmoid(self.log_odds)
        checks.check_binary("the posterior of class 1", self.n_classes)
        if self._given_posteriors.ndim == 1:
            return self._floats
        return np.ascontiguousarray(self._given_posteriors[:, 1], dtype=np.float64)

    @property
    def llrs(self) -> Floats:
        """Log-likelihood ratios of class 1 against class 0, natural logarithms, shape (N,).

        The log-odds minus the logit of the prior; for likelihoods, the values as given.
        """
        checks.check_binary("LLRs", self.n_classes)
        if self.kind == "likelihoods":
            return self._floats
        return self.log_odds - self._logit(self.priors)

    @property
    def has_fixed_llrs(self) -> bool:
        """Whether LLRs are independent of weights; LLRs of posteriors depend on frequencies."""
        return self.kind == "likelihoods" or self.given_priors is not None

    # For the rest of the package

    @property
    def weights(self) -> Floats:
        """Sample weights for kernels: an empty array if all weights are equal."""
        return self._weights

    @property
    def _has_posteriors(self) -> bool:
        """Whether the input was posteriors, not logarithms or likelihoods."""
        return self._given_posteriors is not None

    @property
    def _bare_posteriors(self) -> NDArray[Any] | None:
        """Posteriors of class 1, (N,), if these were the input."""
        q = self._given_posteriors
        return q if q is not None and q.ndim == 1 else None

    @property
    def _posterior_rows(self) -> NDArray[Any] | None:
        """Posteriors, (N, K), if these were the input and K > 2."""
        return self._given_posteriors if self.n_classes > 2 else None

    @property
    def scores(self) -> Floats:
        """Input of calibrators: LLRs, log-likelihoods, raw scores, log-odds or log-posteriors."""
        if self.kind != "posteriors":
            return self._floats
        return self.log_odds if self.n_classes == 2 else self.log_posteriors

    @property
    def _score_rows(self) -> NDArray[Any]:
        """The scores for kernels: float64 or float32, contiguous or strided."""
        if self._given_posteriors is not None or (self.kind == "posteriors" and self.n_classes > 2):
            return self.scores
        return self._values

    @property
    def _log_odds_rows(self) -> NDArray[Any]:
        """Log-odds for kernels: float64 or float32, contiguous or strided."""
        is_given = self.kind == "posteriors" and self._given_posteriors is None
        return self._values if is_given else self.log_odds

    @property
    def _given_rows(self) -> NDArray[Any]:
        """Posteriors as given, (N, K), for kernels."""
        q = self._given_posteriors
        return self.posteriors if q is None or q.ndim == 1 else q

    @cached_property
    def _floats(self) -> Floats:
        """The input as float64."""
        return np.asarray(self._values, dtype=np.float64)

    @property
    def score_range(self) -> tuple[float, float]:
        """Lowest and highest of :attr:`scores`; may be infinite; (0, 0) without samples."""
        scores = self._score_rows
        if not scores.size:
            return 0.0, 0.0
        low, high = self.remember(
            "range",
            lambda: (
                (scores.min(), scores.max())
                if scores.size < _WORTH_A_THREAD
                else together(scores.min, scores.max)
            ),
        )
        return float(low), float(high)

    @property
    def has_finite_scores(self) -> bool:
        """Whether all :attr:`scores` are finite."""
        return bool(np.isfinite(self.score_range).all())

    @property
    def log_odds_offset(self) -> float:
        """Log-odds minus :attr:`scores` in a binary task; 0 for posteriors."""
        return self._prior_log_odds() if self.kind == "likelihoods" else 0.0

    @property
    def results(self) -> dict[Hashable, Any]:
        """Results by name, which are kept as long as the predictions."""
        kept: dict[Hashable, Any] = self.__dict__.setdefault("_remembered", {})
        return kept

    def remember(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """Return the kept result of ``make()`` under this name; compute it on first use."""
        if name not in self.results:
            self.results[name] = make()
        return self.results[name]

    def present(self) -> Self:
        """Return the samples of positive weight."""
        if not self._weights.size or self._weights.all():
            return self
        present = self[self._weights > 0.0]
        present._whole_weights = self._whole_weights
        return present

    def balanced_weights(self) -> Floats:
        """Sample weights adjusted to the given priors, as calibrators use them.

        Empty if all samples have the same weight.
        """
        if self.given_priors is None:
            return self._weights
        totals = self.class_weights if self._whole_weights is None else self._whole_weights
        per_sample = class_factors(totals, self.given_priors)[self.labels]
        return np.asarray(per_sample * self._weights if self._weights.size else per_sample)

    def replace_scores(self, kind: Kind, values: Floats) -> Self:
        """Return the same samples with other :attr:`scores` of the given `kind`."""
        made = type(self).__new__(type(self))
        made.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _CACHED})
        made.kind, made._values, made._given_posteriors = kind, values, None
        if kind != self.kind:  # raw scores become LLRs: the receiver's prior makes posteriors
            made._posterior_priors = self.given_priors
        return made

    def reweighted(self, sample_weight: Floats) -> Self:
        """Return the same samples with other weights; posteriors do not change."""
        if self.kind == "likelihoods":
            self._fix_posterior_priors()
        made = type(self).__new__(type(self))
        per_sample = {"log_odds", "log_posteriors", "posteriors"}
        made.__dict__.update(
            {k: v for k, v in self.__dict__.items() if k not in _CACHED - per_sample}
        )
        made._weights = made.sample_weight = sample_weight
        made._whole_weights = None
        return made

    # Parts of a whole

    def as_part_of(self, class_weights: Floats, *, is_given: bool = False) -> Self:
        """Return the same samples as a part of data with these total class weights.

        Class frequencies, and posteriors that depend on them, become those of the whole data, also
        if the caller has computed posteriors of the part before.
        """
        made = self.compact()
        made._whole_weights = class_weights
        if is_given:
            made._posterior_priors = made.given_priors
        return made

    @classmethod
    def without_scores(
        cls,
        y_true: ArrayLike,
        kind: Kind,
        shape: tuple[int, ...],
        priors: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> Self:
        """Return labels and weights with placeholders for the scores."""
        nothing = np.broadcast_to(np.float64(0.0), shape)
        return cls._make(y_true, kind, nothing, priors, sample_weight)

    def alone(self) -> Self:
        """Return the same samples as a separate data set, no longer a part of a whole.

        Without given priors, likelihoods are converted with the frequencies of these samples.
        """
        made = self.compact()
        made._posterior_priors = made.given_priors
        made._whole_weights = None
        return made

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the samples of all parts, one after another."""
        forms = {(part._given_posteriors is None, part._values.ndim) for part in parts}
        if len(forms) > 1:  # posteriors in some parts, logarithms in others
            parts = [part.replace_scores(part.kind, part.scores) for part in parts]
        made = cls.__new__(cls)
        made.__dict__.update({k: v for k, v in parts[0].__dict__.items() if k not in _CACHED})
        made._whole_weights = None
        made._values = np.concatenate([part._values for part in parts])
        if made._given_posteriors is not None:
            made._given_posteriors = made._values
        if made.y_true is not None:
            made.y_true = np.concatenate([part.labels for part in parts])
        if any(part.weights.size for part in parts):
            weights = [part.weights if part.weights.size else np.ones(len(part)) for part in parts]
            made._weights = made.sample_weight = np.concatenate(weights)
        return made

    def compact(self) -> Self:
        """Return the same predictions without cached values."""
        made = type(self).__new__(type(self))
        made.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _CACHED})
        return made

    @property
    def nbytes(self) -> int:
        """Bytes of scores, labels and weights."""
        labels = 0 if self.y_true is None else self.y_true.nbytes
        return self._values.nbytes + labels + self._weights.nbytes

    def score_checksum(self) -> int:
        """Return a checksum of the scores, which depends on their order."""
        return kernels.checksum(self._values)

    def require_samples(self) -> None:
        """Raise if no sample has positive weight."""
        if len(self) == 0 or (self._weights.size and not self._weights.any()):
            raise ArgumentError("predictions", "must have a sample of positive weight")

    def as_llrs(self, prior: float | None = None) -> Self:
        """Return binary predictions as likelihoods, with this prior of class 1 if given."""
        made = self.replace_scores("likelihoods", self.llrs)
        made.given_priors = None if prior is None else np.array([1.0 - prior, prior])
        made._posterior_priors = made.given_priors
        return made

    def require_posteriors(self, what: str) -> None:
        """Raise if the data are raw scores."""
        if self.kind == "raw scores":
            raise ArgumentError(
                "predictions",
                "need posteriors or likelihoods, not raw scores, which only rank samples",
                remedy="calibrate them first (fastpsr.cross_fit), or say what they are "
                "(from_llrs, ...)",
                name=what,
            )

    def _prior_log_odds(self) -> float:
        return self._logit(self._fix_posterior_priors())

    def _fix_posterior_priors(self) -> Floats:
        if self._posterior_priors is None:
            self._posterior_priors = self.priors
        return self._posterior_priors

    def _logit(self, priors: Floats) -> float:
        if not priors.all():
            k = int(priors.argmin())
            why = "" if self.given_priors is not None else f": class {k} has no weight"
            raise ArgumentError(
                "priors",
                "must be positive to turn likelihoods into posteriors or back, not "
                f"{priors.tolist()}{why}",
            )
        return float(np.log(priors[1]) - np.log(priors[0]))


_FOR_USERS = {
    "as_llrs", "balanced_weights", "class_sizes", "class_weights", "from_llrs",
    "from_log_likelihoods", "from_log_posteriors", "from_logits", "from_posteriors",
    "from_raw_scores", "from_target_nontarget", "given_priors", "kind", "labels", "llrs",
    "log_odds", "log_posteriors", "n_classes", "positive_posteriors", "posteriors", "priors",
    "sample_weight", "scores", "y_true",
}  # fmt: skip
_CACHED = {"_floats", "_remembered", "class_weights", "log_odds", "log_posteriors", "posteriors"}


_PROBABILITIES_AS_LOGITS = SuspicionWarning(
    "probabilities",
    "the logits all lie in [0, 1] and rows sum to 1, as probabilities do",
    "make predictions of probabilities with from_posteriors (TorchMetric: input='posteriors')",
)


def _are_like_probabilities(z: NDArray[Any]) -> bool:
    """Return whether logits look like probabilities; the first rows decide for nearly all data."""

    def are_alike(rows: NDArray[Any]) -> bool:
        if not 0.0 <= rows.min() <= rows.max() <= 1.0:
            return False
        return rows.ndim == 1 or bool(np.abs(rows.sum(axis=1, dtype=np.float64) - 1.0).max() < 1e-3)

    if z.ndim not in (1, 2) or len(z) < _FEWEST_TO_JUDGE or z.dtype.kind != "f" or not z.size:
        return False
    if not are_alike(z[:_FEWEST_TO_JUDGE]):
        return False
    return are_alike(z) and bool((z != np.rint(z)).any() and z.min() < z.max())


def class_factors(totals: Floats, given_priors: Floats | None) -> Floats:
    """Return the factor on the sample weights of each class: its prior over its total weight.

    Factors are normalized so that the sum of the weights does not change.
    """
    if given_priors is None:
        return np.ones(totals.size)
    absent = np.flatnonzero((given_priors > 0.0) & (totals == 0.0))
    if absent.size:
        k = int(absent[0])
        raise ArgumentError(
            "priors",
            f"must be 0 where no sample of class {k} has positive weight, not {given_priors[k]}",
        )
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


def _two_columns_apart(rows: NDArray[Any]) -> NDArray[Any]:
    """Return log-odds for two classes; return the rows unchanged for more."""
    if rows.shape[1] > 2:
        return rows
    with np.errstate(over="ignore"):  # the difference may overflow to inf: a certain class
        return np.asarray(np.subtract(rows[:, 1], rows[:, 0], dtype=np.float64))


def _pair(prior: float | None) -> Floats | None:
    if prior is None:
        return None
    value = checks.as_number("prior", prior)
    if not 0.0 < value < 1.0:
        raise ArgumentError("prior", f"must lie strictly between 0 and 1, not {prior}")
    return np.array([1.0 - value, value])
