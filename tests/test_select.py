"""The choice among calibrators, against loops over public fits."""

import numpy as np
import pytest

import fastpsr as fp
from tests.dealt_folds import folds_of
from tests.refusal import refuses

LOG, BRIER = fp.rules.Log(), fp.rules.Brier()
BINARY = {
    "none": None,
    "dp": fp.DirectionPreserving(),
    "beta": fp.BetaCalibration(),
    "laplace": fp.PAV(laplace=True),
    "venn-abers": fp.VennAbers(),
    "histogram": fp.HistogramBinning(4, 0.01),
}
OF_WEIGHTS = {name: calibrator for name, calibrator in BINARY.items() if name != "venn-abers"}
SEVERAL = {
    "none": None,
    "temperature": fp.TemperatureScaling(),
    "dp": fp.DirectionPreserving(),
    "vector": fp.VectorScaling(),
}


def draw(n, K=2, kind="logits", seed=0, **options):
    rng = np.random.default_rng([n, K, seed])
    y = rng.permutation(np.arange(n) % K)
    z = (rng.normal(size=(n, K)) + np.eye(K)[y]) * 1.7
    scores = z[:, 1] - z[:, 0] if K == 2 else z
    return getattr(fp.Predictions, f"from_{kind}")(y, scores, **options)


def losses_of(rule, data, calibrator, training, served):
    """Summed losses of the served samples by class, and the classes' weights."""
    after = data if calibrator is None else calibrator.fit(data[training]).transform(data)
    losses = rule.loss(data.y_true, after.log_posteriors)
    weights = np.ones(len(data)) if data.sample_weight is None else data.sample_weight
    of_class = [served & (data.y_true == k) for k in range(data.n_classes)]
    return np.array([(losses[rows] @ weights[rows], weights[rows].sum()) for rows in of_class])


def expected_loss(pairs, data):
    losses, weights = np.transpose(pairs)
    if data.given_priors is None:
        return losses.sum() / weights.sum()
    return data.given_priors @ (losses / weights)


def by_loops(data, candidates, rule, folds):
    """Cross-fitted scores, the choice for each fold, and the nested score.

    `folds` has for each fold the rows that are served, and those that may train for them.
    """
    of_folds = {
        name: [losses_of(rule, data, calibrator, training, served) for served, training in folds]
        for name, calibrator in candidates.items()
    }
    scores = {name: expected_loss(sum(pairs), data) for name, pairs in of_folds.items()}
    nested, winners = 0.0, []
    for o, (served, training) in enumerate(folds):
        pooled = {}
        for name, calibrator in candidates.items():
            total = 0.0
            for inner_served, inner_training in folds:
                if not (inner_served & ~training).any():  # no sample is near those of fold o
                    both = training & inner_training
                    total = total + losses_of(rule, data, calibrator, both, inner_served)
            pooled[name] = expected_loss(total, data)
        winners.append(min(pooled, key=pooled.get))
        nested = nested + of_folds[winners[-1]][o]
        assert not (served & training).any()
    return scores, winners, expected_loss(nested, data)


@pytest.mark.parametrize(
    ("rule", "data", "candidates"),
    [
        (BRIER, draw(400, priors=[0.9, 0.1]), BINARY),
        (LOG, draw(400, kind="llrs", prior=0.2), BINARY),
        (BRIER, draw(20_000, kind="llrs", prior=0.2), BINARY),  # sums serve
        (LOG, draw(400, sample_weight=1.0 + np.arange(400) % 3), OF_WEIGHTS),
        (BRIER, draw(300, 3), SEVERAL),
        (LOG, draw(300, 3, "log_likelihoods", priors=[0.2, 0.3, 0.5]), SEVERAL),
    ],
)
def test_the_definition(rule, data, candidates):
    fold = np.arange(len(data)) % 4
    selection = fp.select(data, candidates, rule, fp.CrossFit(fold))
    folds = [(fold == f, fold != f) for f in range(4)]
    scores, winners, nested = by_loops(data, candidates, rule, folds)
    scale = rule.entropy(data.priors)
    for row in selection.table:
        assert row.epsr == pytest.approx(scores[row.name], rel=1e-8)
        assert row.score == pytest.approx(scores[row.name] / scale, rel=1e-8)
        rcl = 100.0 * (scores["none"] - scores[row.name]) / scores["none"]
        assert row.rcl == pytest.approx(rcl, abs=1e-6)
    assert selection.chosen == min(scores, key=scores.get)
    assert selection.choices == tuple(winners)
    assert selection.score == pytest.approx(nested / scale, rel=1e-8)
    difference = selection.score - selection[selection.chosen].score
    assert selection.optimism == pytest.approx(difference, abs=1e-12)


def test_pairs_of_speakers():
    """A fit leaves out the speakers of the fold that is scored, and of that which judges."""
    data = draw(500)
    train = fp.CrossFit(7, groups=tuple(np.random.default_rng(1).integers(0, 30, (2, 500))))
    candidates = {"none": None, "dp": fp.DirectionPreserving(), "laplace": fp.PAV(laplace=True)}
    selection = fp.select(data, candidates, train=train)
    scores, winners, nested = by_loops(data, candidates, LOG, folds_of(data.y_true, train))
    assert selection.choices == tuple(winners)
    assert selection.score == pytest.approx(nested / LOG.entropy(data.priors), rel=1e-8)
    assert selection["dp"].epsr == pytest.approx(scores["dp"], rel=1e-8)


def test_replicates_repeat_the_choice():
    """Against selections of repeated samples, with the folds that these had."""
    data, fold = draw(300), np.arange(300) % 5
    candidates = {"none": None, "dp": fp.DirectionPreserving(), "laplace": fp.PAV(laplace=True)}
    selection = fp.select(data, candidates, train=fp.CrossFit(fold), n_resamples=40, seed=5)
    assert selection.low <= selection.score <= selection.high
    assert selection.n_undefined == 0
    rng = np.random.default_rng(0)
    scores = [
        fp.select(data[rows], candidates, train=fp.CrossFit(folds=fold[rows])).score
        for rows in rng.integers(0, len(data), (60, len(data)))
    ]
    width = np.subtract(*np.quantile(scores, [0.975, 0.025]))
    assert selection.high - selection.low == pytest.approx(width, rel=0.5)


def test_the_first_of_equals_is_chosen_and_the_simplest_named():
    laplace = fp.PAV(laplace=True)
    equals = fp.select(draw(500), {"b": laplace, "a": laplace})
    assert equals["a"].score == equals["b"].score
    assert equals.chosen == "b"
    x = np.round(draw(500).log_odds / 3.0)  # at few scores, all maps are much the same
    data = fp.Predictions.from_logits(draw(500).y_true, x)
    candidates = {"pav": fp.PAV(floor=1e-3), "dp": fp.DirectionPreserving()}
    selection = fp.select(data, candidates, n_resamples=60, seed=0)
    assert set(selection.alike) == {"pav", "dp"}
    assert selection.simplest == "dp"
    for row in selection.table:
        assert row.low <= row.difference <= row.high
        assert row.low <= 0.0 <= row.high


def test_raw_scores_leave_out_what_needs_posteriors():
    data = draw(500, kind="raw_scores")
    selection = fp.select(data, {**BINARY, "spline": fp.Spline()}, n_resamples=40, seed=1)
    assert set(selection.left_out) == {"none", "beta", "spline", "histogram"}
    assert [row.name for row in selection.table] == ["dp", "laplace", "venn-abers"]
    assert all(np.isnan(row.rcl) for row in selection.table)
    after = fp.cross_fit(fp.DirectionPreserving(), data)
    assert selection["dp"].score == pytest.approx(fp.CrossEntropy()(after), rel=1e-8)
    assert selection.calibrator.domain_ == "raw scores"
    assert "left out: none" in str(selection)


def test_what_is_refused():
    data, none = draw(200), {"none": None}
    weighted = draw(200, sample_weight=np.linspace(0.5, 1.0, 200))
    separable = fp.Predictions.from_logits([0, 1] * 20, [-1.0, 1.0] * 20)
    one_class = fp.Predictions.from_llrs([1] * 40, np.arange(40.0))
    for argument, predictions, candidates, options in (
        ("rule", data, none, {"rule": fp.ECE()}),
        ("candidates", data, [fp.PAV()], {}),
        ("candidates['x']", data, {"x": "dp"}, {}),
        ("train", data, none, {"train": fp.TrainOnTest()}),
        ("folds", data, none, {"train": fp.CrossFit(2)}),
        ("candidates", draw(200, kind="raw_scores"), none, {}),
        ("predictions", draw(200, 3), {"beta": fp.BetaCalibration()}, {}),
        ("candidates", weighted, {"venn-abers": fp.VennAbers()}, {}),
        ("scores", one_class, none, {}),
        ("candidates", separable, {"dp": fp.DirectionPreserving()}, {}),
    ):
        with refuses(argument):
            fp.select(predictions, candidates, **options)


def test_replicates_without_a_fit_are_left_out():
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(8), np.zeros(100)].astype(int)
    data = fp.Predictions.from_llrs(y, rng.normal(size=108) + 1.5 * y)
    candidates = {"none": None, "dp": fp.DirectionPreserving()}
    with pytest.warns(RuntimeWarning, match=r"undefined in \d+ of 40 replicates"):
        selection = fp.select(data, candidates, n_resamples=40, seed=0)
    assert f"{selection.n_undefined} of 40 replicates are left out" in str(selection)


def test_choices_among_infinite_scores():
    y, z = np.arange(300) % 2, np.random.default_rng(1).normal(size=300)
    data = fp.Predictions.from_logits(y, z + y)
    options = {"n_resamples": 8, "confidence_level": 0.6, "seed": 0}
    selection = fp.select(data, {"a": fp.PAV(), "b": fp.PAV()}, **options)
    assert (selection.chosen, selection.score) == ("a", np.inf)
    assert [(row.difference, row.low, row.high) for row in selection.table] == [(0.0, 0.0, 0.0)] * 2
