"""What `Predictions` accept, hold and refuse."""

import math
import pickle

import numpy as np
import pytest

import fastpsr as fp
from tests import reference, samples
from tests.reference import assert_close
from tests.refusal import refuses

Y = [0, 1, 1, 0]
Q = [0.25, 0.75, 0.5, 0.125]  # exact in float32


def assert_same(one, other):
    """The same posteriors, to rounding, and the same labels, priors and weights."""
    assert_close(one.log_posteriors, other.log_posteriors)
    assert_close(one.posteriors, other.posteriors)
    np.testing.assert_array_equal(one.y_true, other.y_true)
    assert_close(one.priors, other.priors)
    assert (one.sample_weight is None) == (other.sample_weight is None)


# The constructors agree with one another


@pytest.mark.parametrize("K", [2, 3, 7])
def test_constructors_agree(K):
    sample = samples.make(K, weights="integer", priors=True)
    options = {"priors": sample.priors, "sample_weight": sample.weights}
    q, log_q, shift = np.exp(sample.log_q), sample.log_q, np.linspace(-9.0, 9.0, len(sample.y))
    log_lk = log_q - np.log(sample.priors) + shift[:, None]
    first = fp.Predictions.from_log_posteriors(sample.y, log_q, **options)
    others = [
        fp.Predictions.from_posteriors(sample.y, q, **options),
        fp.Predictions.from_logits(sample.y, log_q + shift[:, None], **options),
        fp.Predictions.from_log_likelihoods(sample.y, log_lk, **options),
    ]
    if K == 2:
        log_odds, llrs = log_q[:, 1] - log_q[:, 0], log_lk[:, 1] - log_lk[:, 0]
        options_of_llrs = {"prior": sample.priors[1], "sample_weight": sample.weights}
        others += [
            fp.Predictions.from_posteriors(sample.y, q[:, 1], **options),
            fp.Predictions.from_logits(sample.y, log_odds, **options),
            fp.Predictions.from_llrs(sample.y, llrs, **options_of_llrs),
        ]
        for other in others:
            assert_close(other.log_odds, log_odds, atol=1e-13)
            assert_close(other.llrs, llrs, atol=1e-13)
    for other in others:
        assert_same(first, other)


def test_llrs_of_posteriors_can_leave_out_the_prior_of_other_data():
    data = fp.Predictions.from_posteriors([0, 0, 0, 1], [0.1, 0.2, 0.5, 0.8])
    odds = math.log(0.2 / 0.8)
    assert_close(data.as_llrs(0.5).llrs, data.log_odds - math.log(1 / 3))  # of the test set
    of_training = data.as_llrs(0.1, training_prior=0.2)
    assert_close(of_training.llrs, data.log_odds - odds)
    assert_close(of_training.priors, [0.9, 0.1])
    unlabeled = fp.Predictions.from_posteriors(None, [0.1, 0.8])
    assert_close(unlabeled.as_llrs(training_prior=0.2).llrs, unlabeled.log_odds - odds)
    for wrong in (of_training, data):
        with refuses("training_prior"):
            wrong.as_llrs(training_prior=0.2 if wrong is of_training else 1.0)


def test_targets_and_nontargets():
    data = fp.Predictions.from_target_nontarget([1.5, 2.5], [-1.0, 0.5, 2.0], prior=0.2)
    assert data.y_true.tolist() == [1, 1, 0, 0, 0]
    assert data.llrs.tolist() == [1.5, 2.5, -1.0, 0.5, 2.0]
    assert_close(data.priors, [0.8, 0.2])


# What they hold


def test_small_posteriors_keep_their_digits():
    q = [1e-300, 1e-20, 0.5, math.nextafter(1.0, 0.0), 0.0, 1.0]
    data = fp.Predictions.from_posteriors(None, q, priors=[0.5, 0.5])
    log_odds = [-300 * math.log(10), -20 * math.log(10), 0.0, 53 * math.log(2)]
    assert_close(data.log_odds[:4], log_odds, rtol=1e-14)
    assert data.log_odds[4:].tolist() == [-math.inf, math.inf]
    np.testing.assert_array_equal(data.posteriors[:, 1], q)


def test_priors_are_the_weighted_class_frequencies_unless_given():
    w = [1.0, 2.0, 0.0, 5.0]
    assert fp.Predictions.from_posteriors(Y, Q).priors.tolist() == [0.5, 0.5]
    weighted = fp.Predictions.from_posteriors(Y, Q, sample_weight=w)
    assert weighted.priors.tolist() == [0.75, 0.25]
    assert weighted.class_sizes.tolist() == [2, 1]  # one of class 1 has no weight
    given = fp.Predictions.from_posteriors(Y, Q, sample_weight=w, priors=[0.1, 0.9])
    assert given.priors.tolist() == [0.1, 0.9]


def test_balanced_weights_give_classes_their_priors():
    y, llrs, weights = [0, 0, 1], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0]
    alike, weighted = (
        fp.Predictions.from_llrs(y, llrs, prior=0.75, sample_weight=w) for w in (None, weights)
    )
    np.testing.assert_allclose(alike.balanced_weights(), [0.375, 0.375, 2.25], rtol=1e-15)
    np.testing.assert_allclose(weighted.balanced_weights(), [0.5, 1.0, 4.5], rtol=1e-15)


def test_a_subset_estimates_frequencies_anew_and_keeps_given_priors():
    index = [0, 1, 3]
    assert_close(fp.Predictions.from_posteriors(Y, Q)[index].priors, [2 / 3, 1 / 3])
    given = fp.Predictions.from_posteriors(Y, Q, priors=[0.1, 0.9])
    assert_close(given[index].priors, [0.1, 0.9])


@pytest.mark.parametrize("K", [2, 3])
def test_posteriors_are_fixed_when_the_predictions_are_made(K):
    y = np.arange(12) % K
    y[:4] = 0
    log_lk = np.random.default_rng(0).normal(size=(12, K))
    data = fp.Predictions.from_log_likelihoods(y, log_lk)
    frequencies = reference.class_priors(y, K)
    expected = reference.log_softmax(log_lk + np.log(frequencies))
    subset = data[6:]
    assert reference.class_priors(y[6:], K) != frequencies
    assert_close(subset.priors, reference.class_priors(y[6:], K))
    assert_close(subset.log_posteriors, expected[6:])
    assert_close(subset[1:].log_posteriors, expected[7:])
    assert_close(data.log_posteriors, expected)


@pytest.mark.parametrize(
    "index",
    [slice(1, 3), [2, 0], np.array([True, False, True, True]), np.array([3, 3, 1]), 2, -1],
    ids=str,
)
def test_indexing(index):
    rows = np.atleast_1d(np.arange(4)[index])
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    for kind in ("posteriors", "logits", "llrs", "raw scores"):
        data = fp.Predictions.of(kind, Y, Q, sample_weight=weights)
        picked = data[index]
        assert len(picked) == rows.size
        np.testing.assert_array_equal(picked.y_true, np.array(Y)[rows])
        np.testing.assert_array_equal(picked.sample_weight, weights[rows])
        np.testing.assert_array_equal(picked.scores, data.scores[rows])
        if kind != "raw scores":
            np.testing.assert_array_equal(picked.log_odds, data.log_odds[rows])
            np.testing.assert_array_equal(picked.posteriors, data.posteriors[rows])


@pytest.mark.parametrize("index", [[], slice(4, 9), np.zeros(4, bool)], ids=str)
def test_a_subset_may_be_empty(index):
    """As a part of a whole may be; what to compute from it is for metrics to refuse."""
    data = fp.Predictions.from_posteriors(Y, Q, priors=[0.9, 0.1])[index]
    assert len(data) == data.y_true.size == 0
    assert data.posteriors.shape == (0, 2)
    assert data.class_weights.tolist() == [0.0, 0.0]
    assert data.priors.tolist() == [0.9, 0.1]


def test_a_part_of_unlabeled_likelihoods():
    data = fp.Predictions.from_llrs(None, [1.0, 2.0, 3.0])
    assert data[:2].llrs.tolist() == [1.0, 2.0]
    rows = fp.Predictions.from_log_likelihoods(None, np.arange(9.0).reshape(3, 3))
    assert len(rows[[2, 0]]) == 2
    given = fp.Predictions.from_llrs(None, [1.0, 2.0, 3.0], prior=0.1)
    np.testing.assert_array_equal(given[1:].posteriors, given.posteriors[1:])


def test_unlabeled_data_are_for_transforming_and_deciding():
    data = fp.Predictions.from_posteriors(None, Q)
    assert data.y_true is None
    assert fp.bayes_decisions(data, [[0, 1], [1, 0]]).tolist() == [0, 1, 0, 0]
    with pytest.raises(ValueError, match="unlabeled"):
        _ = data.priors
    with pytest.raises(ValueError, match="prior"):
        _ = fp.Predictions.from_llrs(None, Q).log_odds
    assert_close(fp.Predictions.from_llrs(None, Q, prior=0.5).log_odds, Q)


def test_raw_scores_have_no_posteriors():
    raw = fp.Predictions.from_raw_scores(Y, Q)
    for use in (lambda: raw.log_odds, lambda: fp.bayes_decisions(raw, [[0, 1], [1, 0]])):
        with pytest.raises(ValueError, match=r"raw scores.*calibrate"):
            use()


def test_log_odds_need_two_classes():
    data = samples.make(3).predictions
    for what in ("log_odds", "llrs"):
        with pytest.raises(ValueError, match=r"3 classes"):
            getattr(data, what)


LABELS, LOG_ODDS = [0, 1, 1], np.array([-1.5, 0.25, 2.0])
ROWS = np.array([[0.2, 0.3, 0.5]] * 3)
POSTERIORS = 1.0 / (1.0 + np.exp(-LOG_ODDS))
PAIRS, PRIORS, WEIGHTS = (
    np.column_stack([1.0 - POSTERIORS, POSTERIORS]),
    [0.9, 0.1],
    [1.0, 2.0, 0.5],
)
LOG_PAIRS, LOG_LK = np.log(PAIRS), np.column_stack([np.zeros(3), LOG_ODDS])
OF_KINDS = {  # kind: scores, constructor, what it is given, its options
    "posteriors": (POSTERIORS, "posteriors", POSTERIORS, {"priors": PRIORS}),
    "log-posteriors": (LOG_PAIRS, "log_posteriors", LOG_PAIRS, {"priors": PRIORS}),
    "logits": (LOG_ODDS, "logits", LOG_ODDS, {"priors": PRIORS}),
    "likelihoods": (LOG_ODDS, "llrs", LOG_ODDS, {"prior": 0.1}),
    "log-likelihoods": (LOG_LK, "log_likelihoods", LOG_LK, {"priors": PRIORS}),
    "llrs": (LOG_ODDS, "llrs", LOG_ODDS, {"prior": 0.1}),
    "log10 llrs": (LOG_ODDS, "llrs", np.log(10.0) * LOG_ODDS, {"prior": 0.1}),
    "raw scores": (LOG_ODDS, "raw_scores", LOG_ODDS, {}),
}


@pytest.mark.parametrize("kind", OF_KINDS)
def test_of_a_kind_is_what_its_constructor_makes(kind):
    scores, name, given, options = OF_KINDS[kind]
    other = getattr(fp.Predictions, f"from_{name}")(LABELS, given, sample_weight=WEIGHTS, **options)
    priors = PRIORS if options else None
    data = fp.Predictions.of(kind, LABELS, scores, priors=priors, sample_weight=WEIGHTS)
    assert (data.kind, data.scores.tobytes()) == (other.kind, other.scores.tobytes())
    assert (data.y_true.tolist(), data.sample_weight.tolist()) == (LABELS, WEIGHTS)
    assert data.priors.tolist() == other.priors.tolist()
    if kind != "raw scores":
        assert data.posteriors.tobytes() == other.posteriors.tobytes()


def test_of_a_kind_takes_what_its_constructor_takes():
    make = fp.Predictions.of
    logs = fp.Predictions.from_log_likelihoods([0, 1, 2], ROWS, priors=[0.2, 0.3, 0.5])
    for kind in ("likelihoods", "log-likelihoods"):
        data = make(kind, [0, 1, 2], ROWS, priors=[0.2, 0.3, 0.5])
        assert data.posteriors.tobytes() == logs.posteriors.tobytes()
    options = {"classes": ["a", "b", "c"], "normalize": True, "floor": 0.01}
    data = make("posteriors", ["a", "a", "c"], 2 * ROWS, **options)
    other = fp.Predictions.from_posteriors(["a", "a", "c"], 2 * ROWS, **options)
    assert data.posteriors.tobytes() == other.posteriors.tobytes()
    assert make("raw scores", None, np.float32([1, 2])).scores.tolist() == [1.0, 2.0]
    assert make("log10 llrs", None, np.float32([1, 2])).llrs.tolist() == [
        np.log(10.0), 2.0 * np.log(10.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "y", "scores", "options", "argument", "index"),
    [
        ("llr", LABELS, POSTERIORS, {}, "kind", None),
        ("posteriors", LABELS, LOG_ODDS, {}, "scores", 0),
        ("logits", LABELS, [0.0, math.nan, 1.0], {}, "scores", 1),
        ("llrs", LABELS, np.ones((3, 2)), {}, "scores", None),
        ("log-likelihoods", LABELS, LOG_ODDS, {}, "scores", None),
        ("raw scores", LABELS, POSTERIORS, {"priors": [0.5, 0.5]}, "priors", None),
        ("llrs", LABELS, POSTERIORS, {"priors": [0.0, 1.0]}, "priors", None),
        ("llrs", LABELS, POSTERIORS, {"priors": [0.5, 0.4]}, "priors", None),
        ("log10 llrs", LABELS, POSTERIORS, {"priors": [0.2, 0.3, 0.5]}, "priors", None),
        ("logits", LABELS, POSTERIORS, {"normalize": True}, "normalize", None),
        ("likelihoods", LABELS, POSTERIORS, {"floor": 0.1}, "floor", None),
        ("posteriors", [0, 1, 2], POSTERIORS, {}, "y_true", 2),
    ],
)
def test_of_a_kind_names_its_own_arguments(kind, y, scores, options, argument, index):
    with refuses(argument, index=index):
        fp.Predictions.of(kind, y, scores, **options)


def test_predictions_are_made_by_their_constructors_only():
    with pytest.raises(TypeError, match="from_posteriors"):
        fp.Predictions()


# Columns

SPEAKERS = ["a", "b", "b", "c"]
CONSTRUCTORS = {
    "from_posteriors": Q, "from_log_posteriors": np.log(np.column_stack([1 - np.array(Q), Q])),
    "from_logits": Q[::-1], "from_llrs": [-2.0, 3.0, 0.5, -1.0], "from_raw_scores": [1, 2, 3, 4],
    "from_log_likelihoods": np.eye(4)[:, :3],
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_constructor_takes_columns(name):
    data = getattr(fp.Predictions, name)(Y, CONSTRUCTORS[name], columns={"speaker": SPEAKERS})
    assert data.columns["speaker"].tolist() == SPEAKERS
    assert data[[3, 0]].columns["speaker"].tolist() == ["c", "a"]


def test_columns_are_a_mapping_that_subsets_copies_and_calibrated_data_have():
    columns = {"speaker": SPEAKERS, "seconds": np.array([3.5, np.nan, 1.0, 2.0]), "n": range(4)}
    data = fp.Predictions.of("llrs", Y, [-2.0, 3.0, 0.5, -1.0], columns=columns)
    assert [*data.columns] == [*columns]
    assert data.columns["n"].dtype == np.int64
    rows = np.array([False, True, True, True])
    for picked in (data[rows][1:], pickle.loads(pickle.dumps(data[rows][1:]))):
        assert picked.columns["speaker"].tolist() == ["b", "c"]
        assert picked.columns["seconds"].tolist() == [1.0, 2.0]
    for made in (
        data.as_llrs(0.5),
        fp.PAV().fit(data).transform(data),
        fp.cross_fit(fp.PAV(), data, fp.TrainOnTest()),
        fp.from_parts([data]).map(lambda d: fp.Predictions.from_llrs(d.y_true, d.llrs)).compute(),
    ):
        assert made.columns["speaker"].tolist() == SPEAKERS
    with pytest.raises(KeyError):
        data.columns["nothing"]
    with pytest.raises(TypeError):
        data.columns["new"] = SPEAKERS
    assert not fp.Predictions.from_llrs(Y, Q).columns


def test_a_column_that_is_not_used_may_have_missing_entries():
    speakers = ["a", None, "b", float("nan")]
    data = fp.Predictions.from_llrs(Y, Q, columns={"speaker": speakers, "group": SPEAKERS})
    assert data.columns["speaker"].tolist()[:3] == ["a", None, "b"]
    with pytest.raises(fp.ArgumentError, match="an id for each sample") as caught:
        fp.evaluate(data, ["EER"], by="speaker")
    assert caught.value.index == 1


@pytest.mark.parametrize(
    "columns",
    [
        ["speaker"], {"speaker": SPEAKERS[1:]}, {"speaker": "abcd"}, {"speaker": 1}, {1: SPEAKERS},
        {"speaker": iter(SPEAKERS)}, {"speaker": np.eye(4)}, {"speaker": {*range(4)}},
    ],
)  # fmt: skip
def test_invalid_columns(columns):
    with pytest.raises(fp.ArgumentError, match="columns") as caught:
        fp.Predictions.from_llrs(Y, Q, columns=columns)
    assert caught.value.argument.startswith("columns")


def test_columns_in_another_order_than_the_labels_are_refused():
    pandas = pytest.importorskip("pandas")
    y, speakers = pandas.Series(Y), pandas.Series(SPEAKERS)
    with pytest.raises(fp.ArgumentError, match="order of y_true"):
        fp.Predictions.from_llrs(y, Q, columns={"speaker": speakers[::-1]})


def test_parts_have_the_columns_of_their_predictions_and_of_their_pairs():
    data = fp.Predictions.from_llrs(Y, [-2.0, 3.0, 0.5, -1.0], columns={"speaker": SPEAKERS})
    further = {"session": [4, 5, 6, 7]}
    parts = fp.from_parts([(data[:1], {"session": [4]}), (data[1:], {"session": [5, 6, 7]})])
    whole = parts.compute()
    assert whole.columns["speaker"].tolist() == SPEAKERS
    assert whole.columns["session"].tolist() == further["session"]
    mixed = fp.from_parts([(data[:1], {"session": ["4"]}), (data[1:], {"session": [5, 6, 7]})])
    with pytest.raises(fp.ArgumentError, match="of one type in all parts"):
        mixed.compute().columns["session"]
