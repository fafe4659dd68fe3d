"""What messages tell a caller to do is done here, and the error is gone."""

import numpy as np
import pytest

import fastpsr as fp
from tests.contract.comparison import outcome

Y = np.array([0, 1, 0, 1, 1, 0] * 4)
Q = np.array([0.1, 0.8, 0.4, 0.6, 0.3, 0.45] * 4)
ROWS = np.column_stack([1.0 - Q, Q])
FOUR = fp.Predictions.from_logits(np.arange(24) % 4, np.random.default_rng(0).normal(size=(24, 4)))


def share(y_true, y_score, sample_weight=None):
    """A score function as scikit-learn has them."""
    return np.average((y_score > 0.5) == y_true, weights=sample_weight)


class Fit:
    """A calibrator of a user's own, whose methods may return something else."""

    def __init__(self, returns_itself=True, makes_predictions=True):
        self.returns_itself, self.makes_predictions = returns_itself, makes_predictions

    def fit(self, predictions):
        return self if self.returns_itself else None

    def transform(self, predictions):
        scores = predictions.scores
        return fp.Predictions.from_logits(None, scores) if self.makes_predictions else scores


NAMES = {
    "fp": fp, "np": np, "Y": Y, "Q": Q, "ROWS": ROWS, "FOUR": FOUR, "Fit": Fit, "share": share,
    "DATA": fp.Predictions.from_posteriors(Y, Q),
    "RAW": fp.Predictions.from_raw_scores(Y, Q),
    "WEIGHTED": fp.Predictions.from_posteriors(Y, Q, sample_weight=1.0 + Y),
    "UNLABELED": fp.Predictions.from_posteriors(None, Q),
    "LISTS": np.array([None, *ROWS.tolist()], object)[1:],
    "GROUPS": {"g": np.arange(24) % 3}, "FEW": {"n_resamples": 40, "seed": 0},
    "LOG": fp.rules.Log(), "EVEN": [0.5, 0.5], "make": fp.Predictions.from_posteriors,
    "NAN": np.nan, "ANIMALS": ["ant", "cat", "dog", "elk"],
}  # fmt: skip
#: Words of the remedy, the call that is refused, and what the remedy says to do.
CASES = [
    ("pass predictions.as_llrs()",
     "fp.LinearFusion().fit([DATA])", "fp.LinearFusion().fit([DATA.as_llrs()])"),
    ("use other folds or groups",
     "fp.cross_fit(fp.LinearFusion(), [RAW], fp.CrossFit(folds=Y))",
     "fp.cross_fit(fp.LinearFusion(), [RAW], fp.CrossFit(folds=np.arange(24) // 12))"),
    ("calibrate what cross_fit returns for it",
     "fp.CalibrationLoss(LOG, fp.LinearFusion())(RAW)",
     "fp.CalibrationLoss(LOG, fp.PAV())(fp.cross_fit(fp.LinearFusion(), [RAW]))"),
    ("fit() to held-out data, and transform()",
     "fp.cross_fit(fp.LinearFusion(), [RAW], fp.HeldOut(RAW))",
     "fp.LinearFusion().fit([RAW]).transform([RAW])"),
    ("columns of a dict are combined",
     "fp.ByCondition().fit(DATA, {('a', 'b'): (Y, Y)})",
     "fp.ByCondition().fit(DATA, {'a': Y, 'b': Y})"),
    ("pass ByCondition(calibrator)",
     "fp.cross_fit(fp.PAV(), DATA, by=GROUPS)",
     "fp.cross_fit(fp.ByCondition(fp.PAV()), DATA, by=GROUPS)"),
    ("for a seed that is drawn",
     "fp.bootstrap(fp.EER(), DATA, n_resamples=40, seed=-1)",
     "fp.bootstrap(fp.EER(), DATA, n_resamples=40, seed=None)"),
    ("such as CrossFit(folds=np.arange(n_samples)",
     "fp.cross_fit(fp.PAV(), DATA[:4], fp.CrossFit(3))",
     "fp.cross_fit(fp.PAV(), DATA[:4], fp.CrossFit(folds=np.arange(4) // 2))"),
    ("end fit with return self",
     "fp.cross_fit(Fit(returns_itself=False), DATA)", "fp.cross_fit(Fit(), DATA)"),
    ("make them with Predictions.",
     "fp.cross_fit(Fit(makes_predictions=False), DATA)", "fp.cross_fit(Fit(), DATA)"),
    ("pass predictions.compute()",
     "fp.cross_fit(Fit(), fp.from_parts([DATA[:9], DATA[9:]]))",
     "fp.cross_fit(Fit(), fp.from_parts([DATA[:9], DATA[9:]]).compute())"),
    ("pass confidence_level=0.95",
     "fp.bootstrap(fp.EER(), DATA, confidence_level=95, **FEW)",
     "fp.bootstrap(fp.EER(), DATA, confidence_level=0.95, **FEW)"),
    ("pass the column of class 1, scores[:, 1]",
     "fp.Predictions.from_raw_scores(Y, ROWS)", "fp.Predictions.from_raw_scores(Y, ROWS[:, 1])"),
    ("pass class_= for one class", "fp.roc(FOUR)", "fp.roc(FOUR, class_=3)"),
    ("posteriors[:, c])", "fp.EER()(FOUR)",
     "fp.EER()(fp.Predictions.from_posteriors(FOUR.y_true == 2, FOUR.posteriors[:, 2]))"),
    ("pass normalize=True to divide rows by their sums",
     "fp.Predictions.from_posteriors(Y, 0.9 * ROWS)",
     "fp.Predictions.from_posteriors(Y, 0.9 * ROWS, normalize=True)"),
    ("pass normalize=True to normalize rows",
     "fp.Predictions.from_log_posteriors(Y, np.log(2.0 * ROWS))",
     "fp.Predictions.from_log_posteriors(Y, np.log(2.0 * ROWS), normalize=True)"),
    ("use PAV(laplace=True), which takes weights",
     "fp.VennAbers().fit(WEIGHTED)", "fp.PAV(laplace=True).fit(WEIGHTED)"),
    ("use PAV(floor=...)",
     "fp.DirectionPreserving(floor=0.01).fit(RAW)", "fp.PAV(floor=0.01).fit(RAW)"),
    ("pass normalized=False",
     "fp.CrossEntropy()([1, 1], [0.2, 0.4])",
     "fp.CrossEntropy(normalized=False)([1, 1], [0.2, 0.4])"),
    ("pass by=...",
     "fp.evaluate(DATA, group_differences='all')",
     "fp.evaluate(DATA, group_differences='all', by={'half': np.arange(24) // 12})"),
    ("pass by={'group': ids}",
     "fp.evaluate(DATA, by=GROUPS['g'])", "fp.evaluate(DATA, by={'group': GROUPS['g']})"),
    ("pass a dict of name to metric",
     "fp.evaluate(DATA, [fp.BrierScore(), fp.BrierScore()])",
     "fp.evaluate(DATA, {'one': fp.BrierScore(), 'two': fp.BrierScore()})"),
    ("make one, EER(...)",
     "fp.bootstrap(fp.EER, DATA, **FEW)", "fp.bootstrap(fp.EER(), DATA, **FEW)"),
    ("call the metric on data, CrossEntropy()(predictions)",
     "fp.CrossEntropy(DATA)", "fp.CrossEntropy()(DATA)"),
    ("calibrate them first (fastpsr.cross_fit)",
     "fp.CrossEntropy()(RAW)",
     "fp.CrossEntropy()(fp.cross_fit(fp.PAV(floor=0.01), RAW))"),
    ("pass y_true, or no priors",
     "fp.SemiEmpiricalScore(LOG, UNLABELED)(make(None, Q, priors=EVEN))",
     "fp.SemiEmpiricalScore(LOG, UNLABELED)(make(Y, Q, priors=EVEN))"),
    ("call fit(predictions)",
     "fp.plotting.calibration_map(fp.PAV())", "fp.plotting.calibration_map(fp.PAV().fit(DATA))"),
    ("use from_logits for logits",
     "fp.Predictions.from_posteriors(Y, 10.0 * Q - 5.0)",
     "fp.Predictions.from_logits(Y, 10.0 * Q - 5.0)"),
    ("divide percentages by 100, q / 100.0",
     "fp.Predictions.from_posteriors(Y, 100.0 * ROWS)",
     "fp.Predictions.from_posteriors(Y, 100.0 * ROWS / 100.0)"),
    ("of one-hot labels pass np.asarray(y_true).argmax(axis=1)",
     "fp.Predictions.from_posteriors(np.eye(2)[Y].tolist(), ROWS)",
     "fp.Predictions.from_posteriors(np.eye(2)[Y].argmax(axis=1), ROWS)"),
    ("leave out samples without a label, with their scores",
     "fp.Predictions.from_posteriors([1.0, NAN, 0.0], Q[:3])",
     "fp.Predictions.from_posteriors([1.0, 0.0], Q[[0, 2]])"),
    ("replace missing ids by one of their own, such as 'unknown'",
     "fp.evaluate(DATA, by={'g': ['a', 'b', None] * 8})",
     "fp.evaluate(DATA, by={'g': ['a', 'b', 'unknown'] * 8})"),
    ("pass np.stack(list(q))",
     "fp.Predictions.from_posteriors(Y, LISTS)",
     "fp.Predictions.from_posteriors(Y, np.stack(list(LISTS)))"),
    ("take classes that occur one by one, AUC(class_=c)",
     "fp.AUC('macro')(FOUR[FOUR.y_true != 2])", "fp.AUC(class_=3)(FOUR[FOUR.y_true != 2])"),
    ("name the classes of the predictions, classes=[...]",
     "fp.AUC(class_='dog')(FOUR)",
     "fp.AUC(class_='dog')("
     "fp.Predictions.from_posteriors(np.array(ANIMALS)[FOUR.y_true], FOUR.posteriors, "
     "classes=ANIMALS))"),
    ("several systems are a dict of names for fp.evaluate",
     "fp.evaluate([DATA, DATA[::-1]])", "fp.evaluate({'a': DATA, 'b': DATA[::-1]})"),
    ("pass lambda p: share(p.y_true, p.positive_posteriors, sample_weight=p.sample_weight)",
     "fp.bootstrap(share, DATA, **FEW)",
     "fp.bootstrap(lambda p: share(p.y_true, p.positive_posteriors, p.sample_weight), DATA)"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("words", "refused", "mended"), CASES)
def test_remedies_work(words, refused, mended):
    error = outcome(eval, refused, NAMES)
    assert isinstance(error, ValueError)
    assert words in str(error)
    assert not isinstance(outcome(eval, mended, NAMES), ValueError)
