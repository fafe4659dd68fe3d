"""The ways to make `Predictions` of arrays."""

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks

__all__ = ["Constructors", "Floats", "Kind"]

Floats = NDArray[np.float64]
Kind = Literal["posteriors", "likelihoods", "raw scores"]


class Constructors:
    """Constructors of `Predictions`; all validation happens here."""

    @classmethod
    def from_posteriors(
        cls,
        y_true: ArrayLike | None,
        q: ArrayLike,
        *,
        priors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from posterior probabilities.

        Parameters
        ----------
        y_true : array-like of int, shape (N,), or None
            True classes, 0 to K-1.
        q : array-like of float, shape (N, K), or (N,) for P(class 1) in a binary task
            Posteriors as fractions. Rows must sum to 1 within 1e-6; metrics see them divided by
            their sum, except that the expected calibration error bins them as given.
        priors : array-like of float, shape (K,), optional
            Class priors of the evaluation; by default the class frequencies.
        sample_weight : array-like of float, shape (N,), optional
            Finite weights, none negative, not all zero.

        Raises
        ------
        ValueError
            For nan, values outside 0..1, rows that do not sum to 1, labels that are no class
            index, lengths that differ, or no samples at all.
        """
        given = checks.read("q", q)
        if given.ndim == 1:
            values = checks.as_floats("q", given, 1)
            checks.require("q", values, 0.0, 1.0, "lie in 0 to 1")
        else:
            values = checks.as_posterior_rows("q", given)
        return cls._make(y_true, "posteriors", values, priors, sample_weight, given=True)

    @classmethod
    def from_log_posteriors(
        cls,
        y_true: ArrayLike | None,
        log_q: ArrayLike,
        *,
        priors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from natural logarithms of posteriors, shape (N, K).

        ``-inf`` is a posterior of 0. The exponentials of a row must sum to 1 within 1e-6, and are
        normalised. Otherwise as :meth:`from_posteriors`.
        """
        rows = checks.as_log_posterior_rows("log_q", log_q)
        return cls._from_log_rows(y_true, rows, priors, sample_weight)

    @classmethod
    def from_logits(
        cls,
        y_true: ArrayLike | None,
        z: ArrayLike,
        *,
        priors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from logits: (N, K) for a softmax, (N,) for the log-odds of class 1.

        Rows may hold ``-inf`` but not alone, and no ``+inf``; log-odds may be infinite. Otherwise
        as :meth:`from_posteriors`.
        """
        shape = checks.read("z", z).shape
        if len(shape) == 1:
            log_odds = checks.as_floats("z", z, 1)
            checks.require("z", log_odds, -np.inf, np.inf, "not be nan")
            return cls._make(y_true, "posteriors", log_odds, priors, sample_weight)
        if shape[1:] == (2,):  # exact: log-odds need no normalisation
            return cls._from_log_rows(y_true, checks.as_log_rows("z", z), priors, sample_weight)
        return cls._from_log_rows(y_true, checks.log_softmax("z", z), priors, sample_weight)

    @classmethod
    def from_log_likelihoods(
        cls,
        y_true: ArrayLike | None,
        log_lk: ArrayLike,
        *,
        priors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from log-likelihoods of the classes, shape (N, K), natural logarithms.

        Each row may have a constant of its own. ``priors`` turn likelihoods into posteriors; left
        out, the class frequencies do. Otherwise as :meth:`from_logits`.
        """
        rows = checks.as_log_rows("log_lk", log_lk)
        values = _two_columns_apart(rows)
        return cls._make(y_true, "likelihoods", values, priors, sample_weight)

    @classmethod
    def from_llrs(
        cls,
        y_true: ArrayLike | None,
        llr: ArrayLike,
        *,
        prior: float | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from log-likelihood ratios of class 1 against class 0.

        Parameters
        ----------
        y_true : array-like of int, shape (N,), or None
            0 for non-target, 1 for target.
        llr : array-like of float, shape (N,)
            Natural logarithms; may be infinite, not nan.
        prior : float, optional
            P(class 1), strictly between 0 and 1; by default the weighted frequency of class 1.
        sample_weight : array-like of float, shape (N,), optional
            Finite weights, none negative, not all zero.

        Raises
        ------
        ValueError
            For nan, a prior outside (0, 1), labels other than 0 and 1, or lengths that differ.
        """
        values = checks.as_floats("llr", llr, 1)
        checks.require("llr", values, -np.inf, np.inf, "not be nan")
        return cls._make(y_true, "likelihoods", values, _pair(prior), sample_weight)

    @classmethod
    def from_target_nontarget(
        cls, tar: ArrayLike, non: ArrayLike, *, prior: float | None = None
    ) -> Self:
        """Make predictions from the LLRs of targets and those of non-targets, as two arrays.

        Targets come first. Otherwise as :meth:`from_llrs`.
        """
        targets = checks.as_floats("tar", tar, 1)
        nontargets = checks.as_floats("non", non, 1)
        checks.require("tar", targets, -np.inf, np.inf, "not be nan")
        checks.require("non", nontargets, -np.inf, np.inf, "not be nan")
        y_true = np.repeat(np.array([1, 0], np.uint8), [targets.size, nontargets.size])
        return cls.from_llrs(y_true, np.concatenate([targets, nontargets]), prior=prior)

    @classmethod
    def from_raw_scores(
        cls,
        y_true: ArrayLike | None,
        scores: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make predictions from scores that only rank samples: higher means class 1.

        Rank metrics and calibrators take them; a metric that needs posteriors raises. Infinite
        scores are allowed, nan is not.
        """
        values = checks.as_floats("scores", scores, 1)
        checks.require("scores", values, -np.inf, np.inf, "not be nan")
        return cls._make(y_true, "raw scores", values, None, sample_weight)

    @classmethod
    def _from_log_rows(
        cls,
        y_true: ArrayLike | None,
        rows: Floats,
        priors: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> Self:
        values = _two_columns_apart(rows)
        return cls._make(y_true, "posteriors", values, priors, sample_weight)

    @classmethod
    def _make(
        cls,
        y_true: ArrayLike | None,
        kind: Kind,
        values: Floats,
        priors: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        given: bool = False,
    ) -> Self:
        """Check labels, priors and weights, and set the fields."""
        raise NotImplementedError


def _two_columns_apart(rows: Floats) -> Floats:
    """Return log-odds for two classes, the rows themselves for more."""
    if rows.shape[1] > 2:
        return rows
    with np.errstate(over="ignore"):  # further apart than a float can say: certain
        return np.asarray(rows[:, 1] - rows[:, 0])


def _pair(prior: float | None) -> Floats | None:
    if prior is None:
        return None
    value = checks.as_number("prior", prior)
    if not 0.0 < value < 1.0:
        raise ValueError(f"prior must lie strictly between 0 and 1, not {prior}")
    return np.array([1.0 - value, value])
