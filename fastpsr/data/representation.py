"""Scores of predictions in memory, and what they are converted to."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.caching import cached_property
from fastpsr.data.labeled import Floats, log_prior_ratio
from fastpsr.data.logits import Logits
from fastpsr.data.weighting import WeightedLabels
from fastpsr.errors import ArgumentError
from fastpsr.kernels.blocks import together

_FINITE = float(np.finfo(np.float64).max)
_WORTH_A_THREAD = 1 << 16  # scores, to find their range


class ScoredLabels(WeightedLabels):
    """Posteriors, likelihoods or raw scores of labeled samples, and conversions between these."""

    # For posteriors: the posteriors, if given as such (then _given_posteriors is the same array),
    # logits (then they are in _logits), else log-odds or log-posteriors. For likelihoods: LLRs or
    # log-likelihoods. Raw scores unchanged.
    _values: NDArray[Any]
    _given_posteriors: Floats | None
    _are_posteriors: bool  # what was passed, even if it was calibrated since
    _logits: Logits | None
    _posterior_priors: Floats | None  # priors used to convert likelihoods to posteriors

    def __len__(self) -> int:
        return int(self._values.shape[0])

    @cached_property
    def log_odds(self) -> Floats:
        """Log-odds of class 1, shape (N,); binary tasks only."""
        self.require_posteriors("log-odds")
        checks.check_binary("log-odds", self.n_classes)
        if self._given_posteriors is not None:
            return kernels.log_space.log_odds_from_posteriors(self._given_posteriors)
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
        if self._given_posteriors is not None:
            return checks.log_softmax("q", checks.log_of_rows(self._given_posteriors))
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
        if self._given_posteriors is not None:
            if self._given_posteriors.ndim == 2:
                return self._values
            return np.column_stack([1.0 - self._values, self._values])
        if self.n_classes == 2:
            return kernels.log_space.sigmoid_columns(self.log_odds)
        return np.exp(self.log_posteriors)

    @property
    def positive_posteriors(self) -> Floats:
        """Posteriors of class 1 as they were given, shape (N,); binary tasks only."""
        if self._given_posteriors is None:
            return kernels.log_space.sigmoid(self.log_odds)
        checks.check_binary("the posterior of class 1", self.n_classes)
        if self._given_posteriors.ndim == 1:
            return self._values
        return np.ascontiguousarray(self._given_posteriors[:, 1])

    @property
    def _passed_posteriors(self) -> Floats | None:
        """Posteriors of class 1, which users compare with thresholds, if posteriors were passed."""
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
    def _has_posteriors(self) -> bool:
        """Whether the input was posteriors, not logarithms or likelihoods."""
        return self._given_posteriors is not None

    @property
    def score_range(self) -> tuple[float, float]:
        """Lowest and highest of :attr:`scores`; may be infinite; (0, 0) without samples."""
        scores = self.scores
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

    def score_checksum(self) -> int:
        """Return a checksum of the scores, which depends on their order."""
        return kernels.checking.checksum(self._values)

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
