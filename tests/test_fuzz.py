"""Hostile arguments for every public function; more of them with ``python -m tests.fuzz``."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fastpsr as fp
from tests import fuzz

N_SEEDS = 40  # of each case

# they read files, draw figures and run on schedulers
READ_ELSEWHERE = {"calibration", "trials", "plotting", "scan_parquet", "from_dask", "read_table"}


def test_every_public_name_has_a_case():
    assert set(fp.__all__) - fuzz.COVERED <= READ_ELSEWHERE


@pytest.mark.parametrize("name", fuzz.CASES)
def test_hostile_arguments(name):
    outcomes = set()
    for seed in range(N_SEEDS):
        found = fuzz.run(name, seed)
        assert found in ("fine", "refused"), f"python -m tests.fuzz --only {name} --seed {seed}"
        outcomes.add(found)
    assert "fine" in outcomes, "arguments that are all refused test nothing"


# Arrays of any kind, shrunk by Hypothesis to the least that fails

few = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
DTYPES = st.one_of(
    hnp.floating_dtypes(endianness="?"),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.boolean_dtypes(),
    hnp.complex_number_dtypes(),
    hnp.unicode_string_dtypes(),
    hnp.datetime64_dtypes(),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ANY = hnp.arrays(DTYPES, SHAPES)
FLOATS = st.floats(width=64)
NUMBERS = hnp.arrays(np.float64, hnp.array_shapes(max_dims=2, max_side=5), elements=FLOATS)
MAKERS = ("posteriors", "log_posteriors", "logits", "log_likelihoods", "llrs", "raw_scores")


def assert_handled(function):
    found = fuzz.attempt(function)
    assert found in ("fine", "refused"), found


@few
@given(st.sampled_from(MAKERS), st.one_of(NUMBERS, ANY), st.one_of(st.none(), ANY), ANY)
def test_arrays_of_any_kind(maker, values, labels, weights):
    make = getattr(fp.Predictions, f"from_{maker}")
    assert_handled(lambda: fuzz.check_predictions(make(labels, values)))
    assert_handled(lambda: fuzz.check_predictions(make(None, values, sample_weight=weights)))


@few
@given(ANY, ANY, ANY)
def test_costs_and_decisions_of_any_kind(y, decided, costs):
    assert_handled(lambda: fp.expected_cost(y, decided, costs))
    assert_handled(lambda: fp.CostMatrix(costs))
    assert_handled(lambda: fp.rules.Brier().entropy(y))
    assert_handled(lambda: fp.rules.Log().divergence(y, costs))


@few
@given(
    st.lists(st.tuples(st.booleans(), FLOATS.filter(lambda x: x == x)), min_size=1, max_size=12),
    st.sampled_from(["llrs", "raw_scores"]),
)
def test_metrics_of_any_scores(pairs, maker):
    y, scores = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    made = getattr(fp.Predictions, f"from_{maker}")(y, scores)
    metrics = [fp.EER(), fp.MinDCF(0.01), fp.ActDCF(0.5), fp.Cllr(), fp.MinCllr(), fp.AUC(),
               fp.DevPAV(), fp.CrossEntropy(), fp.BrierScore(), fp.ECE()]  # fmt: skip
    for metric in metrics:
        assert_handled(lambda metric=metric: fuzz.check_float(metric(made), 0.0))
    for calibrator in (fp.PAV(), fp.DirectionPreserving(), fp.HistogramBinning(3)):
        assert_handled(lambda c=calibrator: fuzz.check_calibrated(c, made))
