"""Detection costs over several operating points: means of what the library has for one."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.metrics import PRESETS
from tests.refusal import refuses

# (P_target, C_miss, C_fa), from the evaluation plans of NIST and the challenges' rules
PUBLISHED = {
    "sre08": [(0.01, 10.0, 1.0)],
    "sre10": [(0.001, 1.0, 1.0)],
    "sre12": [(0.01, 1.0, 1.0), (0.001, 1.0, 1.0)],
    "sre16": [(0.01, 1.0, 1.0), (0.005, 1.0, 1.0)],
    "sre18": [(0.01, 1.0, 1.0), (0.005, 1.0, 1.0)],
    "sre18-vast": [(0.05, 1.0, 1.0)],
    "sre19": [(0.01, 1.0, 1.0), (0.005, 1.0, 1.0)],
    "sre19-av": [(0.05, 1.0, 1.0)],
    "sre21": [(0.01, 1.0, 1.0), (0.05, 1.0, 1.0)],
    "sre24": [(0.01, 1.0, 1.0), (0.05, 1.0, 1.0)],
    "voxceleb": [(0.01, 1.0, 1.0)],
    "voxsrc": [(0.05, 1.0, 1.0)],
    "cnceleb": [(0.01, 1.0, 1.0)],
}
TRIALS = fp.simulate.trial_list(80, 1_000, n_speakers=30, seed=2)
LLRS = np.round(TRIALS.llr, 1)  # some reach a threshold together


@pytest.mark.parametrize("metric", [fp.MinDCF, fp.ActDCF])
def test_presets_are_means_over_published_operating_points(metric):
    weights = np.random.default_rng(0).integers(0, 3, LLRS.size) / 2
    assert PRESETS.keys() == PUBLISHED.keys()
    for name, points in PUBLISHED.items():
        for sample_weight in (None, weights):
            data = fp.Predictions.from_llrs(TRIALS.y_true, LLRS, sample_weight=sample_weight)
            expected = np.mean([metric(*point)(data) for point in points])
            assert metric(name)(data) == pytest.approx(expected, rel=1e-13), name
        assert f"({name})" in metric(name).label
        assert all(f"{p_target:g}" in metric(name).meaning for p_target, *_ in points)


@pytest.mark.parametrize("metric", [fp.MinDCF, fp.ActDCF])
def test_invalid_presets(metric):
    with refuses("p_target"):
        metric("sre99")
    with refuses("c_fa"):
        metric("sre21", c_fa=2.0)
