"""What messages tell a caller to do: each remedy is done here, and the error is gone."""

import ast
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.compiled import as_edges

PACKAGE = Path(fp.__file__).parent
Y = np.array([0, 1, 0, 1, 1, 0] * 4)
Q = np.array([0.1, 0.8, 0.4, 0.6, 0.3, 0.45] * 4)
DATA = fp.Predictions.from_posteriors(Y, Q)
ONE_OF_A_CLASS = fp.Predictions.from_posteriors(np.arange(8) == 0, Q[:8])
RAW = fp.Predictions.from_raw_scores(Y, Q)
ROWS = np.column_stack([1.0 - Q, Q])
UNEVEN = (0.9 * ROWS).astype(np.float16)
FOUR = fp.Predictions.from_logits(np.arange(24) % 4, np.random.default_rng(0).normal(size=(24, 4)))
LIKELIHOODS = fp.Predictions.from_log_likelihoods(FOUR.labels, FOUR.scores)
WEIGHTED = fp.Predictions.from_posteriors(Y, Q, sample_weight=1.0 + Y)
GROUPS = {"g": np.arange(24) % 3}
FEW = {"n_resamples": 40, "seed": 0}
LOG = fp.rules.Log()
LISTS = np.array([None, *ROWS.tolist()], object)[1:]


def share(y_true, y_score, sample_weight=None):
    """A score function as scikit-learn has them."""
    return np.average((y_score > 0.5) == y_true, weights=sample_weight)


class Fit:
    """A calibrator of a user's own; `returns` is what `fit` returns."""

    def __init__(self, returns="self", makes=None):
        self.returns, self.makes = returns, makes

    def fit(self, predictions):
        return self if self.returns == "self" else None

    def transform(self, predictions):
        scores = predictions.scores
        return scores if self.makes is None else fp.Predictions.from_logits(None, scores)


#: Words of a remedy -> (what raises the error with it, what it says to do).
CASES = {
    "pass predictions.as_llrs()": (
        lambda: fp.LinearFusion().fit([DATA]),
        lambda: fp.LinearFusion().fit([DATA.as_llrs()]),
    ),
    "leave it out for several classes": (
        lambda: fp.LinearFusion(0.1).fit([LIKELIHOODS]),
        lambda: fp.LinearFusion().fit([LIKELIHOODS]),
    ),
    "use other folds or groups": (
        lambda: fp.cross_fit(fp.LinearFusion(), [RAW], fp.CrossFit(folds=Y)),
        lambda: fp.cross_fit(fp.LinearFusion(), [RAW], fp.CrossFit(folds=np.arange(24) // 12)),
    ),
    "calibrate what cross_fit returns for it": (
        lambda: fp.CalibrationLoss(LOG, fp.LinearFusion())(RAW),
        lambda: fp.CalibrationLoss(LOG, fp.PAV())(fp.cross_fit(fp.LinearFusion(), [RAW])),
    ),
    "fit() to held-out data, and transform()": (
        lambda: fp.cross_fit(fp.LinearFusion(), [RAW], fp.HeldOut(RAW)),
        lambda: fp.LinearFusion().fit([RAW]).transform([RAW]),
    ),
    "give all columns as by": (
        lambda: fp.ByCondition(fp.ByCondition()),
        lambda: fp.ByCondition().fit(DATA, GROUPS),
    ),
    "columns of a dict are combined": (
        lambda: fp.ByCondition().fit(DATA, {("a", "b"): (Y, Y)}),
        lambda: fp.ByCondition().fit(DATA, {"a": Y, "b": Y}),
    ),
    "pass ByCondition(calibrator)": (
        lambda: fp.cross_fit(fp.PAV(), DATA, by=GROUPS),
        lambda: fp.cross_fit(fp.ByCondition(fp.PAV()), DATA, by=GROUPS),
    ),
    "pass ByCondition(calibrator) among them": (
        lambda: fp.select(DATA, {"a": fp.PAV()}, by=GROUPS),
        lambda: fp.select(DATA, {"a": fp.ByCondition(fp.PAV())}, by=GROUPS),
    ),
    "compare() what cross_fit returns": (
        lambda: fp.select(RAW, {"a": fp.ByCondition(fp.LinearFusion())}, by=GROUPS),
        lambda: fp.compare(
            fp.Cllr(),
            fp.cross_fit(fp.LinearFusion(), [RAW]),
            fp.cross_fit(fp.ByCondition(fp.LinearFusion()), [RAW], by=GROUPS),
            **FEW,
        ),
    ),
    "for a seed that is drawn": (
        lambda: fp.bootstrap(fp.EER(), DATA, n_resamples=40, seed=-1),
        lambda: fp.bootstrap(fp.EER(), DATA, n_resamples=40, seed=None),
    ),
    "pass n_resamples=": (
        lambda: fp.evaluate(
            FOUR, [fp.CrossEntropy()], by={"g": np.arange(24) // 4 % 5 % 3}, n_resamples=40,
            group_differences="all", seed=0,
        ),
        lambda: fp.evaluate(
            FOUR, [fp.CrossEntropy()], by={"g": np.arange(24) // 4 % 5 % 3}, n_resamples=4_000,
            group_differences="all", seed=0,
        ),
    ),
    "such as CrossFit(folds=np.arange(n_samples)": (
        lambda: fp.cross_fit(fp.PAV(), DATA[:4], fp.CrossFit(3)),
        lambda: fp.cross_fit(fp.PAV(), DATA[:4], fp.CrossFit(folds=np.arange(4) // 2)),
    ),
    "train on others with HeldOut(predictions)": (
        lambda: fp.cross_fit(fp.PAV(), ONE_OF_A_CLASS),
        lambda: fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.HeldOut(DATA))(ONE_OF_A_CLASS),
    ),
    "end fit with return self": (
        lambda: fp.cross_fit(Fit("nothing", "predictions"), DATA),
        lambda: fp.cross_fit(Fit("self", "predictions"), DATA),
    ),
    "make them with Predictions.": (
        lambda: fp.cross_fit(Fit(), DATA), lambda: fp.cross_fit(Fit(makes="predictions"), DATA),
    ),
    "pass an array of ids, one per sample": (
        lambda: fp.CrossFit(1), lambda: fp.CrossFit(np.arange(24) % 3),
    ),
    "pass confidence_level=0.95": (
        lambda: fp.bootstrap(fp.EER(), DATA, confidence_level=95, **FEW),
        lambda: fp.bootstrap(fp.EER(), DATA, confidence_level=0.95, **FEW),
    ),
    "pass the column of class 1, scores[:, 1]": (
        lambda: fp.Predictions.from_raw_scores(Y, ROWS),
        lambda: fp.Predictions.from_raw_scores(Y, ROWS[:, 1]),
    ),
    "pass class_= for one class": (lambda: fp.roc(FOUR), lambda: fp.roc(FOUR, class_=3)),
    "posteriors[:, c])": (
        lambda: fp.EER()(FOUR),
        lambda: fp.EER()(fp.Predictions.from_posteriors(FOUR.y_true == 2, FOUR.posteriors[:, 2])),
    ),
    "or class_=c of det": (
        lambda: fp.plotting.det(FOUR), lambda: fp.plotting.det(FOUR, class_=2),
    ),
    "pass normalize=True to divide rows by their sums": (
        lambda: fp.Predictions.from_posteriors(Y, UNEVEN),
        lambda: fp.Predictions.from_posteriors(Y, UNEVEN, normalize=True),
    ),
    "pass normalize=True to normalize rows": (
        lambda: fp.Predictions.from_log_posteriors(Y, np.log(2.0 * ROWS)),
        lambda: fp.Predictions.from_log_posteriors(Y, np.log(2.0 * ROWS), normalize=True),
    ),
    "use PAV(laplace=True), which takes weights": (
        lambda: fp.VennAbers().fit(WEIGHTED), lambda: fp.PAV(laplace=True).fit(WEIGHTED),
    ),
    "leave it out": (
        lambda: fp.select(WEIGHTED, {"none": None, "venn-abers": fp.VennAbers()}),
        lambda: fp.select(WEIGHTED, {"none": None}),
    ),
    "use PAV(floor=...)": (
        lambda: fp.DirectionPreserving(floor=0.01).fit(RAW), lambda: fp.PAV(floor=0.01).fit(RAW),
    ),
    "give priors of all classes to the predictions": (
        lambda: fp.TemperatureScaling(prior=0.1).fit(FOUR),
        lambda: fp.TemperatureScaling().fit(
            fp.Predictions.from_posteriors(FOUR.y_true, FOUR.posteriors, priors=[0.25] * 4)
        ),
    ),
    "pass normalized=False": (
        lambda: fp.CrossEntropy()([1, 1], [0.2, 0.4]),
        lambda: fp.CrossEntropy(normalized=False)([1, 1], [0.2, 0.4]),
    ),
    "pass by=...": (
        lambda: fp.evaluate(DATA, group_differences="all"),
        lambda: fp.evaluate(DATA, group_differences="all", by={"half": np.arange(24) // 12}),
    ),
    "pass a dict of name to metric": (
        lambda: fp.evaluate(DATA, [fp.BrierScore(), fp.BrierScore()]),
        lambda: fp.evaluate(DATA, {"one": fp.BrierScore(), "two": fp.BrierScore()}),
    ),
    "make one, EER(...)": (
        lambda: fp.bootstrap(fp.EER, DATA, **FEW), lambda: fp.bootstrap(fp.EER(), DATA, **FEW),
    ),
    "call the metric on data, CrossEntropy()(predictions)": (
        lambda: fp.CrossEntropy(DATA), lambda: fp.CrossEntropy()(DATA),
    ),
    "make them first, fp.Predictions.from_posteriors(y_true, posteriors)": (
        lambda: fp.roc(Y, Q), lambda: fp.roc(fp.Predictions.from_posteriors(Y, Q)),
    ),
    "pass a mapping of systems' names": (
        lambda: fp.plotting.metric_bars(fp.bootstrap([fp.EER(), fp.EER()], DATA, **FEW)),
        lambda: fp.plotting.metric_bars(
            {name: [fp.bootstrap(fp.EER(), DATA, **FEW)] for name in ("one", "two")}
        ),
    ),
    "calibrate them first (fastpsr.cross_fit)": (
        lambda: fp.CrossEntropy()(RAW),
        lambda: fp.CrossEntropy()(fp.cross_fit(fp.PAV(floor=0.01), RAW)),
    ),
    "pass y_true, or no priors": (
        lambda: fp.SemiEmpiricalScore(LOG, fp.Predictions.from_posteriors(None, Q))(
            fp.Predictions.from_posteriors(None, Q, priors=[0.5, 0.5])
        ),
        lambda: fp.SemiEmpiricalScore(LOG, fp.Predictions.from_posteriors(None, Q))(
            fp.Predictions.from_posteriors(Y, Q, priors=[0.5, 0.5])
        ),
    ),
    "pass np.unique(edges)": (
        lambda: as_edges(np.array([2.0, 1.0])),
        lambda: as_edges(
            np.unique(np.array([2.0, 1.0]))
        ),
    ),

    "with CostMatrix.zero_one(K), without a cost to reject, need none": (
        lambda: fp.CostMatrix.zero_one(50_000).values,
        lambda: fp.CostMatrix.zero_one(50_000),
    ),
    "call fit(predictions)": (
        lambda: fp.plotting.calibration_map(fp.PAV()),
        lambda: fp.plotting.calibration_map(fp.PAV().fit(DATA)),
    ),
    "use from_logits for logits, from_llrs": (
        lambda: fp.Predictions.from_posteriors(Y, 10.0 * Q - 5.0),
        lambda: fp.Predictions.from_logits(Y, 10.0 * Q - 5.0),
    ),
    "use from_logits for logits": (
        lambda: fp.Predictions.from_posteriors(FOUR.y_true, FOUR.scores, normalize=True),
        lambda: fp.Predictions.from_logits(FOUR.y_true, FOUR.scores),
    ),
    "divide percentages by 100, q / 100.0": (
        lambda: fp.Predictions.from_posteriors(Y, 100.0 * ROWS),
        lambda: fp.Predictions.from_posteriors(Y, 100.0 * ROWS / 100.0),
    ),
    "of one-hot labels pass np.asarray(y_true).argmax(axis=1)": (
        lambda: fp.Predictions.from_posteriors(np.eye(2)[Y].tolist(), ROWS),
        lambda: fp.Predictions.from_posteriors(np.asarray(np.eye(2)[Y]).argmax(axis=1), ROWS),
    ),
    "leave out samples without a label, with their scores": (
        lambda: fp.Predictions.from_posteriors([1.0, math.nan, 0.0], Q[:3]),
        lambda: fp.Predictions.from_posteriors([1.0, 0.0], Q[[0, 2]]),
    ),
    "replace missing ids by one of their own, such as 'unknown'": (
        lambda: fp.evaluate(DATA, by={"g": ["a", "b", None] * 8}),
        lambda: fp.evaluate(DATA, by={"g": ["a", "b", "unknown"] * 8}),
    ),
    "or -1 among numbers": (
        lambda: fp.evaluate(DATA, by={"g": [1.0, 2.0, math.nan] * 8}),
        lambda: fp.evaluate(DATA, by={"g": [1.0, 2.0, -1] * 8}),
    ),
    "pass np.stack(list(q))": (
        lambda: fp.Predictions.from_posteriors(Y, LISTS),
        lambda: fp.Predictions.from_posteriors(Y, np.stack(list(LISTS))),
    ),
    "take classes that occur one by one, AUC(class_=c)": (
        lambda: fp.AUC("macro")(FOUR[FOUR.y_true != 2]),
        lambda: [fp.AUC(class_=c)(FOUR[FOUR.y_true != 2]) for c in (0, 1, 3)],
    ),
    "pass its place in the list of classes, class_=classes.index('dog')": (
        lambda: fp.AUC(class_="dog")(FOUR),
        lambda: fp.AUC(class_=["ant", "cat", "dog", "elk"].index("dog"))(FOUR),
    ),
    "several systems are a dict of names for fp.evaluate": (
        lambda: fp.evaluate([DATA, DATA[::-1]]), lambda: fp.evaluate({"a": DATA, "b": DATA[::-1]}),
    ),
    "and parts of one are for fp.from_parts": (
        lambda: fp.evaluate([DATA[:9], DATA[9:]]),
        lambda: fp.evaluate(fp.from_parts([DATA[:9], DATA[9:]]), [fp.BrierScore()]),
    ),
    "pass by={'group': ids}": (
        lambda: fp.evaluate(DATA, by=GROUPS["g"]),
        lambda: fp.evaluate(DATA, by={"group": GROUPS["g"]}),
    ),
    "pass lambda p: share(p.y_true, p.positive_posteriors, sample_weight=p.sample_weight)": (
        lambda: fp.bootstrap(share, DATA, **FEW),
        lambda: fp.bootstrap(
            lambda p: share(p.y_true, p.positive_posteriors, sample_weight=p.sample_weight),
            DATA, **FEW,
        ),
    ),
    ", with p.sample_weight, in which replicates differ": (
        lambda: fp.bootstrap(lambda y_true, y_score: 0.0, DATA, **FEW),
        lambda: fp.bootstrap(
            lambda p: np.average(p.positive_posteriors, weights=p.sample_weight), DATA, **FEW
        ),
    ),
    "pass predictions.compute()": (
        lambda: fp.cross_fit(Fit(makes="predictions"), fp.from_parts([DATA[:9], DATA[9:]])),
        lambda: fp.cross_fit(
            Fit(makes="predictions"), fp.from_parts([DATA[:9], DATA[9:]]).compute()
        ),
    ),
}  # fmt: skip
#: Where remedies are written whose words are not code, or that tests of their subject carry out.
ELSEWHERE = {
    "bootstrap/sample_size.py": "more data",
    "calibration/affine.py": "thousands of classes; tests/test_many_classes.py",
    "calibration/spline.py": "memory; tests/test_parts.py",
    "calibration/structured.py": "memory; tests/test_structured_calibration.py",
    "calibration/base.py": "other calibrators; tests/test_multiclass_fits.py",
    "compat/confidence_intervals.py": "of another package; tests/test_compat.py",
    "errors.py": "carries those of others",
    "frames.py": "pandas; tests/test_input_forms.py",
    "evaluation/task.py": "floors; tests/test_floors.py carries them out",
    "parallel.py": "an environment variable; tests/test_parallel.py",
    "plans/sources.py": "carries those of others",
    "sklearn.py": "tests/test_backends_sklearn.py",
    "torchmetrics.py": "tests/test_backends_torchmetrics.py",
    "trials/formats/matrices.py": "tests/test_trials_formats.py",
    "trials/join_in_memory.py": "tests/test_trials_join.py",
    "trials/join_on_disk.py": "tests/test_join_on_disk.py",
    "trials/request.py": "tests/test_trials_formats.py",
}


@pytest.mark.parametrize("words", CASES)
def test_remedies_work(words):
    provoke, mend = CASES[words]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=re.escape(words)):
            provoke()
        mend()


def test_every_remedy_has_a_case():
    texts = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            if getattr(node.func, "id", getattr(node.func, "attr", "")) != "ArgumentError":
                continue
            given = [word.value for word in node.keywords if word.arg == "remedy"] + node.args[3:4]
            for each in given:
                parts = [
                    part.value for part in ast.walk(each)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value
                ]  # fmt: skip
                place = str(path.relative_to(PACKAGE))
                texts.setdefault(place, []).append(" ".join(parts))
    missing = [
        (place, text)
        for place, of_place in texts.items()
        for text in of_place
        if text and place not in ELSEWHERE
        if not any(_shares(words, text) for words in CASES)
    ]
    assert missing == []


def _shares(words, text):
    """Whether the literal part of a remedy is in a case, whose names are filled in."""
    return any(piece.strip() in words or words in piece for piece in text.split("  ") if piece) or (
        len(set(words.split()) & set(text.split())) >= 3
    )
