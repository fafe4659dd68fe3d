"""Synthetic systems and trial lists: what the paper measures, laws, structure and seeds."""

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit, logit, logsumexp

from fastpsr import ArgumentError, simulate

SYSTEMS = ["cal", "mcs", "mcp", "mcps"]
ARRAYS = ["y_true", "llr", "enroll_speaker", "test_speaker", "enroll", "test"]


# Naive versions of what the paper measures


def normalized_losses(y, log_q):
    """Log and Brier loss of each sample, divided by their value for the class frequencies."""
    p = np.bincount(y) / y.size
    log_loss = -log_q[np.arange(y.size), y] / -(p * np.log(p)).sum()
    brier = ((np.exp(log_q) - np.eye(p.size)[y]) ** 2).mean(axis=1) / (p * (1.0 - p)).mean()
    return log_loss, brier


def nce(y, log_q):
    return normalized_losses(y, log_q)[0].mean()


def normalized_risk(y, log_odds, costs):
    costs = np.array(costs)
    q = np.column_stack([expit(-log_odds), expit(log_odds)])
    decisions = (q @ costs).argmin(axis=1)
    return costs[y, decisions].mean() / (np.bincount(y) / y.size @ costs).min()


def log_posteriors(log_odds):
    return -np.logaddexp(0.0, np.column_stack([log_odds, -log_odds]))


def calibrate(y, log_odds):
    def cross_entropy(ab):
        z = ab[0] * log_odds + ab[1]
        residual = (expit(z) - y) / y.size
        loss = np.logaddexp(0.0, np.where(y == 1, -z, z)).mean()
        return loss, np.array([residual @ log_odds, residual.sum()])

    a, b = optimize.minimize(cross_entropy, [1.0, 0.0], jac=True, method="BFGS", tol=1e-7).x
    return a * log_odds + b


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


def test_the_other_systems_are_not():
    systems = simulate.gaussian_classes(20_000)
    n = systems.y_true.size
    for log_q in (systems.mcs, systems.mcp, systems.mcps):
        excess = -log_q[np.arange(n), systems.y_true] + (np.exp(log_q) * log_q).sum(axis=1)
        assert abs(excess.mean()) > 10.0 * excess.std() / np.sqrt(n)


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
    n_seeds, per_sample = 5, []
    for seed in range(n_seeds):
        systems = simulate.gaussian_classes(100_000, prior_first=0.6, seed=seed, **kwargs)
        per_sample.append(normalized_losses(systems.y_true, getattr(systems, system)))
    mean = np.mean(per_sample, axis=(0, 2))
    one_error = np.std(per_sample, axis=(0, 2)) / np.sqrt(100_000)
    # The references are themselves of one seed, and a mean over seeds.
    one_seed = 4.0 * one_error * np.sqrt(1.0 + 1.0 / n_seeds)
    assert np.all(np.abs(mean - [one_nce, one_nbs]) < one_seed)
    assert abs(mean[0] - mean_nce) < 4.0 * one_error[0] * np.sqrt(2.0 / n_seeds)


def test_synthetic_systems_follow_the_seed():
    first = simulate.gaussian_classes(100, seed=3)
    for same in (
        simulate.gaussian_classes(100, seed=3),
        simulate.gaussian_classes(100, seed=np.random.Generator(np.random.PCG64(3))),
    ):
        for name in ["y_true", "priors", *SYSTEMS]:
            np.testing.assert_array_equal(getattr(first, name), getattr(same, name))
    assert not np.isin(first.cal, simulate.gaussian_classes(100, seed=4).cal).any()


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("n_samples", [2, 0, 10.5]), ("n_classes", [1]), ("variance", [0.0, -1.0, np.nan]),
        ("prior_first", [0.0, 1.0]), ("scale", [0.0, np.inf]), ("seed", [-1]),
    ],
)  # fmt: skip
def test_synthetic_systems_refuse_bad_arguments(argument, values):
    for value in values:
        assert_refused(simulate.gaussian_classes, argument, value, n_samples=100)


def assert_refused(generate, argument, value, **options):
    with pytest.raises(ArgumentError) as caught:
        generate(**{**options, argument: value})
    assert caught.value.argument == argument


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
    y, log_odds = sitw.y_true, sitw.llr + logit(3_658 / 721_788)
    calibrated = calibrate(y, log_odds)
    costs = {
        "C01": [[0.0, 1.0], [1.0, 0.0]],
        "Cab": [[0.0, 1.0, 0.1], [1.0, 0.0, 0.1]],
        "Cimb": [[0.0, 1.0], [10.0, 0.0]],
    }
    raw = {name: normalized_risk(y, log_odds, c) for name, c in costs.items()}
    cal = {name: normalized_risk(y, calibrated, c) for name, c in costs.items()}
    raw["NCE"], cal["NCE"] = (nce(y, log_posteriors(z)) for z in (log_odds, calibrated))
    raw["RCL"] = 100.0 * (1.0 - cal["NCE"] / raw["NCE"])
    assert raw["NCE"] == pytest.approx(0.189, rel=0.03)
    assert raw["RCL"] == pytest.approx(16.7, rel=0.03)
    assert cal["NCE"] == pytest.approx(0.158, rel=0.03)
    printed = {"C01": (0.324, 0.306), "Cab": (0.225, 0.190), "Cimb": (0.191, 0.153)}
    for name, values in printed.items():
        assert (raw[name], cal[name]) == pytest.approx(values, rel=0.05)
    bins = np.ceil(15 * expit(log_odds)).astype(int)
    ece = np.abs(np.bincount(bins, y - expit(log_odds))).sum() / y.size
    assert 100.0 * ece == pytest.approx(0.2, abs=0.05)


def test_trials_of_one_speaker_are_correlated(sitw):
    target = sitw.y_true == 1
    speaker, llr = sitw.enroll_speaker[target], sitw.llr[target]
    miss = (llr < -logit(3_658 / 721_788)).astype(float)
    trials = np.bincount(speaker).astype(float)
    draws = np.random.default_rng(0).multinomial(
        trials.size, np.full(trials.size, 1 / trials.size), 2_000
    )
    for x in (llr, miss):
        iid = x.std() / np.sqrt(x.size)
        resampled = (draws @ np.bincount(speaker, x) / (draws @ trials)).std()
        assert 1.5 < resampled / iid < 4.0
    # Sheep and goats: speakers' miss rates differ far more than binomial draws would.
    rates = np.bincount(speaker, miss) / trials
    expected = (miss.mean() * (1.0 - miss.mean()) / trials).mean()
    assert rates.var() > 2.0 * expected


def test_scores_are_stretched_and_shifted():
    kwargs = {"n_targets": 50, "n_nontargets": 500, "seed": 5}
    plain = simulate.trial_list(**kwargs, scale=1.0, shift=0.0)
    other = simulate.trial_list(**kwargs, scale=2.0, shift=-3.0)
    np.testing.assert_allclose(other.llr, 2.0 * plain.llr - 3.0, rtol=1e-13)


def test_llrs_are_calibrated_when_the_speakers_are_as_the_plda_assumes():
    trials = simulate.trial_list(
        20_000, 20_000, speaker_variance=0.2, speaker_spread=0.0, scale=1.0, shift=0.0
    )
    calibrated = calibrate(trials.y_true, trials.llr)
    # Both have a standard error of 0.013, from 15 seeds.
    assert np.polyfit(trials.llr, calibrated, 1) == pytest.approx([1.0, 0.0], abs=0.05)


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


def test_pairs_are_drawn_uniformly():
    """Of 12 pairs of a speaker's sessions, and of 16 pairs of sessions of two speakers."""
    for n_targets, n_nontargets, label, n_possible in ((6, 1, 1, 12), (1, 3, 0, 16)):
        counts = np.zeros((8, 8))
        n_lists = 600
        for seed in range(n_lists):
            trials = simulate.trial_list(
                n_targets, n_nontargets, n_speakers=2, n_sessions_per_speaker=4, seed=seed
            )
            pairs = unordered_pairs(trials)[trials.y_true == label]
            counts[tuple(pairs.T)] += 1.0
        p = (n_targets if label else n_nontargets) / n_possible
        counts = counts[counts > 0.0]
        assert counts.size == n_possible
        assert np.abs(counts - n_lists * p).max() < 5.0 * np.sqrt(n_lists * p * (1.0 - p))


def test_trial_lists_follow_the_seed():
    first = simulate.trial_list(200, 3_000, seed=1)
    for same in (
        simulate.trial_list(200, 3_000, seed=1),
        simulate.trial_list(200, 3_000, seed=np.random.Generator(np.random.PCG64(1))),
    ):
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(first, name), getattr(same, name))
    other = simulate.trial_list(200, 3_000, seed=2)
    assert all(np.any(getattr(first, name) != getattr(other, name)) for name in ARRAYS)
    assert not np.isin(first.llr, other.llr).any()


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_targets", 0), ("n_targets", 211), ("n_nontargets", -5), ("n_nontargets", 2_206),
        ("n_speakers", 1), ("n_sessions_per_speaker", 1), ("speaker_variance", 0.0),
        ("speaker_variance", 1.0), ("speaker_spread", -0.1), ("scale", 0.0), ("shift", np.nan),
        ("seed", 1.5),
    ],
)  # fmt: skip
def test_trial_lists_refuse_bad_arguments(argument, value):
    """Of 10 speakers with 7 sessions each: 210 pairs of targets, and 2,205 of others."""
    options = {"n_targets": 10, "n_nontargets": 100, "n_speakers": 10}
    assert_refused(simulate.trial_list, argument, value, **options)


# A challenge


def test_lists_of_a_challenge_have_other_speakers_and_no_pair_twice():
    lists = simulate.challenge(300, 4_000, seed=2)
    for trials in lists:
        assert_structure(trials, 300, 4_000, 7)
    speakers = [{*t.enroll_speaker.tolist(), *t.test_speaker.tolist()} for t in lists]
    assert not speakers[0] & speakers[1]


def test_a_recording_has_one_duration():
    for trials in simulate.challenge(300, 4_000):
        recordings = np.concatenate([trials.enroll, trials.test])
        seconds = np.concatenate([trials.enroll_seconds, trials.test_seconds])
        _, first, place = np.unique(recordings, return_index=True, return_inverse=True)
        np.testing.assert_array_equal(seconds, seconds[first][place])
        assert seconds.min() >= 1.0
        assert seconds.max() <= 60.0


def test_short_recordings_lower_the_scores_of_targets_alone():
    trials, _ = simulate.challenge(20_000, 20_000)
    shorter = np.minimum(trials.enroll_seconds, trials.test_seconds)
    for scores in (trials.a, trials.b):
        short, long = (
            [scores[chosen & (trials.y_true == label)].mean() for label in (0, 1)]
            for chosen in (shorter < 4.0, shorter > 8.0)
        )
        assert short[0] == pytest.approx(long[0], abs=0.01)
        assert short[1] < long[1] - 0.1


def test_systems_of_a_challenge_err_together_and_the_second_more():
    trials, _ = simulate.challenge(20_000, 20_000)
    of_targets = [scores[trials.y_true == 1] for scores in (trials.a, trials.b)]
    assert 0.4 < np.corrcoef(*of_targets)[0, 1] < 0.8
    assert of_targets[1].mean() < of_targets[0].mean() - 0.02


def test_challenges_follow_the_seed():
    first, same, other = (simulate.challenge(50, 500, seed=seed) for seed in (1, 1, 2))
    for k in range(2):
        for name in vars(first[k]):
            np.testing.assert_array_equal(getattr(first[k], name), getattr(same[k], name))
        assert not np.isin(first[k].a, other[k].a).any()


def test_challenges_refuse_bad_arguments():
    for argument, value in (("n_targets", 0), ("n_nontargets", 10**30), ("seed", -1)):
        assert_refused(simulate.challenge, argument, value, n_targets=5, n_nontargets=50)
