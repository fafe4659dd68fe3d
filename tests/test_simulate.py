"""Synthetic systems and trial lists: what the paper measures, laws, structure and seeds."""

import numpy as np
import pytest
from scipy.special import logsumexp

import fastpsr as fp
from fastpsr import simulate
from tests.refusal import refuses

SYSTEMS = ["cal", "mcs", "mcp", "mcps"]


# The paper's synthetic systems


@pytest.mark.parametrize(
    ("kwargs", "counts"),
    [
        ({"n_samples": 400}, [320, 80]),
        ({"n_samples": 100_001, "prior_first": 0.6}, [60_001, 40_000]),
        ({"n_samples": 2_000, "n_classes": 10, "variance": 0.08}, [1_600] + 9 * [44]),
        ({"n_samples": 90, "n_classes": 3, "prior_first": 0.1}, [9, 40, 40]),
    ],
)
def test_each_class_gets_the_integer_closest_to_its_share(kwargs, counts):
    systems = simulate.gaussian_classes(**kwargs)
    assert np.bincount(systems.y_true).tolist() == counts
    assert systems.y_true.dtype == np.int64
    assert np.all(np.diff(systems.y_true) >= 0)  # class order
    assert systems.priors.shape == (len(counts),)
    assert systems.priors.sum() == pytest.approx(1.0, abs=1e-15)
    for name in SYSTEMS:
        log_q = getattr(systems, name)
        assert log_q.shape == (sum(counts), len(counts))
        assert log_q.dtype == np.float64
        assert np.abs(np.exp(log_q).sum(axis=1) - 1.0).max() < 1e-12


@pytest.mark.parametrize(("n_classes", "scale"), [(2, 0.48), (4, 5.0)])
def test_miscalibrated_systems_follow_from_the_calibrated_one(n_classes, scale):
    systems = simulate.gaussian_classes(500, n_classes=n_classes, scale=scale)
    mismatched = np.array([0.1 / (n_classes - 1)] * (n_classes - 1) + [0.9])
    mcp = systems.cal - np.log(systems.priors) + np.log(mismatched)
    mcp -= logsumexp(mcp, axis=1, keepdims=True)
    np.testing.assert_allclose(systems.mcp, mcp, rtol=1e-12, atol=1e-12)
    for scaled, base in ((systems.mcs, systems.cal), (systems.mcps, systems.mcp)):
        expected = scale * base - logsumexp(scale * base, axis=1, keepdims=True)
        np.testing.assert_allclose(scaled, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("n_classes", "seed"), [(2, 0), (5, 1)])
def test_the_calibrated_system_is_calibrated(n_classes, seed):
    systems = simulate.gaussian_classes(100_000, n_classes=n_classes, variance=0.2, seed=seed)
    n = systems.y_true.size
    q, hits = np.exp(systems.cal), np.eye(n_classes)[systems.y_true]
    # Cross-entropy is the entropy that the posteriors claim.
    excess = -systems.cal[np.arange(n), systems.y_true] + (q * systems.cal).sum(axis=1)
    assert abs(excess.mean()) < 4.0 * excess.std() / np.sqrt(n)
    # In bins of the posterior, frequencies are mean posteriors: z-scores of up to 60 bins.
    for k in range(n_classes):
        bins = np.minimum((10 * q[:, k]).astype(int), 9)
        variance = np.bincount(bins, q[:, k] * (1.0 - q[:, k]))
        z = np.bincount(bins, hits[:, k] - q[:, k])[variance > 10] / np.sqrt(
            variance[variance > 10]
        )
        assert np.abs(z).max() < 4.0


@pytest.mark.parametrize(
    ("system", "kwargs", "mean_nce", "one_nce", "one_nbs"),
    [
        ("cal", {}, 0.342, 0.338, 0.287),
        ("mcs", {"scale": 0.48}, 0.426, 0.424, 0.337),
        ("mcs", {"scale": 2.0}, 0.429, 0.423, 0.306),
        ("cal", {"variance": 0.19}, 0.423, 0.420, 0.363),
    ],
)
def test_figure_with_the_same_cross_entropy(system, kwargs, mean_nce, one_nce, one_nbs):
    n_seeds, scores = 5, []
    for seed in range(n_seeds):
        systems = simulate.gaussian_classes(100_000, prior_first=0.6, seed=seed, **kwargs)
        data = fp.Predictions.from_log_posteriors(systems.y_true, getattr(systems, system))
        scores.append([fp.CrossEntropy()(data), fp.BrierScore()(data)])
    mean, error = np.mean(scores, axis=0), 0.004  # of one seed: above one standard error
    assert mean == pytest.approx([one_nce, one_nbs], abs=4.0 * error)
    assert mean[0] == pytest.approx(mean_nce, abs=4.0 * error / np.sqrt(n_seeds))


# The trial list


@pytest.fixture(scope="module")
def sitw():
    return simulate.trial_list()


def unordered_pairs(trials):
    return np.sort(np.column_stack([trials.enroll, trials.test]), axis=1)


def assert_structure(trials, n_targets, n_nontargets, n_sessions=7):
    assert np.bincount(trials.y_true).tolist() == [n_nontargets, n_targets]
    for name, values in vars(trials).items():
        assert values.shape == (n_targets + n_nontargets,)
        of_floats = name in ("llr", "a", "b") or name.endswith("seconds")
        assert values.dtype == (np.float64 if of_floats else np.int64)
        assert np.isfinite(values).all()
    same_speaker = trials.enroll_speaker == trials.test_speaker
    np.testing.assert_array_equal(same_speaker, trials.y_true == 1)
    np.testing.assert_array_equal(trials.enroll // n_sessions, trials.enroll_speaker)
    np.testing.assert_array_equal(trials.test // n_sessions, trials.test_speaker)
    low, high = unordered_pairs(trials).T
    assert np.all(low != high)
    assert np.unique(low * (high.max() + 1) + high).size == low.size


def test_default_list_has_the_size_and_structure_of_sitw(sitw):
    assert_structure(sitw, 3_658, 718_130)
    assert sitw.y_true.size == 721_788
    for part in np.array_split(sitw.y_true, 10):  # random order
        assert abs(part.sum() - 365.8) < 5.0 * np.sqrt(365.8)


def test_default_list_has_about_the_metrics_of_sitw(sitw):
    raw = fp.Predictions.from_llrs(sitw.y_true, sitw.llr)
    calibrated = fp.cross_fit(fp.DirectionPreserving(), raw, fp.TrainOnTest())
    assert fp.CrossEntropy()(raw) == pytest.approx(0.189, rel=0.03)
    assert fp.CrossEntropy()(calibrated) == pytest.approx(0.158, rel=0.03)
    rcl = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), fp.TrainOnTest())
    assert rcl(raw) == pytest.approx(16.7, rel=0.03)
    for costs, printed in (
        ([[0.0, 1.0], [1.0, 0.0]], (0.324, 0.306)),
        ([[0.0, 1.0, 0.1], [1.0, 0.0, 0.1]], (0.225, 0.190)),
        ([[0.0, 1.0], [10.0, 0.0]], (0.191, 0.153)),
    ):
        risk = fp.BayesRisk(costs)
        assert (risk(raw), risk(calibrated)) == pytest.approx(printed, rel=0.05)
    assert 100.0 * fp.ECE()(raw) == pytest.approx(0.2, abs=0.05)


def test_llrs_are_calibrated_when_the_speakers_are_as_the_plda_assumes():
    trials = simulate.trial_list(
        20_000, 20_000, speaker_variance=0.2, speaker_spread=0.0, scale=1.0, shift=0.0
    )
    data = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    fitted = fp.DirectionPreserving().fit(data)
    # Both have a standard error of 0.013, from 15 seeds.
    shift = fitted.bias_[1] - fitted.bias_[0]
    assert (fitted.scale_, shift) == pytest.approx((1.0, 0.0), abs=0.05)


@pytest.mark.parametrize(
    ("n_targets", "n_nontargets", "n_speakers", "n_sessions"),
    [
        (1, 1, 2, 2),
        (1, 1, None, 2),
        (84, 294, 4, 7),  # every pair
        (15, 90, 5, 3),
        (1_000, 1_000, 5_000, 4),  # sparse
        (30_000, 40_000, None, 12),
    ],
)
def test_no_pair_repeats(n_targets, n_nontargets, n_speakers, n_sessions):
    trials = simulate.trial_list(
        n_targets, n_nontargets, n_speakers=n_speakers, n_sessions_per_speaker=n_sessions
    )
    assert_structure(trials, n_targets, n_nontargets, n_sessions)


@pytest.mark.parametrize(
    ("simulated", "scores"),
    [
        (lambda seed: simulate.gaussian_classes(100, seed=seed), "cal"),
        (lambda seed: simulate.trial_list(200, 3_000, seed=seed), "llr"),
        (lambda seed: simulate.challenge(50, 500, seed=seed)[0], "a"),
        (lambda seed: simulate.challenge(50, 500, seed=seed)[1], "b"),
    ],
    ids=["classes", "trials", "challenge", "second list"],
)
def test_what_is_simulated_follows_the_seed(simulated, scores):
    first, other = simulated(1), simulated(2)
    for same in (simulated(1), simulated(np.random.Generator(np.random.PCG64(1)))):
        for name, values in vars(first).items():
            np.testing.assert_array_equal(getattr(same, name), values)
    assert not np.isin(getattr(first, scores), getattr(other, scores)).any()


# A challenge


def test_lists_of_a_challenge_have_other_speakers_and_no_pair_twice():
    lists = simulate.challenge(300, 4_000, seed=2)
    for trials in lists:
        assert_structure(trials, 300, 4_000, 7)
    speakers = [{*t.enroll_speaker.tolist(), *t.test_speaker.tolist()} for t in lists]
    assert not speakers[0] & speakers[1]


# What is refused

PAIRS = {"n_targets": 10, "n_nontargets": 100, "n_speakers": 10}  # of 210 pairs and of 2,205
REFUSED = [
    (simulate.gaussian_classes, {"n_samples": 100}, {
        "n_samples": [2, 0, 10.5], "n_classes": [1], "variance": [0.0, -1.0, np.nan],
        "prior_first": [0.0, 1.0], "scale": [0.0, np.inf], "seed": [-1],
    }),
    (simulate.trial_list, PAIRS, {
        "n_targets": [0, 211], "n_nontargets": [-5, 2_206], "n_speakers": [1],
        "n_sessions_per_speaker": [1], "speaker_variance": [0.0, 1.0], "speaker_spread": [-0.1],
        "scale": [0.0], "shift": [np.nan], "seed": [1.5],
    }),
    (simulate.challenge, {"n_targets": 5, "n_nontargets": 50}, {
        "n_targets": [0], "n_nontargets": [10**30], "seed": [-1],
    }),
]  # fmt: skip


@pytest.mark.parametrize(("generate", "options", "wrong"), REFUSED)
def test_bad_arguments_are_refused(generate, options, wrong):
    for argument, values in wrong.items():
        for value in values:
            with refuses(argument):
                generate(**{**options, argument: value})
