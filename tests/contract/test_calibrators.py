"""Every calibrator: the optimum of its objective, its bounds, what it refuses, and its folds."""

import copy
import itertools

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.calibration.smooth import SmoothCalibrator
from tests.contract import registry
from tests.contract.comparison import OPTIMUM, ROUNDING, outcome, require_same
from tests.contract.data import Case

FLOOR = 1e-3
MULTICLASS = "posteriors of 3 classes"
STEPS = ("PAV", "VennAbers", "HistogramBinning")
WITHOUT_STEPS = (SmoothCalibrator, fp.VectorScaling, fp.MatrixScaling)
#: Attributes of which no small change lowers the mean loss on the training data.
OPTIMAL = {
    "DirectionPreserving": ("scale_", "bias_"),
    "TemperatureScaling": ("scale_",),
    "BetaCalibration": ("parameters_",),
    "PAV": ("posterior_",),
    "HistogramBinning": ("posterior_",),
}
each_kind = pytest.mark.parametrize("name", registry.CALIBRATOR_KINDS)


def with_changed(fitted, attribute, change):
    changed = copy.copy(fitted)
    object.__setattr__(changed, attribute, getattr(fitted, attribute) + change)
    return changed


@pytest.mark.parametrize("kind", ["posteriors", "LLRs", "posteriors of 3 classes"])
@pytest.mark.parametrize("name", OPTIMAL)
def test_no_small_change_lowers_the_loss(name, kind):
    case = Case(kind, weights="fractions")
    data = case.predictions()
    for calibrator in registry.calibrators(name, case.n_classes)[:2]:
        if getattr(calibrator, "floor", 0.0) or not calibrator.suits(data):
            continue
        loss = fp.ExpectedScore(getattr(calibrator, "rule", fp.rules.Log()), normalized=False)
        fitted = calibrator.fit(data)
        least = loss(fitted.transform(data))
        assert least < loss(data)
        for attribute in OPTIMAL[name]:
            value = np.asarray(getattr(fitted, attribute))
            for place in np.ndindex(value.shape):
                for step in (-1e-3, 1e-3):
                    change = np.zeros(value.shape)
                    change[place] = step
                    if attribute == "posterior_" and not 0.0 < value[place] + step < 1.0:
                        continue
                    changed = with_changed(fitted, attribute, change)
                    assert loss(changed.transform(data)) > least - ROUNDING, (attribute, place)


@each_kind
def test_a_fit_is_no_worse_than_the_priors_and_changes_nothing_else(name):
    for kind in ("posteriors", "LLRs", "raw scores", "logits of 3 classes"):
        data = Case(kind).predictions()
        for calibrator in registry.calibrators(name, data.n_classes):
            if not calibrator.suits(data) or getattr(calibrator, "prior", None):
                continue
            before = repr(calibrator)
            fitted = outcome(calibrator.fit, data)
            if isinstance(fitted, fp.ArgumentError):
                assert fitted.argument == "floor"
                assert kind == "raw scores"
                continue
            assert repr(calibrator) == before
            assert not hasattr(calibrator, "domain_")
            transformed = fitted.transform(data)
            assert transformed.kind == (
                "posteriors" if data.kind == "posteriors" else "likelihoods"
            )
            assert fp.CrossEntropy()(transformed) < 1.0


@each_kind
def test_maps_of_binary_scores_do_not_decrease(name):
    if name == "HistogramBinning":
        return
    for kind, scores in (("LLRs", "infinite"), ("posteriors", "infinite"), ("logits", "tied")):
        case = Case(kind, scores)
        ends = [0.0, 1.0] if kind == "posteriors" else [-np.inf, np.inf]
        make = getattr(fp.Predictions, f"from_{kind.lower()}")
        new = make(np.arange(302) % 2, np.sort([*ends, *case.rows["scores"]]))
        for calibrator in registry.calibrators(name):
            transformed = outcome(calibrator.fit, case.predictions()).transform(new).log_odds
            assert not np.isnan(transformed).any()
            highest_before = np.maximum.accumulate(transformed)[:-1]
            assert (transformed[1:] >= highest_before - 1e-9).all(), f"{calibrator} of {case}"


@each_kind
def test_a_floor_bounds_what_a_sample_costs(name):
    calibrators = [c for c in registry.calibrators(name) if getattr(c, "floor", 0.0)]
    of_kinds = [Case(kind, "infinite").predictions() for kind in ("posteriors", MULTICLASS)]
    for calibrator, data in itertools.product(calibrators, of_kinds):
        if not calibrator.suits(data):
            continue
        assert np.isinf(fp.CrossEntropy()(data))
        transformed = outcome(calibrator.fit, data).transform(data)
        assert np.isfinite(transformed.log_posteriors).all()
        if name in STEPS:
            bounds = transformed.posteriors.min(), transformed.posteriors.max()
            assert bounds[0] >= FLOOR * (1.0 - ROUNDING)
            assert bounds[1] <= 1.0 - FLOOR * (1.0 - 1e-9)
        else:  # what is fitted and transformed is clipped
            clipped = fp.Predictions.from_posteriors(data.y_true, data.posteriors, floor=FLOOR)
            unclipped = registry.CALIBRATOR_KINDS[name]()
            expected = registry.fit_and_transform(unclipped, clipped, clipped)
            require_same(transformed, expected, OPTIMUM)


#: Data -> whether a kind refuses them, and the argument that the error names.
REFUSED = {
    Case(scores="separated"): (lambda kind: issubclass(kind, WITHOUT_STEPS), "scores"),
    Case(scores="constant"): (lambda kind: issubclass(kind, SmoothCalibrator), "scores"),
    Case("raw scores"): (lambda kind: kind.needs_posteriors, "predictions"),
    Case("logits of 3 classes"): (lambda kind: kind.binary_only, "predictions"),
    Case(weights="fractions"): (lambda kind: not kind.takes_weights, "sample_weight"),
    Case("posteriors", "infinite"): (lambda kind: False, ""),
}


@each_kind
@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refusals(case, name):
    is_refused, argument = REFUSED[case]
    data, calibrator = case.predictions(), registry.CALIBRATOR_KINDS[name]()
    refuses = is_refused(type(calibrator))
    calls = [(calibrator.fit, data), (fp.cross_fit, calibrator, data)]
    for function, *arguments in calls:
        result = outcome(function, *arguments)
        if refuses:
            assert isinstance(result, fp.ArgumentError)
            assert result.argument == argument
        else:
            assert not isinstance(result, ValueError)
    metric = fp.CalibrationLoss(fp.rules.Brier(), calibrator)
    if data.kind != "raw scores":
        assert isinstance(outcome(metric, data), ValueError) == refuses


@each_kind
def test_fits_need_each_class_and_their_own_kind_of_data(name):
    calibrator, data = registry.CALIBRATOR_KINDS[name](), Case("posteriors").predictions()
    scores = Case("posteriors").rows["scores"]
    one_class = fp.Predictions.from_posteriors(np.zeros(300, int), scores)
    unlabeled = fp.Predictions.from_posteriors(None, scores)
    assert isinstance(outcome(calibrator.fit, one_class), fp.ArgumentError)
    assert isinstance(outcome(calibrator.fit, unlabeled), ValueError)
    assert isinstance(outcome(calibrator.transform, data), ValueError)
    fitted = calibrator.fit(data)
    for other in (Case("LLRs"), Case("raw scores"), Case("logits of 3 classes")):
        assert isinstance(outcome(fitted.transform, other.predictions()), ValueError)
    assert len(fitted.transform(unlabeled)) == 300


@each_kind
def test_files_keep_the_map(name, tmp_path):
    for kind in ("posteriors", "LLRs", "raw scores", "posteriors of 3 classes"):
        data = Case(kind, "infinite").predictions()
        for calibrator in registry.calibrators(name, data.n_classes):
            fitted = outcome(calibrator.fit, data)
            if not isinstance(fitted, ValueError):
                fp.save_calibrator(fitted, tmp_path / "map.json")
                loaded = fp.load_calibrator(tmp_path / "map.json")
                assert type(loaded) is type(fitted)
                require_same(loaded.transform(data), fitted.transform(data), 0.0)


# Cross-fitting


@each_kind
def test_a_fold_is_calibrated_by_the_fit_to_the_others(name):
    for kind in ("posteriors", "LLRs", "logits of 3 classes"):
        case = Case(kind, has_priors=kind == "LLRs")
        data, folds = case.predictions(), case.columns["fold"]
        for calibrator in registry.calibrators(name, data.n_classes):
            if not calibrator.suits(data) or name == "Spline":  # whose inner folds are the others
                continue
            result = outcome(fp.cross_fit, calibrator, data, fp.CrossFit(folds))
            for fold in range(3):
                fitted = outcome(calibrator.fit, case.predictions(folds != fold))
                expected = fitted.transform(case.predictions(folds == fold))
                require_same(result.scores[folds == fold], expected.scores, 1e-7, calibrator)
