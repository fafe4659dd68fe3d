"""Detection costs over several operating points: means of what the library has for one."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.metrics import PRESETS
from tests.drawn import sums_of

DCFS = {**{name: (name,) for name in PRESETS}, "0.3, 2:1": (0.3, 2, 1)}


def sample(weighted):
    made = fp.simulate.trial_list(80, 1_000, n_speakers=30, seed=2)
    weight = np.random.default_rng(0).integers(0, 3, made.llr.size) / 2 if weighted else None
    llr = np.round(made.llr, 1)  # some reach a threshold together
    return fp.Predictions.from_llrs(made.y_true, llr, sample_weight=weight), made


def both(name):
    return [fp.MinDCF(*DCFS[name]), fp.ActDCF(*DCFS[name])]


def means(name, value):
    """The mean over operating points of what each has alone."""
    points = [(cost.p_target, cost.c_miss, cost.c_fa) for cost in fp.MinDCF(*DCFS[name]).costs]
    return [np.mean([value(m(*at)) for at in points], axis=0) for m in (fp.MinDCF, fp.ActDCF)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DCFS)
def test_values_are_means(name, weighted):
    predictions, _ = sample(weighted)
    found = [cost(predictions) for cost in both(name)]
    expected = means(name, lambda metric: metric(predictions))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["sre08", "sre12", "sre21", "0.3, 2:1"])
def test_replicates_are_means(name, weighted):
    """By sums and not by calls, which draw the same where units are drawn."""
    predictions, made = sample(weighted)
    speakers = fp.TwoWay(made.enroll_speaker, made.test_speaker)

    def replicates(metric):
        options = {"n_resamples": 48, "method": "percentile", "seed": 3}
        found = fp.bootstrap(metric, predictions, resampling=speakers, **options)
        return found.replicates

    costs = both(name)
    assert all(sums_of(cost, predictions) is not None for cost in costs)
    expected = means(name, replicates)
    np.testing.assert_allclose([replicates(cost) for cost in costs], expected, rtol=1e-12)
    np.testing.assert_allclose([replicates(cost.__call__) for cost in costs], expected, rtol=1e-12)


def test_actual_costs_need_llrs():
    raw = fp.Predictions.from_raw_scores([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    minimal, actual = both("sre16")
    assert 0.0 < minimal(raw) <= 1.0
    for use in (actual, lambda data: sums_of(actual, data)):
        with pytest.raises(ValueError, match="raw scores"):
            use(raw)


def test_presets_say_where_they_come_from():
    for name, preset in PRESETS.items():
        assert len(preset.source) > 10
        assert f"({name})" in fp.MinDCF(name).label
        assert all(f"{cost.p_target:g}" in fp.ActDCF(name).meaning for cost in preset.costs)


@pytest.mark.parametrize("metric", [fp.MinDCF, fp.ActDCF])
def test_names_that_are_no_preset(metric):
    with pytest.raises(fp.ArgumentError, match=r"^p_target must be .*sre21.*, not 'sre99'"):
        metric("sre99")
    with pytest.raises(fp.ArgumentError, match=r"^c_fa must be left out beside the preset 'sre21'"):
        metric("sre21", c_fa=2.0)
