"""Which samples train the calibrator of which others."""

import numpy as np
import pytest

import fastpsr as fp
from tests import samples
from tests.dealt_folds import fold_numbers, folds_of
from tests.reference import assert_close
from tests.refusal import refuses


def test_bad_folds_and_groups():
    data = samples.make(2, 40).predictions
    for argument, options in (
        ("folds", {"folds": np.zeros(40, int)}),
        ("folds", {"groups": np.zeros(40)}),
        ("groups", {"groups": (np.arange(40), np.arange(39))}),
    ):
        with refuses(argument):
            fp.cross_fit(fp.PAV(), data, fp.CrossFit(**options))


def test_a_fold_with_all_of_a_class_is_named():
    groups = np.arange(300) % 60
    y = (groups == 7).astype(int)
    data = fp.Predictions.from_logits(y, np.random.default_rng(0).normal(size=300))
    train = fp.CrossFit(groups=groups)
    for calibrator in (fp.PAV(), fp.BetaCalibration()):
        with pytest.raises(fp.ArgumentError, match=r"all of class 1 are in fold \d"):
            fp.cross_fit(calibrator, data, train)


# Folds that are dealt


def test_folds_are_balanced_in_every_class():
    y = samples.make(3, 103).y
    folds = fold_numbers(y, fp.CrossFit(folds=5))
    for fold in folds_of(y, fp.CrossFit(folds=5)):
        np.testing.assert_array_equal(fold.training, ~fold.served)
    counts = np.array([np.bincount(folds[y == k], minlength=5) for k in range(3)])
    assert counts.shape == (3, 5)
    assert (counts.max(axis=1) - counts.min(axis=1)).max() <= 1
    assert np.ptp(np.bincount(folds)) <= 3


def test_folds_depend_on_the_seed():
    y = samples.make(2, 40).y
    seeds = (0, 2**64 - 1, 2**64, 2**70, 2**70)
    dealt = [fold_numbers(y, fp.CrossFit(seed=seed)).tobytes() for seed in seeds]
    assert len(set(dealt)) == 4
    assert dealt[3] == dealt[4]


def test_groups_stay_together():
    y, groups = samples.make(2, 300).y, np.random.default_rng(0).integers(0, 60, 300)
    folds = fold_numbers(y, fp.CrossFit(folds=5, groups=groups))
    assert all(np.unique(folds[groups == group]).size == 1 for group in range(60))
    assert np.bincount(folds).min() > 40


def make_trials(n_speakers=14, n_nontargets=60):
    """Enrollment and test speakers, and labels; speakers 0.. have two targets each."""
    rng = np.random.default_rng(11)
    enroll, test = rng.integers(0, n_speakers, (2, 3 * n_nontargets))
    different = np.flatnonzero(enroll != test)[:n_nontargets]
    of_targets = np.tile(np.arange(n_speakers), 2)
    enroll, test = np.append(of_targets, enroll[different]), np.append(of_targets, test[different])
    return enroll, test, (enroll == test).astype(int)


def test_speakers_of_a_trial_train_no_part_of_its_calibrator():
    enroll, test, y = make_trials()
    trains = np.zeros((y.size, y.size), bool)  # whether trial j trains the calibrator of trial i
    for fold in folds_of(y, fp.CrossFit(folds=4, groups=(enroll, test))):
        trains[np.ix_(fold.served, fold.training)] = True
    targets = trains[:14, :14]  # the first targets: speaker s against s
    speaker_fold = np.array([np.argmin(row) for row in targets])  # the first that does not train
    assert np.unique(speaker_fold).size == 4
    assert np.ptp(np.bincount(speaker_fold)[np.unique(speaker_fold)]) <= 1
    pairs = np.column_stack([speaker_fold[enroll], speaker_fold[test]]).tolist()
    for j in range(y.size):
        for i in range(y.size):
            assert trains[j, i] == (not {*pairs[i]} & {*pairs[j]})


def test_pairs_of_groups_take_few_folds():
    speakers = np.random.default_rng(5).integers(0, 600, (2, 3000))
    data, train = samples.make(2, 3000).predictions, fp.CrossFit(folds=141, groups=tuple(speakers))
    with refuses("folds"):
        fp.cross_fit(fp.PAV(), data, train)
    for fold in folds_of(data.y_true, fp.CrossFit(folds=12, groups=tuple(speakers))):
        assert not set(speakers[:, fold.served].ravel()) & set(speakers[:, fold.training].ravel())
        assert fold.training.any()


def test_ids_that_are_edited_in_place_are_dealt_anew():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    data = fp.Predictions.from_logits(y, rng.normal(size=400) + y)
    for as_pair in (False, True):
        ids = np.arange(400) // 10
        groups = (ids, ids[::-1]) if as_pair else ids
        train = fp.CrossFit(folds=3, groups=groups)
        before = fp.cross_fit(fp.DirectionPreserving(), data, train).scores.copy()
        ids[:] = rng.permutation(ids)
        after = fp.cross_fit(fp.DirectionPreserving(), data, train).scores
        fresh = fp.CrossFit(folds=3, groups=groups)
        expected = fp.cross_fit(fp.DirectionPreserving(), data[:], fresh).scores
        np.testing.assert_array_equal(after, expected)
        assert (before != after).any()


# Zero weights


TRAINS = {
    "dealt": lambda rows: fp.CrossFit(folds=4),
    "groups": lambda rows: fp.CrossFit(folds=4, groups=(np.arange(120) // 3)[rows]),
    "pairs": lambda rows: fp.CrossFit(
        folds=3, groups=((np.arange(120) // 3)[rows], (np.arange(120) // 5 + 7)[rows])
    ),
}


@pytest.mark.parametrize("train", TRAINS.values(), ids=TRAINS.keys())
@pytest.mark.parametrize("calibrator", [fp.PAV(1e-9), fp.DirectionPreserving()], ids=repr)
def test_samples_of_weight_zero_are_as_if_absent(calibrator, train):
    sample = samples.make(2, 120)
    w = np.where(np.random.default_rng(4).random(120) < 0.3, 0.0, 1.0)
    kept = np.flatnonzero(w)
    weighted = fp.Predictions.from_log_posteriors(sample.y, sample.log_q, sample_weight=w)
    log_odds = fp.cross_fit(calibrator, weighted, train(np.arange(120))).log_odds
    alone = fp.cross_fit(calibrator, sample.predictions[kept], train(kept)).log_odds
    assert log_odds.shape == (120,)
    assert not np.isnan(log_odds).any()
    assert_close(log_odds[kept], alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [600, 20_000])  # many are fitted at once
def test_samples_of_a_fold_without_weight_are_calibrated_by_the_others(n):
    sample, calibrator = samples.make(2, n), fp.DirectionPreserving()
    folds = np.arange(n) % 4
    weights = np.where(folds == 0, 0.0, 1.0)
    data = fp.Predictions.from_log_posteriors(sample.y, sample.log_q, sample_weight=weights)
    crossed = fp.cross_fit(calibrator, data, fp.CrossFit(folds=folds))
    by_others = calibrator.fit(sample.predictions[folds != 0])
    expected = by_others.transform(sample.predictions[folds == 0]).log_odds
    assert_close(crossed.log_odds[folds == 0], expected, rtol=1e-9, atol=1e-9)


# Other ways to train


@pytest.mark.parametrize("calibrator", [fp.PAV(), fp.TemperatureScaling()], ids=repr)
def test_train_on_test_and_held_out(calibrator):
    sample, held_out = samples.make(2, 70).predictions, samples.make(2, 80, seed=1).predictions
    for train, data in ((fp.TrainOnTest(), sample), (fp.HeldOut(held_out), held_out)):
        calibrated = fp.cross_fit(calibrator, sample, train)
        expected = calibrator.fit(data).transform(sample)
        np.testing.assert_array_equal(calibrated.log_odds, expected.log_odds)
    with pytest.raises(fp.ArgumentError, match="3"):
        fp.cross_fit(fp.TemperatureScaling(), sample, fp.HeldOut(samples.make(3).predictions))
