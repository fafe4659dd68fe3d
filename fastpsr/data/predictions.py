"""`Predictions`: the output of a classifier, validated once, with labels, priors and weights."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.data.columns import Columns, GivenColumns
from fastpsr.data.labeled import KINDS, Floats, ScoredLabels, ScoreKind
from fastpsr.data.logits import Logits
from fastpsr.data.suspicion import look_at_logits
from fastpsr.errors import ArgumentError
from fastpsr.frames import (
    class_names_of,
    names_of,
    require_class_order,
    row_order_of,
)
from fastpsr.options import with_hints


class Predictions(ScoredLabels):
    """Posteriors, likelihoods or raw scores of N samples, with labels, priors and weights.

    Create them with one of the constructors ``from_...``, which validate their input. Contiguous
    arrays of float64, and of float32 logits of several classes, are referenced, not copied: do not
    modify them afterwards.

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
    class_names : tuple of str, length K, or None
        Labels of the classes: those listed in `classes`, or names of the columns of a data frame.
        Tables, figures and messages show them; ``class_="malignant"`` selects one.
    columns : mapping of str to ndarray of shape (N,)
        Columns beside the scores, such as ids of speakers: those that a constructor was given.
        Subsets and calibrated predictions have them, too.

    Notes
    -----
    ``priors`` are the class priors that the evaluation assumes: the weight of each sample is
    multiplied by the prior of its class and divided by the total weight of its class (Ferrer and
    Ramos, 2024, appendix A). By default they are the weighted class frequencies of the data; a
    subset then has its own frequencies. Posteriors are fixed when the object is created.

    Rows of arrays, series and data frames belong together by position. Where pandas objects have
    the same index in different orders, an error is raised, also for ids of groups and clusters.

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

    Columns beside the scores have names:

    >>> speakers = ["anna", "ben", "ben"]
    >>> data = fp.Predictions.from_llrs([0, 1, 1], [-2, 3, 0.5], columns={"speaker": speakers})
    >>> data[1:].columns["speaker"].tolist()
    ['ben', 'ben']
    """

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
        columns: GivenColumns | None = None,
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
            than this tolerance are set to 0 or 1. Columns of a data frame are taken in their order;
            their names are the classes if `y_true` has labels in words and there are no `classes`;
            an error is raised if they have the names of the classes in another order.
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
        columns : dict of str to array-like of shape (N,), optional
            Columns beside the scores: ids of groups, clusters or speakers, folds, measures.
            Arguments such as ``by="gender"`` or ``fp.Clusters("patient")`` name them.

        Notes
        -----
        Of (N, 2) posteriors both columns count: losses and ranks are of log q[:, 1] - log q[:, 0],
        which tells a posterior of 1 - 1e-17 from one of 1 - 1e-40. In one column, (N,), both are
        1: they are tied, and their loss is infinite for samples of class 0.

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
        return cls._read(
            "posteriors", "q", y_true, q, priors, sample_weight, classes, columns, normalize, floor
        )

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
        columns: GivenColumns | None = None,
    ) -> Self:
        """Make predictions from natural logarithms of posteriors, shape (N, K).

        ``-inf`` is a posterior of 0. The exponentials of each row must sum to 1, unless `normalize`
        is true; they are normalized in both cases. Otherwise as :meth:`from_posteriors`.
        """
        return cls._read(
            "log-posteriors", "log_q", y_true, log_q, priors, sample_weight, classes, columns,
            normalize, floor,
        )  # fmt: skip

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
        columns: GivenColumns | None = None,
    ) -> Self:
        """Make predictions from logits: (N, K) for a softmax, (N,) for the log-odds of class 1.

        Rows may contain ``-inf``, but need a finite entry, and must not contain ``+inf``; log-odds
        may be infinite. Otherwise as :meth:`from_posteriors`.

        Rows of more than two classes are checked in one pass and kept as they are. Cross-entropy,
        Brier score, Bayes risk and calibration error are computed from them, with N float64 numbers
        of room; log-posteriors of all rows are made, and kept, where they are needed, such as for
        calibrators.

        Warns
        -----
        SuspicionWarning
            If at least 10 rows all look like probabilities: in [0, 1], and rows that sum to 1.
        """
        return cls._read("logits", "z", y_true, z, priors, sample_weight, classes, columns)

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
        columns: GivenColumns | None = None,
    ) -> Self:
        """Make predictions from log-likelihoods of the classes, shape (N, K), natural logarithms.

        A constant may be added to each row. Likelihoods are converted to posteriors with `priors`,
        by default the class frequencies. Otherwise as :meth:`from_logits`.
        """
        return cls._read(
            "log-likelihoods", "log_lk", y_true, log_lk, priors, sample_weight, classes, columns
        )

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
        columns: GivenColumns | None = None,
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
        columns : dict of str to array-like of shape (N,), optional
            Columns beside the scores, see :meth:`from_posteriors`.

        Raises
        ------
        ArgumentError
            If there are nan, a prior outside (0, 1), labels that are not classes, or arrays of
            different lengths.
        """
        priors = _pair(prior)
        return cls._read("llrs", "llr", y_true, llr, priors, sample_weight, classes, columns)

    @classmethod
    @with_hints
    def from_target_nontarget(
        cls,
        tar: ArrayLike,
        non: ArrayLike,
        *,
        prior: float | None = None,
        columns: GivenColumns | None = None,
    ) -> Self:
        """Make predictions from two arrays, the LLRs of targets and of non-targets.

        Targets come first. Otherwise as :meth:`from_llrs`.
        """
        targets, nontargets = checks.as_scores("tar", tar), checks.as_scores("non", non)
        y_true = np.repeat(np.array([1, 0], np.uint8), [targets.size, nontargets.size])
        llrs = np.concatenate([targets, nontargets])
        return cls.from_llrs(y_true, llrs, prior=prior, columns=columns)

    @classmethod
    @with_hints
    def from_raw_scores(
        cls,
        y_true: ArrayLike | None,
        scores: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        columns: GivenColumns | None = None,
    ) -> Self:
        """Make predictions from scores that only rank samples: higher means class 1.

        They can be used by metrics that depend on ranks and by calibrators; metrics that need
        posteriors raise an error. Infinite scores are allowed, nan is not.
        """
        return cls._read(
            "raw scores", "scores", y_true, scores, None, sample_weight, classes, columns
        )

    @classmethod
    @with_hints
    def of(
        cls,
        kind: ScoreKind,
        y_true: ArrayLike | None,
        scores: ArrayLike,
        *,
        priors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        normalize: bool = False,
        floor: float = 0.0,
        columns: GivenColumns | None = None,
    ) -> Self:
        """Make predictions from scores whose kind is a value, such as an option of a program.

        Parameters
        ----------
        kind : str
            Kind of the scores; the constructor of each kind documents its input:

            - "posteriors": :meth:`from_posteriors`; (N, K), or (N,) for P(class 1);
            - "log-posteriors": :meth:`from_log_posteriors`; (N, K);
            - "logits": :meth:`from_logits`; (N, K), or (N,) for log-odds of class 1;
            - "log-likelihoods": :meth:`from_log_likelihoods`; (N, K);
            - "llrs": :meth:`from_llrs`; (N,), natural logarithms;
            - "log10 llrs": LLRs in decimal logarithms, which are multiplied by ln 10;
            - "likelihoods": LLRs if the shape is (N,), else log-likelihoods;
            - "raw scores": :meth:`from_raw_scores`; (N,).
        y_true : array-like, shape (N,), or None
            True classes: integers 0 to K-1, booleans, or the labels listed in `classes`.
        scores : array-like of float, shape (N,) or (N, K)
        priors : array-like of float, shape (K,), optional
            Class priors of the evaluation; by default the class frequencies. Not for raw scores,
            and both above 0 for LLRs.
        sample_weight : array-like of float, shape (N,), optional
            Finite weights, none negative.
        classes : array-like, shape (K,), optional
            Labels in the order of the columns; in binary tasks [negative, positive].
        normalize, floor : optional
            For posteriors and log-posteriors: see :meth:`from_posteriors`.
        columns : dict of str to array-like of shape (N,), optional
            Columns beside the scores, see :meth:`from_posteriors`.

        Raises
        ------
        ArgumentError
            If there is no such kind, for arguments that the kind has no use for, and for whatever
            the constructor refuses.

        Examples
        --------
        >>> import fastpsr as fp
        >>> data = fp.Predictions.of("log10 llrs", [0, 1], [-2.0, 1.0], priors=[0.9, 0.1])
        >>> data.kind, data.llrs.round(4).tolist()
        ('likelihoods', [-4.6052, 2.3026])
        """
        checks.check_choice("kind", kind, tuple(KINDS))
        if kind == "likelihoods":
            column = checks.as_column(checks.read("scores", scores))
            kind = "llrs" if column.ndim == 1 else "log-likelihoods"
        check_options(kind, priors, normalize, floor)
        if priors is not None and kind in ("llrs", "log10 llrs"):
            priors = _pair(float(checks.as_priors("priors", priors, 2)[1]), "priors")
        return cls._read(
            kind, "scores", y_true, scores, priors, sample_weight, classes, columns, normalize,
            floor,
        )  # fmt: skip

    @classmethod
    def _read(
        cls,
        kind: ScoreKind,
        name: str,
        y_true: ArrayLike | None,
        scores: ArrayLike,
        priors: ArrayLike | None,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None,
        columns: GivenColumns | None,
        normalize: bool = False,
        floor: float = 0.0,
    ) -> Self:
        """Check scores, called `name` in messages, and make predictions of them."""
        if kind in ("posteriors", "log-posteriors"):
            checks.require_one_label("y_true", y_true)
        names = names_of(scores)
        if classes is None and len(names) > 1 and checks.first_word(y_true) in names:
            classes = names  # labels in words that are the names of the columns
        require_class_order(name, names, classes)
        order = row_order_of(**{"y_true": y_true, name: scores, "sample_weight": sample_weight})
        low = checks.as_floor(floor)
        if kind == "posteriors":
            values: Any = checks.as_posteriors(name, scores, normalize=normalize, floor=low)
        elif kind == "log-posteriors":
            log_q = checks.as_log_posterior_rows(name, scores, normalize=normalize, floor=low)
            values = _two_columns_apart(log_q)
        elif kind == "logits":
            values = _read_logits(name, scores)
        elif kind == "log-likelihoods":
            values = _two_columns_apart(checks.as_log_rows(name, scores))
        else:
            values = checks.as_scores(name, scores)
            if kind == "log10 llrs":
                values = np.log(10.0) * np.asarray(values, dtype=np.float64)
        is_given = kind == "posteriors"
        new = cls._make(y_true, kind, values, priors, sample_weight, classes, given=is_given)
        new.row_order = order
        new.class_names = class_names_of(classes, new.n_classes)
        if columns is not None:
            new.columns = Columns.of(columns, len(new), order)
        return new

    @classmethod
    def _make(
        cls,
        y_true: ArrayLike | None,
        kind: ScoreKind,
        values: NDArray[Any] | Logits,
        priors: ArrayLike | None,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None = None,
        *,
        given: bool = False,
    ) -> Self:
        """Check labels, priors and weights, and set the fields."""
        new = cls.__new__(cls)
        new.kind = KINDS[kind]
        new._logits = values if isinstance(values, Logits) else None
        values = values.rows if isinstance(values, Logits) else values
        new.n_classes = values.shape[1] if values.ndim == 2 else 2
        new._values = values
        new._has_posteriors = new._are_posteriors = given
        n_samples = values.shape[0]
        new.y_true = None
        if y_true is not None:
            new.y_true = checks.as_labels(
                "y_true", y_true, n_samples, new.n_classes, classes, takes_classes=True
            )
        new.weights = checks.as_weights("sample_weight", sample_weight, n_samples)
        new.given_priors = None
        if priors is not None:
            new.given_priors = checks.as_priors("priors", priors, new.n_classes)
        new._posterior_priors = new.given_priors
        new._whole_weights = None
        return new

    def __dir__(self) -> list[str]:
        """Return the public names; the rest is for other modules of the library."""
        return sorted(_FOR_USERS)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError("Predictions are no array: use .posteriors, .log_odds, .llrs or .scores")

    def __repr__(self) -> str:
        labeled = "" if self.y_true is not None else ", unlabeled"
        return (
            f"<Predictions: {len(self):,} samples, {self.n_classes} classes, {self.kind}{labeled}>"
        )

    def _shown(self) -> list[tuple[str, object]]:
        return [
            ("samples", f"{len(self):,}"),
            ("labels", "none" if self.y_true is None else "given"),
            ("weights", "given" if self.has_weights else "none"),
            ("columns", ", ".join(self.columns) or "none"),
        ]

    def as_llrs(self, prior: float | None = None, *, training_prior: float | None = None) -> Self:
        """Return binary predictions as likelihoods: LLRs, the log-odds without their prior.

        Parameters
        ----------
        prior : float, optional
            P(class 1) of the result, as in :meth:`from_llrs`; by default the frequency of class 1.
            `training_prior` is the prior to remove.
        training_prior : float, optional
            P(class 1) that the posteriors contain, for example its frequency in the training data;
            its logit is subtracted. By default from ``priors``: the given priors, or else the class
            frequencies of these samples. Not for likelihoods, which contain none.

        Examples
        --------
        >>> import fastpsr as fp
        >>> data = fp.Predictions.from_posteriors([0, 0, 0, 1], [0.1, 0.2, 0.5, 0.8])
        >>> data.as_llrs().llrs.round(2).tolist()  # of a test set with a quarter of class 1
        [-1.1, -0.29, 1.1, 2.48]
        >>> data.as_llrs(training_prior=0.5).llrs.round(2).tolist()
        [-2.2, -1.39, 0.0, 1.39]
        """
        trained_at = _pair(training_prior, "training_prior")
        if trained_at is None:
            llrs = self.llrs
        elif self.kind == "likelihoods":
            raise ArgumentError("training_prior", "is for posteriors: likelihoods contain no prior")
        else:
            llrs = self.log_odds - float(np.log(trained_at[1]) - np.log(trained_at[0]))
        new = self.replace_scores("likelihoods", llrs)
        new.given_priors = None if prior is None else np.array([1.0 - prior, prior])
        new._posterior_priors = new.given_priors
        return new


_FOR_USERS = {
    "as_llrs", "balanced_weights", "class_names", "class_sizes", "class_weights", "columns",
    "from_llrs", "from_log_likelihoods", "from_log_posteriors", "from_logits", "from_posteriors",
    "from_raw_scores", "from_target_nontarget", "given_priors", "kind", "labels", "llrs",
    "log_odds", "log_posteriors", "n_classes", "of", "positive_posteriors", "posteriors",
    "priors", "sample_weight", "scores", "y_true",
}  # fmt: skip


def check_options(kind: ScoreKind, priors: ArrayLike | None, normalize: bool, floor: float) -> None:
    """Raise where scores of a kind have no use for an argument."""
    if priors is not None and kind == "raw scores":
        raise ArgumentError("priors", "are not for raw scores, which only rank samples")
    for name, value in (("normalize", normalize), ("floor", floor)):
        if value and kind not in ("posteriors", "log-posteriors"):
            raise ArgumentError(name, f"is for posteriors, not for {kind}")


def _read_logits(name: str, z: ArrayLike) -> NDArray[Any] | Logits:
    """Return log-odds, or rows for more than two classes."""
    column = checks.as_column(checks.read(name, z))
    look_at_logits(column)
    if column.ndim == 1:
        return checks.as_scores(name, column)
    if column.shape[1:] == (2,):  # log-odds need no normalization
        return _two_columns_apart(checks.as_log_rows(name, column))
    return Logits.read(name, column)


def _two_columns_apart(rows: NDArray[Any]) -> NDArray[Any]:
    """Return log-odds for two classes; return the rows unchanged for more."""
    if rows.shape[1] > 2:
        return rows
    with np.errstate(over="ignore"):  # the difference may overflow to inf: a certain class
        return np.asarray(np.subtract(rows[:, 1], rows[:, 0], dtype=np.float64))


def _pair(prior: float | None, name: str = "prior") -> Floats | None:
    if prior is None:
        return None
    value = checks.as_inner_number(name, prior)
    return np.array([1.0 - value, value])
