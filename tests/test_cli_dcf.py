"""Detection costs over several operating points: means of what the library has for one."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.cli.dcf import detection_costs, parse_dcf
from tests.drawn import summands_of

DCFS = ["sre16", "sre21", "sre18-vast", "0.3:2:1"]


def sample(weighted):
    made = fp.simulate.trial_list(80, 1_000, n_speakers=30, seed=2)
    weight = np.random.default_rng(0).integers(0, 3, made.llr.size) / 2 if weighted else None
    llr = np.round(made.llr, 1)  # some reach a threshold together
    return fp.Predictions.from_llrs(made.y_true, llr, sample_weight=weight), made


def means(name, predictions, value):
    points = parse_dcf(name).points
    return [np.mean([value(m(*at)) for at in points], axis=0) for m in (fp.MinDCF, fp.ActDCF)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DCFS)
def test_values_are_means(name, weighted):
    predictions, _ = sample(weighted)
    found = [cost(predictions) for cost in detection_costs([parse_dcf(name)], raw=False).values()]
    expected = means(name, predictions, lambda metric: metric(predictions))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DCFS)
def test_replicates_are_means(name, weighted):
    """By sums and not by calls, which draw the same where units are drawn."""
    predictions, made = sample(weighted)
    speakers = fp.TwoWay(made.enroll_speaker, made.test_speaker)

    def replicates(metric):
        found = fp.bootstrap(metric, predictions, n_resamples=48, resampling=speakers, seed=3)
        return found.replicates

    costs = detection_costs([parse_dcf(name)], raw=False).values()
    assert all(summands_of(cost, predictions) is not None for cost in costs)
    expected = means(name, predictions, replicates)
    np.testing.assert_allclose([replicates(cost) for cost in costs], expected, rtol=1e-12)
    np.testing.assert_allclose([replicates(cost.__call__) for cost in costs], expected, rtol=1e-12)


def test_actual_costs_need_llrs():
    raw = fp.Predictions.from_raw_scores([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    (minimal,) = detection_costs([parse_dcf("sre16")], raw=True).values()
    assert 0.0 < minimal(raw) <= 1.0
    _, actual = detection_costs([parse_dcf("sre16")], raw=False).values()
    for use in (actual, lambda data: summands_of(actual, data)):
        with pytest.raises(ValueError, match="raw scores"):
            use(raw)
