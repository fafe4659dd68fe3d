"""Which samples train the calibrator of which others."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.plans import Part
from tests import reference, samples


def assert_close(value, expected, rtol=1e-12, atol=1e-14):
    np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)


def influences(y, scores, train):
    """(N, N) matrix: whether sample j has a part in the fit that calibrates sample i.

    Found out from outside: another score of j gives another calibrated value of i. Two other
    scores, since one may by chance leave a value where it was.
    """

    def calibrated(values):
        return fp.cross_fit(
            fp.DirectionPreserving(), fp.Predictions.from_logits(y, values), train
        ).log_posteriors

    before = calibrated(scores)
    changed = np.zeros((y.size, y.size), bool)
    for j in range(y.size):
        for shift in (0.4, -0.9):
            moved = scores.copy()
            moved[j, 0] += shift
            changed[j] |= np.abs(calibrated(moved) - before).max(axis=1) > 1e-7
    np.fill_diagonal(changed, False)  # its own value changes with its score in any case
    return changed


def folds_of(influence):
    """Fold numbers of samples of which two influence one another unless they share a fold."""
    folds = np.full(len(influence), -1)
    for i in range(len(influence)):
        if folds[i] < 0:
            folds[~influence[i]] = folds.max() + 1
    np.testing.assert_array_equal(influence, folds[:, None] != folds[None, :])
    return folds


def calibrator_of_row(folds, data):
    """Who serves each row of predictions in memory."""
    return folds.calibrator_of_rows(Part.whole(data))


def make(K, n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    return y, samples.make_logits(rng, y, K)


# Folds that are given


@pytest.mark.parametrize("weights", ["none", "integer"])
@pytest.mark.parametrize("ids", [[0, 1, 2], [7, -3, 100]], ids=["0-2", "any integers"])
def test_given_folds(ids, weights):
    sample = samples.make(2, 90, weights=weights)
    folds = np.array(ids)[np.random.default_rng(1).integers(0, 3, 90)]

    def log_odds(train, test):
        mass = np.asarray(sample.mass)[train]
        scale, bias = reference.fit_affine(sample.log_q[train], sample.y[train], mass)
        calibrated = scale * sample.log_q[test] + bias
        return calibrated[:, 1] - calibrated[:, 0]

    made = fp.cross_fit(fp.DirectionPreserving(), sample.predictions, fp.CrossFit(folds=folds))
    assert_close(made.log_odds, reference.cross_fit(log_odds, folds), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["llrs", "raw scores"])
def test_given_folds_of_scores_give_llrs(kind):
    y, z = make(2, 80)
    s, folds = z[:, 1] - z[:, 0], np.arange(80) % 7 % 3
    y[:20] = 0  # so that the training priors of the folds differ
    make_predictions = (
        fp.Predictions.from_llrs if kind == "llrs" else fp.Predictions.from_raw_scores
    )

    def llrs(train, test):
        offset = np.log(reference.class_priors(y[train], 2))
        rows = np.column_stack([np.zeros(train.size), s[train]])
        scale, bias = reference.fit_affine(rows, y[train], np.ones(train.size), offset)
        return scale * s[test] + bias[1] - bias[0]

    made = fp.cross_fit(fp.DirectionPreserving(), make_predictions(y, s), fp.CrossFit(folds=folds))
    expected = reference.cross_fit(llrs, folds)
    assert made.kind == "likelihoods"
    assert_close(made.llrs, expected, rtol=1e-8, atol=1e-8)
    prior = reference.class_priors(y, 2)  # of the whole data
    assert_close(made.log_odds, made.llrs + np.log(prior[1] / prior[0]))


@pytest.mark.parametrize(
    "calibrator", [fp.PAV(1e-9), fp.HistogramBinning(), fp.DirectionPreserving()]
)
def test_samples_and_given_folds_may_be_permuted_together(calibrator):
    y, z = make(2, 120)
    folds = np.arange(120) % 5
    order = np.random.default_rng(2).permutation(120)
    made = fp.cross_fit(calibrator, fp.Predictions.from_logits(y, z), fp.CrossFit(folds=folds))
    permuted = fp.cross_fit(
        calibrator, fp.Predictions.from_logits(y[order], z[order]), fp.CrossFit(folds=folds[order])
    )
    assert_close(permuted.log_odds, made.log_odds[order], rtol=1e-9)


@pytest.mark.parametrize("folds", [np.zeros(40, int), np.arange(39) % 5, 1, 0, 2.5])
def test_bad_folds(folds):
    y, z = make(2, 40)
    with pytest.raises(ValueError, match="folds"):
        fp.cross_fit(fp.PAV(), fp.Predictions.from_logits(y, z), fp.CrossFit(folds=folds))


# Folds that are dealt


def test_folds_are_balanced_in_every_class():
    y, z = make(3, 103)
    folds = folds_of(influences(y, z, fp.CrossFit(folds=5)))
    counts = np.array([np.bincount(folds[y == k], minlength=5) for k in range(3)])
    assert counts.shape == (3, 5)
    assert (counts.max(axis=1) - counts.min(axis=1)).max() <= 1
    assert np.ptp(np.bincount(folds)) <= 3


def test_seeds_of_any_size():
    data = samples.make(2, 40).predictions
    dealt = [
        calibrator_of_row(fp.CrossFit(seed=seed).folds_of(data), data)
        for seed in (0, 2**64 - 1, 2**64, 2**70, 2**70)
    ]
    assert len({folds.tobytes() for folds in dealt}) == 4
    np.testing.assert_array_equal(dealt[3], dealt[4])


def test_folds_depend_on_the_seed_alone():
    y, z = make(2, 200)
    predictions = fp.Predictions.from_logits(y, z)

    def calibrated(seed):
        train = fp.CrossFit(folds=5, seed=seed)
        return fp.cross_fit(fp.DirectionPreserving(), predictions, train).log_odds

    np.testing.assert_array_equal(calibrated(3), calibrated(3))
    assert np.abs(calibrated(3) - calibrated(4)).max() > 1e-6


def test_groups_stay_together():
    y, z = make(2, 70)
    groups = np.random.default_rng(1).integers(0, 13, 70)
    folds = folds_of(influences(y, z, fp.CrossFit(folds=4, groups=groups)))
    assert folds.max() + 1 == 4
    for group in set(groups.tolist()):
        assert len(set(folds[groups == group])) == 1


def make_trials(n_speakers=14, n_nontargets=60):
    """Enrollment and test speakers, labels and logits; speakers 0.. have two targets each."""
    rng = np.random.default_rng(11)
    enroll, test = rng.integers(0, n_speakers, (2, 3 * n_nontargets))
    different = np.flatnonzero(enroll != test)[:n_nontargets]
    own = np.tile(np.arange(n_speakers), 2)
    enroll, test = np.append(own, enroll[different]), np.append(own, test[different])
    y = (enroll == test).astype(int)
    return enroll, test, y, samples.make_logits(rng, y, 2)


def test_speakers_of_a_trial_train_no_part_of_its_calibrator():
    enroll, test, y, z = make_trials()
    influence = influences(y, z, fp.CrossFit(folds=4, groups=(enroll, test)))
    own = np.arange(14)  # the first targets: speaker s against s
    speaker_fold = folds_of(influence[np.ix_(own, own)])
    assert speaker_fold.max() + 1 == 4
    assert np.ptp(np.bincount(speaker_fold)) <= 1
    pairs = np.column_stack([speaker_fold[enroll], speaker_fold[test]]).tolist()
    for j in range(y.size):
        for i in range(y.size):
            assert influence[j, i] == (j != i and reference.may_train(pairs[i], pairs[j]))


def test_speakers_may_have_names():
    enroll, test, y, z = make_trials()
    predictions = fp.Predictions.from_logits(y, z)
    names = np.array([f"speaker {i:02d}" for i in range(14)])
    made = [
        fp.cross_fit(fp.DirectionPreserving(), predictions, fp.CrossFit(folds=4, groups=groups))
        for groups in [(enroll, test), (names[enroll], names[test])]
    ]
    np.testing.assert_array_equal(made[0].log_odds, made[1].log_odds)


@pytest.mark.parametrize("groups", [np.arange(39), (np.arange(40), np.arange(39)), np.zeros(40)])
def test_bad_groups(groups):
    y, z = make(2, 40)
    with pytest.raises(ValueError, match="groups"):
        fp.cross_fit(fp.PAV(), fp.Predictions.from_logits(y, z), fp.CrossFit(groups=groups))


def test_pairs_of_groups_take_few_folds():
    rng = np.random.default_rng(5)
    groups = tuple(rng.integers(0, 600, (2, 3000)))
    y, z = make(2, 3000)
    data = fp.Predictions.from_logits(y, z)
    with pytest.raises(ValueError, match=r"folds must be at most 140 .* not 141"):
        fp.CrossFit(folds=141, groups=groups).folds_of(data)
    folds = fp.CrossFit(folds=140, groups=groups).folds_of(data)
    calibrator_of_rows = calibrator_of_row(folds, data)
    for i in rng.integers(0, 3000, 50):
        training_mask = folds.training_mask[calibrator_of_rows[i], calibrator_of_rows]
        of_its_speakers = np.isin(groups, [groups[0][i], groups[1][i]]).any(axis=0)
        assert not (training_mask & of_its_speakers).any()
        assert training_mask.any()


# Zero weights


TRAINS = {
    "dealt": lambda rows: fp.CrossFit(folds=4),
    "given": lambda rows: fp.CrossFit(folds=(np.arange(120) % 4)[rows]),
    "groups": lambda rows: fp.CrossFit(folds=4, groups=(np.arange(120) // 3)[rows]),
    "pairs": lambda rows: fp.CrossFit(
        folds=3, groups=((np.arange(120) // 3)[rows], (np.arange(120) // 5 + 7)[rows])
    ),
    "train on test": lambda rows: fp.TrainOnTest(),
}


@pytest.mark.parametrize("train", TRAINS.values(), ids=TRAINS.keys())
@pytest.mark.parametrize(
    "calibrator",
    [fp.PAV(1e-9), fp.HistogramBinning(floor=1e-9), fp.DirectionPreserving()],
    ids=lambda c: type(c).__name__,
)
def test_samples_of_weight_zero_are_as_if_absent(calibrator, train):
    sample = samples.make(2, 120)
    w = np.where(np.random.default_rng(4).random(120) < 0.3, 0.0, 1.0)
    kept = np.flatnonzero(w)
    everything = np.arange(120)
    weighted = fp.Predictions.from_log_posteriors(sample.y, sample.log_q, sample_weight=w)
    log_odds = fp.cross_fit(calibrator, weighted, train(everything)).log_odds
    alone = fp.cross_fit(calibrator, sample.predictions[kept], train(kept)).log_odds
    assert log_odds.shape == (120,)
    assert not np.isnan(log_odds).any()
    assert_close(log_odds[kept], alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [600, 20_000])  # many are fitted at once
@pytest.mark.parametrize(
    "calibrator", [fp.DirectionPreserving(), fp.TemperatureScaling()], ids=repr
)
def test_samples_of_a_fold_without_weight_are_calibrated_by_the_others(n, calibrator):
    sample = samples.make(2, n)
    folds = np.arange(n) % 4
    weights = np.where(folds == 0, 0.0, 1.0)
    data = fp.Predictions.from_log_posteriors(sample.y, sample.log_q, sample_weight=weights)
    found = fp.cross_fit(calibrator, data, fp.CrossFit(folds=folds))
    by_others = calibrator.fit(sample.predictions[folds != 0])
    expected = by_others.transform(sample.predictions[folds == 0]).log_odds
    assert_close(found.log_odds[folds == 0], expected, rtol=1e-9, atol=1e-9)


# Other ways to train


@pytest.mark.parametrize("calibrator", [fp.PAV(), fp.TemperatureScaling()])
def test_train_on_test_and_held_out(calibrator):
    sample, other = samples.make(2, 70), samples.make(2, 80, seed=1)
    for train, data in [
        (fp.TrainOnTest(), sample.predictions),
        (fp.HeldOut(other.predictions), other.predictions),
    ]:
        made = fp.cross_fit(calibrator, sample.predictions, train)
        expected = calibrator.fit(data).transform(sample.predictions)
        np.testing.assert_array_equal(made.log_odds, expected.log_odds)


def test_held_out_data_need_the_same_classes():
    held_out = fp.HeldOut(samples.make(3).predictions)
    with pytest.raises(ValueError, match="3"):
        fp.cross_fit(fp.TemperatureScaling(), samples.make(2).predictions, held_out)


@pytest.mark.parametrize("train", [fp.CrossFit(), fp.TrainOnTest()])
def test_calibrated_predictions_keep_labels_weights_and_priors(train):
    sample = samples.make(3, 100, weights="integer", priors=True)
    made = fp.cross_fit(fp.DirectionPreserving(), sample.predictions, train)
    np.testing.assert_array_equal(made.y_true, sample.y)
    np.testing.assert_array_equal(made.sample_weight, sample.weights)
    assert_close(made.priors, sample.priors)
    assert made.kind == "posteriors"


@pytest.mark.parametrize("as_pair", [False, True])
def test_ids_that_are_edited_in_place_are_dealt_anew(as_pair):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    data = fp.Predictions.from_logits(y, rng.normal(size=400) + y)
    ids, calibrator = np.arange(400) // 10, fp.DirectionPreserving()
    groups = (ids, ids[::-1]) if as_pair else ids
    train = fp.CrossFit(folds=3, groups=groups)
    before = fp.cross_fit(calibrator, data, train).scores.copy()
    ids[:] = rng.permutation(ids)
    after = fp.cross_fit(calibrator, data, train).scores
    fresh = fp.cross_fit(calibrator, data[:], fp.CrossFit(folds=3, groups=groups)).scores
    np.testing.assert_array_equal(after, fresh)
    assert (before != after).any()
