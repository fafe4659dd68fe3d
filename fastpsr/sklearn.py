"""Calibrators and metrics of fastpsr as estimators and scorers of scikit-learn.

Needs the extra ``sklearn``; imported only when asked for, ``import fastpsr.sklearn``.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.calibration.affine import DirectionPreserving
from fastpsr.calibration.base import as_calibrator
from fastpsr.calibration.histogram_binning import HistogramBinning
from fastpsr.calibration.linear_rows import NoOptimumError
from fastpsr.calibration.log_odds import floored
from fastpsr.calibration.pav import PAV
from fastpsr.calibration.venn_abers import VennAbers
from fastpsr.counts.scores import count_infinite_losses
from fastpsr.data import Floats, Predictions
from fastpsr.errors import ArgumentError, PackageWarning, warn
from fastpsr.metrics import Metric, Threshold
from fastpsr.metrics.defaults import named_metric

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import check_cv
    from sklearn.utils import Bunch, get_tags, indexable
    from sklearn.utils import _safe_indexing as rows_of
    from sklearn.utils.metadata_routing import (
        MetadataRequest,
        MetadataRouter,
        MethodMapping,
        process_routing,
    )
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_method_params,
        _check_sample_weight,
        check_is_fitted,
        column_or_1d,
        has_fit_parameter,
    )
except ImportError as error:
    message = 'fastpsr.sklearn needs scikit-learn 1.6 or later: pip install "fastpsr[sklearn]"'
    raise ImportError(message) from error

__all__ = ["CalibratedClassifier", "make_scorer"]

_FLOOR = 0.01  # best for forests among floors tried on six data sets


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose posteriors are calibrated by a calibrator of fastpsr.

    ``fit`` predicts each sample with a copy of the estimator that was trained on other folds, fits
    the calibrator to these predictions, and trains the estimator on all samples.

    Parameters
    ----------
    estimator : classifier
        With ``decision_function``, whose values are taken as log-odds or, for several classes, as
        logits; or else with ``predict_proba``. A classifier that is trained already is passed as
        ``sklearn.frozen.FrozenEstimator(classifier)``: the calibrator is fitted to its predictions.
    calibrator : calibrator, optional
        One of fastpsr's, or an object with ``fit(predictions)`` and ``transform(predictions)``.
        By default ``DirectionPreserving()``; with two classes this is Platt scaling without his
        smoothing. ``PAV()`` takes two classes only.
    cv : int, splitter, or iterable of (train, test), optional
        Folds, as scikit-learn understands them; by default 5, stratified by class.
    floor : float, optional
        Posteriors of the estimator are clipped to [floor, 1 - floor] and divided by their sum
        before they are calibrated: an affine calibrator leaves a posterior of 0 as it is, and
        forests give many. By default 0.01 if a posterior in a fold is exactly 0 or 1, and the
        calibrator has no floor of its own; else 0. For calibrators with steps (PAV, Venn-Abers,
        histogram binning), which map a posterior of 0 as any other, it is 0.01 only if the
        posterior of a true class is 0 in a fold.

    Attributes
    ----------
    estimator_ : classifier
        Trained on all samples.
    calibrator_ : calibrator
        Fitted to the predictions of the folds.
    floor_ : float
        The floor of the posteriors that the calibrator takes; it may have another of its own.
    classes_ : ndarray, shape (K,)
        Labels in ascending order; class 1 of a binary calibrator is the second.

    Warns
    -----
    RuntimeWarning
        If the predictions separate the classes perfectly, so that an affine calibrator has no
        optimum. It is then fitted to Platt's smoothed targets, (N + 1) / (N + K) for the class of a
        sample and 1 / (N + K) for each other, where N is the weight of its class.

    Notes
    -----
    ``sample_weight`` of ``fit`` weights the samples of the calibrator, and is passed to the
    estimator: if it takes weights, or, with metadata routing, if it requests them. Parameters of
    the calibrator are set as ``calibrator__floor``, in ``set_params`` and ``GridSearchCV``.

    ``CalibratedClassifierCV`` of scikit-learn averages, by default, a calibrated classifier per
    fold; this class is like its ``ensemble=False``. Its ``method="temperature"`` adds 1e-12 to
    posteriors, which is like ``floor=1e-12`` here: better than 0.01 for classifiers that are far
    too certain, such as naive Bayes.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods", Advances in Large Margin Classifiers, 1999.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from fastpsr.sklearn import CalibratedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import LinearSVC
    >>> X, y = make_classification(200, flip_y=0.2, random_state=0)
    >>> y = ["ham" if label else "spam" for label in y]
    >>> classifier = CalibratedClassifier(LinearSVC(), fp.PAV(floor=0.01)).fit(X, y)
    >>> classifier.classes_.tolist(), classifier.predict(X[:2]).tolist()
    (['ham', 'spam'], ['spam', 'ham'])
    >>> classifier.predict_proba(X[:2]).round(2).tolist()
    [[0.12, 0.88], [0.99, 0.01]]
    """

    def __init__(
        self, estimator: Any, calibrator: Any = None, cv: Any = None, floor: float | None = None
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.floor = floor

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the estimator and the calibrator.

        Parameters
        ----------
        X : array-like, shape (N, features)
            Passed to the estimator as it is.
        y : array-like, shape (N,)
            Labels of any type.
        sample_weight : array-like, shape (N,), optional
        **fit_params
            Passed to the ``fit`` of the estimator; with metadata routing also to ``split`` of `cv`.

        Raises
        ------
        ValueError
            If a training fold lacks a class, or the calibrator cannot be fitted to the predictions.
        """
        X, y = indexable(X, y)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ArgumentError(
                "y", f"must have samples of at least two classes, not one class: {self.classes_}"
            )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        routed = self._routed(sample_weight, fit_params)
        calibrator = as_calibrator(_or_default(self.calibrator))
        calibrator.check_classes(self.classes_.size)
        parts = []
        splits = check_cv(self.cv, y, classifier=True).split(X, y, **routed.splitter.split)
        for train, test in splits:
            of_estimator = _check_method_params(X, routed.estimator.fit, train)
            trained = clone(self.estimator).fit(
                rows_of(X, train), rows_of(y, train), **of_estimator
            )
            own_weights = None if weights is None else weights[test]
            parts.append(self._predict(trained, rows_of(X, test), labels[test], own_weights))
        samples = Predictions.joined(parts)
        self.floor_ = self._floor_for(samples, calibrator)
        samples = floored(samples, self.floor_)
        try:
            self.calibrator_ = calibrator.fit(samples)
        except NoOptimumError as error:
            message = f"{error.problem}: fitted to Platt's smoothed targets instead of the labels"
            warn(message)
            self.calibrator_ = calibrator.fit(_smoothed(samples))
        self.estimator_ = clone(self.estimator).fit(X, y, **routed.estimator.fit)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return calibrated posteriors, shape (N, K), columns in the order of `classes_`."""
        check_is_fitted(self)
        samples = floored(self._predict(self.estimator_, X), self.floor_)
        calibrated: Predictions = self.calibrator_.transform(samples)
        return calibrated.posteriors

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of the most probable class, the first one on ties, shape (N,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])

    def _predict(
        self,
        estimator: Any,
        X: Any,
        labels: NDArray[Any] | None = None,
        weights: Floats | None = None,
    ) -> Predictions:
        """Return the predictions of a trained estimator, with these labels and weights."""
        if not np.array_equal(estimator.classes_, self.classes_):
            raise ArgumentError(
                "cv",
                f"must leave samples of every class to train on, of {self.classes_.tolist()}, but "
                f"a fold has only {estimator.classes_.tolist()}",
                remedy="use fewer folds, stratified by class",
            )
        if hasattr(estimator, "decision_function"):
            values = estimator.decision_function(X)
            n_columns = values.shape[1] if values.ndim == 2 else 2
            if n_columns != self.classes_.size:
                raise ArgumentError(
                    "estimator",
                    f"must have a column of decision_function for each of {self.classes_.size} "
                    f"classes, not {n_columns}",
                    remedy='use decision_function_shape="ovr"',
                )
            return Predictions.from_logits(labels, values, sample_weight=weights)
        return _from_posteriors(estimator, X, labels, weights)

    def _floor_for(self, samples: Predictions, calibrator: Any) -> float:
        """Return the floor of the posteriors: as given, else one where 0 would stay 0."""
        if self.floor is not None:
            return checks.as_floor(self.floor)
        if getattr(calibrator, "floor", 0.0):
            return 0.0
        if isinstance(calibrator, (PAV, HistogramBinning, VennAbers)):
            needs_floor = count_infinite_losses(samples) > 0
        else:
            needs_floor = not samples.present().has_finite_scores
        return _FLOOR if needs_floor else 0.0

    # Parameters and metadata, in the words of scikit-learn

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep` also of the estimator and the calibrator."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            params |= {
                f"calibrator__{name}": getattr(self.calibrator, name)
                for name in _options_of(self.calibrator)
            }
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``calibrator__floor`` replaces the calibrator by one with this floor.

        Without a calibrator, these are options of the default, ``DirectionPreserving()``.
        """
        calibrator = _or_default(params.get("calibrator", self.calibrator))
        known = _options_of(calibrator)
        options = {
            name.removeprefix("calibrator__"): params.pop(name)
            for name in list(params)
            if name.startswith("calibrator__") and known
        }
        for name in options.keys() - set(known):
            rule = f"must be one of its options, {', '.join(known)}, not {name}"
            raise ArgumentError("calibrator", rule, name=f"parameters of {calibrator!r}")
        if options:
            params["calibrator"] = replace(calibrator, **options)
        super().set_params(**params)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata for the estimator and for `cv`."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator)
        tags.input_tags.sparse = of_estimator.input_tags.sparse
        tags.classifier_tags.multi_class = of_estimator.classifier_tags.multi_class
        return tags

    def _routed(self, sample_weight: Any, fit_params: dict[str, Any]) -> Bunch:
        """Return the metadata for the estimator and for `cv`."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
        if sample_weight is not None:
            if has_fit_parameter(self.estimator, "sample_weight"):
                fit_params = {**fit_params, "sample_weight": sample_weight}
            elif not isinstance(self.estimator, FrozenEstimator):  # which is not trained
                warn(
                    UnusedWeightsWarning(
                        f"{type(self.estimator).__name__} takes no sample_weight: weights are "
                        "used for the calibrator only"
                    )
                )
        return Bunch(estimator=Bunch(fit=fit_params), splitter=Bunch(split={}))


class UnusedWeightsWarning(PackageWarning, UserWarning):
    """An estimator takes no weights."""


def _or_default(calibrator: Any) -> Any:
    return DirectionPreserving() if calibrator is None else calibrator


def _options_of(calibrator: Any) -> list[str]:
    """Return the names of the arguments of a calibrator that it does not set itself."""
    if not is_dataclass(calibrator) or hasattr(calibrator, "set_params"):
        return []
    return [field.name for field in fields(calibrator) if field.init]


def _smoothed(samples: Predictions) -> Predictions:
    """Return each sample once per class, with Platt's smoothed targets as weights."""
    n, n_classes = len(samples), samples.n_classes
    labels = np.tile(np.arange(n_classes), n)
    of_sample = np.repeat(samples.labels, n_classes)
    totals = samples.class_weights[of_sample]
    targets = (totals * (labels == of_sample) + 1.0) / (totals + n_classes)
    if samples.has_weights:
        targets *= np.repeat(samples.weights, n_classes)
    scores = np.repeat(samples.scores, n_classes, axis=0)
    return Predictions.from_logits(labels, scores, sample_weight=targets)


def make_scorer(metric: Metric[Any] | str) -> "MetricScorer":
    """Return a scorer of scikit-learn that computes a metric of fastpsr.

    Parameters
    ----------
    metric : Metric, or str
        A metric, or its name in default tables, such as "NCE". The score is its negative, unless
        larger values are better (``metric.higher_is_better``).

    Returns
    -------
    MetricScorer
        For ``scoring=`` in ``cross_val_score``, ``GridSearchCV`` and the others; called as
        ``scorer(estimator, X, y, sample_weight=None)``. With metadata routing, weights are
        requested with ``make_scorer(metric).set_score_request(sample_weight=True)``.

    Raises
    ------
    ValueError
        For :class:`fastpsr.Threshold`: neither higher nor lower values are better; and
        when called, if the estimator has no ``predict_proba`` and the metric is not one of ranks,
        or for a label that the estimator was not trained on.

    Notes
    -----
    Labels may be of any type: the columns of ``predict_proba`` are the estimator's ``classes_``,
    and the positive class of a binary task is the second. Metrics of ranks (EER, AUC, minDCF,
    minCllr) are computed from ``decision_function`` where there is one. Metrics of LLRs (Cllr,
    actDCF) subtract the log-odds of the class frequencies in the test data from the log-odds of
    the posteriors.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from fastpsr.sklearn import make_scorer
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(200, flip_y=0.2, random_state=0)
    >>> y = ["ham" if label else "spam" for label in y]
    >>> scorer = make_scorer(fp.CrossEntropy())
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer, cv=3).round(2).tolist()
    [-0.59, -0.63, -0.74]
    """
    return MetricScorer(metric)


class MetricScorer:
    """A metric as a scorer of scikit-learn; see :func:`make_scorer`."""

    def __init__(self, metric: Metric[Any] | str) -> None:
        self._name = metric if isinstance(metric, str) else ""
        if isinstance(metric, str):  # of two classes, until there are some
            try:
                metric = _by_name(self._name, 2)
            except ArgumentError:
                metric = _by_name(self._name, 3)
        checks.check_instance("metric", metric, Metric, "a metric, such as CrossEntropy()")
        if isinstance(metric, Threshold):
            rule = f"must tell better estimators from worse, which {metric!r} does not"
            raise ArgumentError("metric", rule, remedy=f"pass {metric.metric!r}")
        self.metric = metric
        self._weights_are: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None) -> float:
        """Return the score of an estimator: higher is better."""
        n_classes = len(estimator.classes_)
        metric = _by_name(self._name, n_classes) if self._name else self.metric
        value = metric(self._predict(estimator, X, y_true, sample_weight))
        return value if self.metric.higher_is_better else -value

    def __repr__(self) -> str:
        return f"make_scorer({(self._name or self.metric)!r})"

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Request weights where metadata are routed; as in scikit-learn, a string is an alias."""
        self._weights_are = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the requested metadata."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._weights_are)
        return request

    def _accept_sample_weight(self) -> bool:
        return True

    def _predict(self, estimator: Any, X: Any, y_true: Any, weights: Any) -> Predictions:
        classes = list(estimator.classes_)
        takes_scores = self.metric._takes == "scores" and len(classes) == 2
        is_of_class = getattr(self.metric, "class_", None) is not None
        if takes_scores and not is_of_class and hasattr(estimator, "decision_function"):
            values = estimator.decision_function(X)
            return Predictions.from_raw_scores(
                y_true, values, sample_weight=weights, classes=classes
            )
        if not hasattr(estimator, "predict_proba"):
            raise ArgumentError(
                "estimator",
                f"must have predict_proba for {self.metric.label}, as {type(estimator).__name__} "
                "has not",
                remedy="wrap it, CalibratedClassifier(estimator)",
            )
        return _from_posteriors(estimator, X, y_true, weights, classes)


def _by_name(text: str, n_classes: int) -> Metric[Any]:
    return cast("Metric[Any]", named_metric(text, n_classes, "posteriors", "metric")[1])


def _from_posteriors(
    estimator: Any, X: Any, y_true: Any, weights: Any, classes: list[Any] | None = None
) -> Predictions:
    """Return the posteriors of an estimator; errors use the user's terms."""
    q = estimator.predict_proba(X)
    try:
        return Predictions.from_posteriors(y_true, q, sample_weight=weights, classes=classes)
    except ArgumentError as error:
        if error.argument != "q":
            raise
        remedy = "wrap the estimator in one that divides rows by their sums"
        raise error.renamed(f"{type(estimator).__name__}.predict_proba", remedy=remedy) from None
