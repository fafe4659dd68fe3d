"""Every object survives pickling and copying, shows what it is, and cannot be changed."""

import copy
import dataclasses
import pickle
from functools import cache

import pytest

import fastpsr as fp
from tests.contract import registry
from tests.contract.comparison import outcome, require_same
from tests.contract.data import Case

CASE = Case("posteriors", "tied", "fractions", n=60)
COPIES = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
FEW = {"n_resamples": 40, "seed": 0}


def all_metrics():
    data = CASE.predictions()
    return {
        f"{kind} {label}": metric
        for kind in registry.METRIC_KINDS
        for label, metric in registry.metrics(kind, data).items()
    }


@cache
def results():
    return [*_results()]


def _results():
    data, llrs = CASE.predictions(), Case(n=60).predictions()
    yield data
    yield data[::2]
    yield CASE.parts().compute()
    for calibrator in registry.CALIBRATOR_KINDS:
        yield outcome(registry.calibrators(calibrator)[0].fit, Case(n=60).predictions())
    for curve in registry.CURVE_FUNCTIONS:
        yield outcome(registry.curve, curve, llrs)
    for scheme in registry.RESAMPLING_KINDS:
        yield registry.resampling(scheme, CASE.columns)
    for training in registry.TRAINING_KINDS:
        yield from registry.trainings(training, data, CASE.columns)
    yield from (
        fp.rules.Log(),
        fp.rules.Brier(),
        fp.rules.Beta(2.0, 1.0),
    )
    calls = [
        (fp.bootstrap, fp.EER(), data), (fp.band, fp.roc, data), (fp.evaluate, data),
        (fp.compare, fp.ECE(), data, data), (fp.sample_size, fp.BrierScore(), data, 0.1),
        (fp.select, data, {"none": None, "pav": fp.PAV(laplace=True)}),
    ]  # fmt: skip
    for function, *arguments in calls:
        yield outcome(function, *arguments, **FEW)
    yield fp.decompose(data)
    yield fp.elub(llrs)
    yield fp.EER().operating_point(data)
    yield outcome(fp.Predictions.from_llrs, [0, 2], [0.5, 0.5])


@pytest.mark.parametrize("way", COPIES)
def test_copies_are_equal(way):
    for original in results():
        assert not isinstance(original, ValueError) or isinstance(original, fp.ArgumentError)
        copied = COPIES[way](original)
        assert type(copied) is type(original)
        assert repr(copied) == repr(original)
        require_same(copied, original, 0.0, repr(original))


@pytest.mark.parametrize("way", COPIES)
def test_copies_of_metrics_have_the_same_values(way):
    data = CASE.predictions()
    for name, metric in all_metrics().items():
        copied = COPIES[way](metric)
        require_same(outcome(copied, COPIES[way](data)), outcome(metric, data), 0.0, name)
        assert copied.label == metric.label


def test_what_is_shown_makes_the_object_again():
    names = vars(fp) | {name: getattr(fp, name) for name in fp.__all__} | vars(fp.rules)
    shown = [*all_metrics().values(), fp.CostMatrix([[0.0, 1.5], [2.0, 0.0]])]
    shown += [c for kind in registry.CALIBRATOR_KINDS for c in registry.calibrators(kind)]
    for thing in shown:
        text = repr(thing)
        assert text.startswith(f"{type(thing).__name__}(")
        if not any(part in text for part in ("<", "array", "inf")):  # data, infinite numbers
            assert repr(eval(text, names)) == text


def test_objects_cannot_be_changed():
    for thing in (*all_metrics().values(), *results()):
        if dataclasses.is_dataclass(thing):
            for field in dataclasses.fields(thing):
                with pytest.raises(dataclasses.FrozenInstanceError):
                    setattr(thing, field.name, None)


def test_clones_of_scikit_learn_are_not_fitted():
    clone = pytest.importorskip("sklearn.base").clone
    for name in registry.CALIBRATOR_KINDS:
        for calibrator in registry.calibrators(name):
            data = Case(n=60).predictions()
            assert repr(clone(outcome(calibrator.fit, data))) == repr(calibrator)


def test_data_that_travel_do_not_carry_what_they_remember():
    data = Case("logits", n=2_000).predictions()
    before = len(pickle.dumps(data))
    fp.evaluate(data)
    assert len(pickle.dumps(data)) < before + 100 < 9 * 2_000 + 5_000
