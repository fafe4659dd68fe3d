"""The choice among calibrators, against loops over public fits."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.calibration.folds import NestedFolds
from fastpsr.plans import Part
from tests.test_calibration_in_parts import cut

LOG, BRIER = fp.rules.Log(), fp.rules.Brier()
BINARY = {
    "none": None,
    "dp": fp.DirectionPreserving(),
    "beta": fp.BetaCalibration(),
    "laplace": fp.PAV(laplace=True),
    "venn-abers": fp.VennAbers(),
    "histogram": fp.HistogramBinning(4, 0.01),
}
SEVERAL = {
    "none": None,
    "temperature": fp.TemperatureScaling(),
    "dp": fp.DirectionPreserving(),
    "vector": fp.VectorScaling(),
}


def drawn(n, K=2, kind="posteriors", seed=0, **options):
    rng = np.random.default_rng([n, K, seed])
    y = rng.permutation(np.arange(n) % K)
    z = (rng.normal(size=(n, K)) + np.eye(K)[y]) * 1.7
    if K == 2:
        make = {"posteriors": fp.Predictions.from_logits, "llrs": fp.Predictions.from_llrs,
                "raw": fp.Predictions.from_raw_scores}[kind]  # fmt: skip
        return make(y, z[:, 1] - z[:, 0], **options)
    make = {"posteriors": fp.Predictions.from_logits,
            "llrs": fp.Predictions.from_log_likelihoods}[kind]  # fmt: skip
    return make(y, z, **options)


def losses_of(rule, data, calibrator, training, served):
    """Summed losses of samples by class, after a fit to others, and the classes' weights."""
    after = data
    if calibrator is not None:
        after = calibrator.fit(data[training]).transform(data)
    losses = rule.losses_of(after)
    weights = data.weights if data.weights.size else np.ones(len(data))
    pairs = [
        (losses[served & (data.y_true == k)] @ weights[served & (data.y_true == k)],
         weights[served & (data.y_true == k)].sum())
        for k in range(data.n_classes)
    ]  # fmt: skip
    return np.array(pairs)


def expected(pairs, data):
    losses, weights = np.transpose(pairs)
    if data.given_priors is None:
        return losses.sum() / weights.sum()
    return data.given_priors @ (losses / weights)


def by_loops(data, candidates, rule, fold_of_row, apart):
    """Cross-fitted scores, the choice for each fold, and the nested score."""
    n_folds = len(apart)
    scores, for_folds = {}, {}
    for name, calibrator in candidates.items():
        total = 0.0
        for o in range(n_folds):
            pairs = losses_of(rule, data, calibrator, apart[o][fold_of_row], fold_of_row == o)
            total = total + pairs
            for_folds[name, o] = pairs
        scores[name] = expected(total, data)
    nested, winners = 0.0, []
    for o in range(n_folds):
        pooled = {}
        for name, calibrator in candidates.items():
            total = 0.0
            for i in np.flatnonzero(apart[o]):
                training = apart[o][fold_of_row] & apart[i][fold_of_row]
                total = total + losses_of(rule, data, calibrator, training, fold_of_row == i)
            pooled[name] = expected(total, data)
        winners.append(min(pooled, key=pooled.get))
        nested = nested + for_folds[winners[-1], o]
    return scores, winners, expected(nested, data)


def naive(data, rule):
    return float(rule.entropies(np.ascontiguousarray(data.priors[None]))[0])


CASES = {
    "posteriors": (lambda: drawn(400), BINARY),
    "given priors": (lambda: drawn(400, priors=[0.9, 0.1]), BINARY),
    "llrs": (lambda: drawn(400, kind="llrs", prior=0.2), BINARY),
    "few for which sums serve": (lambda: drawn(20_000, kind="llrs", prior=0.2), BINARY),
    "weighted": (
        lambda: drawn(400, sample_weight=1.0 + np.arange(400) % 3),
        {name: each for name, each in BINARY.items() if name != "venn-abers"},
    ),
    "3 posteriors": (lambda: drawn(300, 3), SEVERAL),
    "3 likelihoods": (lambda: drawn(300, 3, "llrs", priors=[0.2, 0.3, 0.5]), SEVERAL),
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("rule", [LOG, BRIER], ids=["log", "brier"])
@pytest.mark.parametrize("case", CASES)
def test_the_definition(case, rule):
    make, candidates = CASES[case]
    data = make()
    train = fp.CrossFit(4, seed=3)
    found = fp.select(data, candidates, rule, train)
    folds = train.folds_of(data)
    fold_of_row = folds.fold_of_rows(Part.whole(data))
    scores, winners, nested = by_loops(data, candidates, rule, fold_of_row, folds.training_mask)
    scale = naive(data, rule)
    for row in found.table:
        assert row.epsr == pytest.approx(scores[row.name], rel=1e-8)
        assert row.score == pytest.approx(scores[row.name] / scale, rel=1e-8)
        rcl = 100.0 * (scores["none"] - scores[row.name]) / scores["none"]
        assert row.rcl == pytest.approx(rcl, abs=1e-6)
    assert found.chosen == min(scores, key=scores.get)
    assert found.choices == tuple(winners)
    assert found.score == pytest.approx(nested / scale, rel=1e-8)
    assert found.optimism == pytest.approx(found.score - found[found.chosen].score, abs=1e-12)


@pytest.mark.parametrize("n", [500, 20_000])
def test_pairs_of_speakers(n):
    """A fit leaves out the speakers of the fold that is scored, and of that which judges."""
    data = drawn(n)
    rng = np.random.default_rng(1)
    speakers = rng.integers(0, 30, (2, n))
    train = fp.CrossFit(7, groups=tuple(speakers))
    candidates = {"none": None, "dp": fp.DirectionPreserving(), "laplace": fp.PAV(laplace=True)}
    found = fp.select(data, candidates, train=train)
    folds = train.folds_of(data)
    fold_of_row = folds.fold_of_rows(Part.whole(data))
    for o, i in NestedFolds.of(folds).judged[:40]:
        training = (folds.training_mask[o] & folds.training_mask[i])[fold_of_row]
        held = (fold_of_row == o) | (fold_of_row == i)
        assert not set(speakers[:, training].ravel()) & set(speakers[:, held].ravel())
        mine, judges = speakers[:, fold_of_row == o], speakers[:, fold_of_row == i]
        assert not set(mine.ravel()) & set(judges.ravel())
    if n == 500:
        scores, winners, nested = by_loops(data, candidates, LOG, fold_of_row, folds.training_mask)
        assert found.choices == tuple(winners)
        assert found.score == pytest.approx(nested / naive(data, LOG), rel=1e-8)
        assert found["dp"].epsr == pytest.approx(scores["dp"], rel=1e-8)


def test_fits_are_shared():
    folds = fp.CrossFit(5).folds_of(drawn(100))
    nested = NestedFolds.of(folds)
    assert nested.n_calibrators == 5 + 10
    assert len(nested.served) == 5 + 20
    with pytest.raises(fp.ArgumentError, match="use more folds"):
        NestedFolds.of(fp.CrossFit(2).folds_of(drawn(100)))
    with pytest.raises(fp.ArgumentError, match="use more folds"):
        fp.select(drawn(100), {"none": None}, train=fp.CrossFit(2))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", ["posteriors", "llrs", "raw"])
def test_parts_are_as_memory(kind):
    data = drawn(2_000, kind=kind)
    candidates = {"none": None, "dp": fp.DirectionPreserving(), "laplace": fp.PAV(laplace=True),
                  "beta": fp.BetaCalibration()}  # fmt: skip
    one, other = (
        fp.select(each, candidates, n_resamples=40, seed=2) for each in (data, cut(data, {}))
    )
    assert one.choices == other.choices
    assert one.score == pytest.approx(other.score, rel=1e-9)
    for a, b in zip(one.table, other.table, strict=True):
        assert a.score == pytest.approx(b.score, rel=1e-9)


def test_replicates_repeat_the_choice():
    """Against selections of repeated samples, with the folds that these had."""
    data = drawn(300)
    candidates = {"none": None, "dp": fp.DirectionPreserving(), "laplace": fp.PAV(laplace=True)}
    found = fp.select(data, candidates, n_resamples=40, seed=5)
    assert found.low <= found.score <= found.high
    assert found.n_undefined == 0
    fold_of_row = fp.CrossFit().folds_of(data).fold_of_rows(Part.whole(data))
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(60):
        rows = rng.integers(0, len(data), len(data))
        again = fp.select(data[rows], candidates, train=fp.CrossFit(folds=fold_of_row[rows]))
        scores.append(again.score)
    assert found.high - found.low == pytest.approx(
        np.subtract(*np.quantile(scores, [0.975, 0.025])), rel=0.5
    )


def choice_among_equals(seed):
    """A choice among calibrators that are the same but for what they clip."""
    candidates = {f"{a}": fp.PAV(floor=a) for a in (1e-3, 2e-3, 4e-3)}
    return fp.select(drawn(400, seed=seed), candidates, n_resamples=100, seed=seed)


def test_intervals_say_which_are_alike():
    found = choice_among_equals(0)
    assert found.chosen in found.alike
    for row in found.table:
        assert row.low <= row.difference <= row.high
        assert (row.name in found.alike) == (row.low <= 0.0 <= row.high)


@pytest.mark.slow
def test_intervals_hold_together():
    """How often the intervals of differences of equal calibrators contain 0 all at once."""
    assert sum(len(choice_among_equals(seed).alike) < 2 for seed in range(30)) < 15


def test_the_first_of_equals_is_chosen_and_the_simplest_named():
    data = drawn(500)
    found = fp.select(
        data,
        {"b": fp.PAV(laplace=True), "a": fp.PAV(laplace=True), "dp": fp.DirectionPreserving()},
        n_resamples=60,
        seed=0,
    )
    assert found.chosen in ("b", "dp")
    assert found["a"].score == found["b"].score
    alike = set(found.alike)
    if "dp" in alike:
        assert found.simplest == "dp"


def test_raw_scores_leave_out_what_needs_posteriors():
    data = drawn(500, kind="raw")
    found = fp.select(data, {**BINARY, "spline": fp.Spline()}, n_resamples=40, seed=1)
    assert set(found.left_out) == {"none", "beta", "spline", "histogram"}
    assert [row.name for row in found.table] == ["dp", "laplace", "venn-abers"]
    assert all(np.isnan(row.rcl) for row in found.table)
    after = fp.cross_fit(fp.DirectionPreserving(), data)
    assert found["dp"].score == pytest.approx(fp.CrossEntropy()(after), rel=1e-8)
    assert found.calibrator.domain_ == "raw scores"
    assert "left out: none" in str(found)


class Shrink:
    """A calibrator of the caller's own."""

    def fit(self, predictions):
        return self

    def transform(self, predictions):
        return fp.Predictions.from_logits(predictions.y_true, 0.5 * predictions.log_odds)


def test_calibrators_of_ones_own():
    found = fp.select(drawn(400), {"none": None, "mine": Shrink()}, n_resamples=40, seed=0)
    assert found.chosen in ("none", "mine")
    assert found["mine"].score != found["none"].score


def test_results_can_be_written():
    found = fp.select(drawn(400), {"none": None, "dp": fp.DirectionPreserving()})
    content = found.to_dict()
    assert [row["name"] for row in content["table"]] == ["none", "dp"]
    assert found.to_frame()["score"].to_list() == [row.score for row in found.table]
    assert "chosen: dp" in str(found)
    with pytest.raises(KeyError):
        found["pav"]


def test_what_is_refused():
    data = drawn(200)
    with pytest.raises(fp.ArgumentError, match=r"rule must be one of fastpsr\.rules"):
        fp.select(data, {"none": None}, fp.ECE())
    with pytest.raises(fp.ArgumentError, match="candidates must be a dict"):
        fp.select(data, [fp.PAV()])
    with pytest.raises(fp.ArgumentError, match="candidates must be a dict"):
        fp.select(data, {})
    with pytest.raises(fp.ArgumentError, match="train must be a CrossFit"):
        fp.select(data, {"none": None}, train=fp.TrainOnTest())
    with pytest.raises(fp.ArgumentError, match="raw scores"):
        fp.select(drawn(200, kind="raw"), {"none": None})
    with pytest.raises(fp.ArgumentError, match="BetaCalibration"):
        fp.select(drawn(200, 3), {"beta": fp.BetaCalibration()})
    with pytest.raises(fp.ArgumentError, match="VennAbers"):
        fp.select(
            drawn(200, sample_weight=np.linspace(0.5, 1.0, 200)), {"venn-abers": fp.VennAbers()}
        )
    with pytest.raises(ValueError, match=r"dp does not: scores separate"):
        fp.select(fp.Predictions.from_logits([0, 1] * 20, [-1.0, 1.0] * 20),
                  {"dp": fp.DirectionPreserving()})  # fmt: skip
    with pytest.raises(fp.ArgumentError, match=r"candidates\['x'\] must be a calibrator"):
        fp.select(data, {"x": "dp"})
    with pytest.raises(fp.ArgumentError, match="resampling is for intervals"):
        fp.select(data, {"none": None}, resampling=fp.IID())
    with pytest.raises(fp.ArgumentError, match=r"class 0 has none of positive weight$"):
        fp.select(fp.Predictions.from_llrs([1] * 40, np.arange(40.0)), {"none": None})


def test_a_fold_with_all_targets_is_named():
    groups = np.arange(300) % 60
    y = (groups == 7).astype(int)
    data = fp.Predictions.from_logits(y, np.random.default_rng(0).normal(size=300))
    train = fp.CrossFit(groups=groups)
    for call in (
        lambda: fp.select(data, {"dp": fp.DirectionPreserving()}, train=train),
        lambda: fp.cross_fit(fp.PAV(), data, train),
        lambda: fp.cross_fit(fp.BetaCalibration(), data, train),
    ):
        with pytest.raises(fp.ArgumentError, match=r"all of class 1 are in fold \d"):
            call()


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("rule", [LOG, BRIER], ids=["log", "brier"])
def test_infinite_scores_have_a_choice(rule):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    s = rng.normal(size=400) + 2.0 * y - 1.0
    s[1] = np.inf
    candidates = {"none": None, "dp": fp.DirectionPreserving(), "spline": fp.Spline()}
    found = fp.select(
        fp.Predictions.from_logits(y, s),
        candidates,
        rule,
        n_resamples=8,
        confidence_level=0.6,
        seed=0,
    )
    loss = fp.CalibrationLoss(rule, fp.Spline())
    assert found["spline"].rcl == pytest.approx(loss(fp.Predictions.from_logits(y, s)), rel=1e-9)


def test_replicates_without_a_fit_are_told():
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(8), np.zeros(100)].astype(int)
    data = fp.Predictions.from_llrs(y, rng.normal(size=108) + 1.5 * y)
    candidates = {"none": None, "dp": fp.DirectionPreserving()}
    with pytest.warns(RuntimeWarning, match=r"undefined in \d+ of 40 replicates"):
        found = fp.select(data, candidates, n_resamples=40, seed=0)
    assert f"{found.n_undefined} of 40 replicates are left out" in str(found)


def test_choices_among_infinite_scores():
    y, z = np.arange(300) % 2, np.random.default_rng(1).normal(size=300)
    data = fp.Predictions.from_logits(y, z + y)
    found = fp.select(
        data, {"a": fp.PAV(), "b": fp.PAV()}, n_resamples=8, confidence_level=0.6, seed=0
    )
    assert found.chosen == "a"
    assert found.score == np.inf
    assert [(each.difference, each.low, each.high) for each in found.table] == [(0.0, 0.0, 0.0)] * 2
