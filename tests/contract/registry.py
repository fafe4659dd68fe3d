"""What there is, as objects for some data: by the registries of the package."""

import inspect
from dataclasses import MISSING, fields, replace

import fastpsr as fp
from fastpsr.bootstrap import RESAMPLINGS
from fastpsr.bootstrap.intervals import METHODS as METHODS
from fastpsr.calibration import CALIBRATORS, TRAININGS
from fastpsr.curves import CURVES
from fastpsr.metrics import METRICS
from tests.contract.comparison import outcome

METRIC_KINDS = {kind.__name__: kind for kind in METRICS}
CURVE_FUNCTIONS = {curve.__name__: curve for curve in CURVES}
CALIBRATOR_KINDS = {kind.__name__: kind for kind in CALIBRATORS.values()}
TRAINING_KINDS = {kind.__name__: kind for kind in TRAININGS}
RESAMPLING_KINDS = {kind.__name__: kind for kind in RESAMPLINGS}


#: Their fits depend on the number of rows, not on weights alone: penalties, added samples.
COUNT_ROWS = ("VectorScaling", "MatrixScaling", "Spline", "VennAbers")


def metrics(kind, data, folds=None):
    """Return metrics of a kind, by label; folds that are not passed are dealt by row number."""
    examples = METRIC_KINDS[kind].examples(data)
    labeled = {f"{i} {metric.label}": metric for i, metric in enumerate(examples)}
    if folds is None:
        return labeled
    return {label: of_rows(metric, slice(None), folds) for label, metric in labeled.items()}


def of_rows(metric, index, folds):
    """Return a metric for some rows, if it holds entries of rows: their folds among these."""
    changes = {}
    if hasattr(metric, "spoof"):
        changes["spoof"] = metric.spoof[index]
    if hasattr(metric, "reference") and metric.reference.kind != "raw scores":
        posteriors = metric.reference.posteriors[index]
        changes["reference"] = fp.Predictions.from_posteriors(None, posteriors)
    if isinstance(getattr(metric, "train", None), fp.CrossFit):
        changes["train"] = fp.CrossFit(folds[index])
    return replace(metric, **changes) if changes else metric


def counts_rows(metric_or_calibrator):
    calibrator = getattr(metric_or_calibrator, "calibrator", metric_or_calibrator)
    return type(calibrator).__name__ in COUNT_ROWS or getattr(calibrator, "laplace", False)


def curve(name, data):
    function = CURVE_FUNCTIONS[name]
    return function(data, **CURVES[function](data.n_classes))


def calibrators(kind, n_classes=2):
    """Return calibrators of a kind, each of its options used once."""
    kind = CALIBRATOR_KINDS[kind]
    options = inspect.signature(kind).parameters
    examples = [kind()]
    for name, value in (("rule", fp.rules.Brier()), ("floor", 1e-3), ("laplace", True)):
        if name in options:
            examples.append(kind(**{name: value}))
    if "prior" in options and n_classes == 2:
        examples.append(kind(prior=0.05))
    return examples


def fit_and_transform(calibrator, data, new):
    return calibrator.fit(data).transform(new)


def everything(data, skips=lambda metric: False):
    """Return what is computed of data, in memory or in parts, by kind and label."""
    results = {}
    for kind in METRIC_KINDS:
        for label, metric in metrics(kind, data).items():
            if not skips(metric):
                results[kind, label] = outcome(metric, data)
    for name in CURVE_FUNCTIONS:
        results[name, ""] = outcome(curve, name, data)
    for kind in CALIBRATOR_KINDS:
        results[kind, ""] = outcome(fit_and_transform, calibrators(kind)[0], data, data)
    return results


def trainings(kind, data, columns):
    """Return trainings of a kind; columns are arrays, or names for data in parts."""
    kind = TRAINING_KINDS[kind]
    options = inspect.signature(kind).parameters
    examples = kind.examples(data)
    if "groups" in options:
        examples += [kind(3, groups=columns["unit"], seed=2)]
        examples += [kind(4, groups=(columns["left"], columns["right"]))]
    if "folds" in options:
        examples.append(kind(columns["fold"]))
    return examples


def resampling(kind, columns):
    """Return the scheme, with ids of units, or of speakers on both sides, if it takes these."""
    kind = RESAMPLING_KINDS[kind]
    n_ids = sum(field.default is MISSING for field in fields(kind))
    names = ("left", "right") if n_ids == 2 else ("unit",)
    return kind(*(columns[name] for name in names[:n_ids]))
