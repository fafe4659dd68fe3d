"""What is refused, and that the message names the argument, the rule and the value."""

import math
from dataclasses import fields
from functools import partial

import numpy as np
import pytest

import fastpsr as fp
from fastpsr import plotting
from fastpsr.calibration import CALIBRATORS, TRAININGS
from fastpsr.metrics import METRICS

Y = [0, 1, 1, 0]
Q = [0.25, 0.75, 0.5, 0.125]
NAN, INF = math.nan, math.inf
ROWS = [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]
MAKE = fp.Predictions
BAD_SCORES = {
    "nan posterior": (MAKE.from_posteriors, "q", [0.2, NAN], r"q\[1\] is nan"),
    "nan in a row": (MAKE.from_posteriors, "q", [ROWS[0], [0.5, NAN, 0.5]], r"q\[1, 1\] is nan"),
    "infinite posterior": (MAKE.from_posteriors, "q", [0.2, INF], r"0 to 1.*q\[1\] is inf"),
    "negative posterior": (MAKE.from_posteriors, "q", [-0.1, 0.2], r"0 to 1.*q\[0\] is -0.1"),
    "posterior over 1": (MAKE.from_posteriors, "q", [0.1, 1.5], r"0 to 1.*q\[1\] is 1.5"),
    "negative in a row": (
        MAKE.from_posteriors,
        "q",
        [ROWS[0], [1.25, -0.25, 0.0]],
        r"0 to 1.*q\[1, 0\] is 1.25",
    ),
    "sum over 1": (
        MAKE.from_posteriors,
        "q",
        [ROWS[0], [0.5, 0.25, 0.25 + 2e-6]],
        r"sum to 1.*row 1.*1\.000002",
    ),
    "sum under 1": (MAKE.from_posteriors, "q", [[0.5, 0.4], [0.5, 0.5]], r"sum to 1.*row 0.*0\.9"),
    "no column": (MAKE.from_posteriors, "q", np.ones((2, 0)), r"column per class.*0"),
    "three dimensions": (MAKE.from_posteriors, "q", np.ones((2, 2, 2)), r"shape \(2, 2, 2\)"),
    "no dimension": (MAKE.from_posteriors, "q", 0.5, r"shape \(\)"),
    "strings": (MAKE.from_posteriors, "q", ["a", "b"], r"real numbers"),
    "complex": (MAKE.from_posteriors, "q", [0.5 + 0j, 0.5], r"real numbers.*complex"),
    "objects": (MAKE.from_posteriors, "q", np.array([0.5, "x"], object), r"real numbers"),
    "None": (MAKE.from_posteriors, "q", [0.5, None], r"q"),
    "ragged": (MAKE.from_posteriors, "q", [[0.5, 0.5], [1.0]], r"real numbers"),
    "masked": (
        MAKE.from_posteriors,
        "q",
        np.ma.masked_array([0.5, 0.5], [False, True]),
        r"masked",
    ),
    "nan log-posterior": (MAKE.from_log_posteriors, "log_q", [[0.0, NAN]] * 2, r"log_q\[0, 1\]"),
    "log-posterior +inf": (
        MAKE.from_log_posteriors,
        "log_q",
        [[0.0, -INF], [INF, 0.0]],
        r"\+inf.*log_q\[1, 0\] is inf",
    ),
    "unnormalized log-posteriors": (
        MAKE.from_log_posteriors,
        "log_q",
        [[0.0, -INF], [0.0, -3.0]],
        r"sum to 1.*row 1",
    ),
    "log-posteriors of 1 dimension": (MAKE.from_log_posteriors, "log_q", [0.0, -1.0], r"\(2,\)"),
    "nan logit": (MAKE.from_logits, "z", [0.0, NAN], r"z\[1\] is nan"),
    "logit +inf": (MAKE.from_logits, "z", [[0.0, INF], [0.0, 0.0]], r"z\[0, 1\] is inf"),
    "logits all -inf": (MAKE.from_logits, "z", [[0.0, 0.0], [-INF, -INF]], r"row 1 is all -inf"),
    "likelihoods all -inf": (
        MAKE.from_log_likelihoods,
        "log_lk",
        [[-INF, -INF], [0.0, 0.0]],
        r"row 0 is all -inf",
    ),
    "log-likelihood +inf": (
        MAKE.from_log_likelihoods,
        "log_lk",
        [[0.0, 0.0, INF], [0.0, 0.0, 0.0]],
        r"log_lk\[0, 2\] is inf",
    ),
    "nan LLR": (MAKE.from_llrs, "llr", [0.0, NAN], r"llr\[1\] is nan"),
    "LLR rows": (MAKE.from_llrs, "llr", [[0.0, 1.0], [0.0, 1.0]], r"shape \(2, 2\)"),
    "nan score": (MAKE.from_raw_scores, "scores", [NAN, 0.0], r"scores\[0\] is nan"),
}


@pytest.mark.parametrize(("make", "name", "values", "says"), BAD_SCORES.values(), ids=BAD_SCORES)
def test_bad_scores(make, name, values, says):
    with pytest.raises(ValueError, match=rf"(?s)^{name}\b.*{says}"):
        make([0, 1], values)


BAD_LABELS = {
    "over": ([0, 2, 1, 0], r"0 to 1.*y_true\[1\] is 2"),
    "negative": ([0, 1, 1, -1], r"0 to 1.*y_true\[3\] is -1"),
    "far over": (np.array([0, 0, 0, 256 + 1], np.int64), r"y_true\[3\] is 257"),
    "unsigned": (np.array([0, 0, 2**63, 0], np.uint64), r"y_true\[2\] is 9223372036854775808"),
    "fractional": ([0.0, 0.5, 1.0, 0.0], r"integers.*y_true\[1\] is 0\.5"),
    "nan": ([0.0, NAN, 1.0, 0.0], r"integers.*y_true\[1\] is nan"),
    "infinite": ([0.0, 1.0, 1.0, INF], r"integers.*y_true\[3\] is inf"),
    "huge": ([0.0, 1.0, 1.0, 1e300], r"y_true\[3\] is 1e\+300"),
    "too few": ([0, 1, 1], r"one entry per sample.*4.*3"),
    "too many": ([0, 1, 1, 0, 1], r"one entry per sample.*4.*5"),
    "strings": (["0", "1", "1", "0"], r"integers"),
    "one-hot": (np.eye(2)[[0, 1, 1, 0]], r"1-dimensional.*\(4, 2\)"),
    "masked": (np.ma.masked_array(Y, [True, False, False, False]), r"masked"),
    "objects": (np.array(["a", 0, 1, 0], object), r"array of integers"),
    "complex": ([0j, 1j, 1j, 0j], r"integers.*complex"),
}


@pytest.mark.parametrize(("labels", "says"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_bad_labels(labels, says):
    for make in (fp.Predictions.from_posteriors, fp.Predictions.from_raw_scores):
        with pytest.raises(ValueError, match=rf"(?s)^y_true\b.*{says}"):
            make(labels, Q)


BAD_WEIGHTS = {
    "negative": ([1, 1, -1, 1], r"not negative.*sample_weight\[2\] is -1"),
    "nan": ([1, NAN, 1, 1], r"finite.*sample_weight\[1\] is nan"),
    "infinite": ([1, 1, 1, INF], r"finite.*sample_weight\[3\] is inf"),
    "too few": ([1, 1, 1], r"one entry per sample.*4.*3"),
    "strings": (["a"] * 4, r"real numbers"),
    "table": (np.ones((4, 1)), r"1-dimensional.*\(4, 1\)"),
}


@pytest.mark.parametrize(("weights", "says"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_bad_weights(weights, says):
    with pytest.raises(ValueError, match=rf"(?s)^sample_weight\b.*{says}"):
        fp.Predictions.from_posteriors(Y, Q, sample_weight=weights)


NOTHING = {
    "no rows": lambda: MAKE.from_posteriors([], []),
    "no rows of 3": lambda: MAKE.from_posteriors([], np.empty((0, 3))),
    "weights all zero": lambda: MAKE.from_posteriors(Y, Q, sample_weight=[0, 0, 0, 0]),
}


@pytest.mark.parametrize("make", NOTHING.values(), ids=NOTHING)
def test_no_sample_is_for_metrics_to_refuse(make):
    """Parts of a whole may be empty, or weigh nothing."""
    predictions = make()
    for use in (fp.CrossEntropy(), fp.BrierScore(False), fp.ECE(), fp.evaluate):
        with pytest.raises(ValueError, match=r"^predictions must have a sample of positive weight"):
            use(predictions)


BAD_PRIORS = {
    "sum": ([0.5, 0.6], r"sum to 1.*1\.1"),
    "negative": ([1.5, -0.5], r"0 to 1.*priors\[0\] is 1\.5"),
    "nan": ([0.5, NAN], r"priors\[1\] is nan"),
    "too many": ([0.5, 0.25, 0.25], r"one entry per class.*2.*3"),
    "a number": (0.5, r"1-dimensional"),
}


@pytest.mark.parametrize(("priors", "says"), BAD_PRIORS.values(), ids=BAD_PRIORS)
def test_bad_priors(priors, says):
    with pytest.raises(ValueError, match=rf"(?s)^priors\b.*{says}"):
        fp.Predictions.from_posteriors(Y, Q, priors=priors)


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, 1.1, NAN])
def test_bad_prior(prior):
    with pytest.raises(ValueError, match=rf"^prior\b.*{prior}"):
        fp.Predictions.from_llrs(Y, Q, prior=prior)


BAD_COSTS = {
    "nan": ([[0, 1], [NAN, 0]], r"finite.*costs\[1, 0\] is nan"),
    "infinite": ([[0, INF], [1, 0]], r"finite.*costs\[0, 1\] is inf"),
    "empty": ([], r"empty|2-dimensional"),
    "no decision": (np.empty((2, 0)), r"empty.*\(2, 0\)"),
    "a vector": ([0, 1], r"2-dimensional"),
    "one row": ([[0, 1]], r"row per class.*1"),
    "three rows": ([[0, 1], [1, 0], [1, 1]], r"row per class.*2.*3"),
}


@pytest.mark.parametrize(("costs", "says"), BAD_COSTS.values(), ids=BAD_COSTS)
def test_bad_costs(costs, says):
    made = fp.Predictions.from_posteriors(Y, Q)
    for use in (
        lambda: fp.bayes_decisions(made, costs),
        lambda: fp.BayesRisk(costs)(made),
        lambda: fp.ExpectedScore(fp.rules.Cost(costs))(made),
    ):
        with pytest.raises(ValueError, match=rf"(?s)^costs\b.*{says}"):
            use()


def test_bad_decisions():
    with pytest.raises(ValueError, match=r"^decisions\b.*decisions\[2\] is 2"):
        fp.expected_cost(Y, [0, 1, 2, 0], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"^costs\b.*constant decision"):
        fp.expected_cost(Y, Y, [[0, 1, 0], [1, 0, 0]])


# Things of another type

MADE = fp.Predictions.from_posteriors(Y, Q)
LOG, DP = fp.rules.Log(), fp.DirectionPreserving()
OTHER_TYPES = {
    "bayes_decisions": (lambda x: fp.bayes_decisions(x, [[0, 1], [1, 0]]), "predictions"),
    "roc": (fp.roc, "predictions"),
    "risk_curve": (lambda x: fp.risk_curve(x, [0.5]), "predictions"),
    "bayes_error": (fp.bayes_error, "predictions"),
    "consistency_band": (fp.consistency_band, "predictions"),
    "divergence_curve": (lambda x: fp.divergence_curve(x, LOG), "predictions"),
    "empirical_cross_entropy": (fp.empirical_cross_entropy, "predictions"),
    "pav_steps": (fp.pav_steps, "predictions"),
    "score_histogram": (fp.score_histogram, "predictions"),
    "tippett": (fp.tippett, "predictions"),
    "fit": (fp.PAV().fit, "predictions"),
    "transform": (fp.PAV().fit(MADE).transform, "predictions"),
    "cross_fit": (lambda x: fp.cross_fit(fp.PAV(), x), "predictions"),
    "cross_fit by": (lambda x: fp.cross_fit(x, MADE), "calibrator"),
    "cross_fit trained": (lambda x: fp.cross_fit(fp.PAV(), MADE, x), "train"),
    "HeldOut": (fp.HeldOut, "predictions"),
    "evaluate": (fp.evaluate, "predictions"),
    "evaluate by": (lambda x: fp.evaluate(MADE, [x]), "metrics"),
    "bootstrap": (lambda x: fp.bootstrap(fp.EER(), x), "predictions"),
    "band": (lambda x: fp.band(fp.roc, x), "predictions"),
    "band of": (lambda x: fp.band(x, MADE), "curve"),
    "bootstrap of": (lambda x: fp.bootstrap([x], MADE), "metrics"),
    "compare": (lambda x: fp.compare(fp.EER(), MADE, x), "b"),
    "sample_size": (lambda x: fp.sample_size(fp.EER(), x, 0.1), "predictions"),
    "sample_size of": (lambda x: fp.sample_size(x, MADE, 0.1), "metric"),
    "ExpectedScore": (fp.ExpectedScore, "rule"),
    "SemiEmpiricalScore": (lambda x: fp.SemiEmpiricalScore(LOG, x), "reference"),
    "CalibrationLoss": (lambda x: fp.CalibrationLoss(x, DP), "rule"),
    "CalibrationLoss by": (lambda x: fp.CalibrationLoss(LOG, x), "calibrator"),
    "ExpectedDivergence by": (lambda x: fp.ExpectedDivergence(LOG, x), "calibrator"),
    "DirectionPreserving": (fp.DirectionPreserving, "rule"),
    "save_calibrator": (lambda x: fp.save_calibrator(x, "x.json"), "calibrator"),
}


@pytest.mark.parametrize("use", OTHER_TYPES)
@pytest.mark.parametrize(
    ("other", "found"), [(np.array(Y), "ndarray"), ("pav", "'pav'"), (5, "5"), (fp.EER, "EER")]
)
def test_other_types_are_refused_by_name(use, other, found):
    call, name = OTHER_TYPES[use]
    with pytest.raises(ValueError, match=rf"(?s)^{name} must (be|not be) .*{found}"):
        call(other)


@pytest.mark.parametrize("metric", [fp.ECE(), fp.AUC(), fp.Cllr(), fp.EER(), fp.DevPAV()])
def test_labels_alone_are_no_predictions(metric):
    what = {"ECE": "posteriors", "AUC": "scores", "EER": "scores"}.get(metric.label, "LLRs")
    with pytest.raises(ValueError, match=f"takes Predictions, or labels and {what}"):
        metric(Y)


@pytest.mark.parametrize("make", [fp.Predictions.from_llrs, fp.Predictions.from_posteriors])
def test_a_class_without_samples_is_named(make):
    without_targets = make(np.zeros(4, int), Q)
    for metric in (fp.CrossEntropy(), fp.ExpectedScore(LOG), fp.Cllr(), fp.ActDCF(0.1), fp.EER()):
        with pytest.raises(ValueError, match=r"class 1|no targets|class priors \[1.0, 0.0\]"):
            metric(without_targets)


# Options, and names of arguments


HOSTILE = {
    "text": "no", "None": None, "number": 2, "half": 0.5, "nan": math.nan, "list": [1], "dict": {},
    "array": np.array([0.1, 0.2]),
    "predictions": fp.Predictions.from_llrs([0, 1], [0.0, 1.0]),
}  # fmt: skip


FUNCTIONS = [
    name
    for name in sorted({*fp.curves.__all__, "evaluate", "decompose"})
    if not isinstance(getattr(fp, name), type)
]


def things_with_options():
    data = fp.Predictions.from_llrs([0, 1, 0, 1, 1], [-1.0, 2.0, 0.5, 1.0, -0.2])
    made = [kind.examples(data)[0] for kind in (*METRICS, *TRAININGS)]
    made += [kind() for kind in CALIBRATORS.values()]
    made += [
        fp.rules.Log(),
        fp.rules.Brier(),
        fp.rules.Beta(2.0, 1.0),
        fp.rules.Cost(1 - np.eye(2)),
    ]
    return [*made, fp.rules.Weighted(lambda a: a[:, 0]), fp.IID(), fp.Stratified(),
            fp.Clusters([0, 1]), fp.TwoWay([0], [1]), fp.Nested([0, 1])]  # fmt: skip


@pytest.mark.parametrize("thing", things_with_options(), ids=lambda each: type(each).__name__)
def test_flags_are_true_or_false_and_names_are_hinted(thing):
    options = [field for field in fields(thing) if field.init]
    given = {field.name: getattr(thing, field.name) for field in options}
    for field in options:
        if field.type is not bool:
            continue
        for value in HOSTILE.values():
            with pytest.raises(fp.ArgumentError, match=f"{field.name} must be True or False"):
                type(thing)(**{**given, field.name: value})
        assert type(thing)(**{**given, field.name: np.bool_(True)})
    with pytest.raises(TypeError, match=f"{type(thing).__name__} takes no argument nothing"):
        type(thing)(**given, nothing=1)


def test_data_in_place_of_a_flag_shows_the_call():
    for kind in (fp.CrossEntropy, fp.BrierScore):
        with pytest.raises(fp.ArgumentError, match=rf"{kind.__name__}\(\)\(predictions\)"):
            kind(HOSTILE["predictions"])


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: fp.ECE(n_bins=10), "bins"),
        (lambda: fp.CrossEntropy(normalize=False), "normalized"),
        (lambda: fp.Predictions.from_posteriors([0, 1], [0.1, 0.2], prior=0.1), "priors"),
        (lambda: fp.Predictions.from_llrs([0, 1], [0.1, 0.2], priors=0.1), "prior"),
        (lambda: fp.Predictions.from_llrs([0, 1], [0.1, 0.2], weights=[1, 2]), "sample_weight"),
        (lambda: fp.bootstrap(fp.EER(), None, n_boot=9), "n_resamples"),
        (lambda: fp.evaluate(None, confidence=0.9), "confidence_level"),
        (lambda: fp.CrossFit(n_splits=3), "folds"),
    ],
)
def test_names_of_other_libraries(call, meant):
    with pytest.raises(TypeError, match=f"did you mean {meant}.$"):
        call()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_in_place_of_predictions_show_the_call_to_make(name):
    function = getattr(fp, name)
    y, q = [0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3]
    for args in ((y, q), (np.array(q), 0.5)):
        with pytest.raises(fp.ArgumentError, match=r"fp\.Predictions\.from_posteriors\(y_true"):
            function(*args)


@pytest.mark.parametrize("name", [*plotting.__all__, "bootstrap", "compare"])
def test_labels_and_scores_side_by_side_show_the_call_to_make(name):
    function = getattr(plotting, name, None) or partial(getattr(fp, name), fp.Cllr(), None)
    with pytest.raises(TypeError, match=r" without a name, not .* fp\.Predictions\.from_post"):
        function([0, 1, 1, 0], np.array([0.1, 0.8, 0.6, 0.3]))
    with pytest.raises(TypeError, match=r"from_llrs takes 2 arguments without a name, not 3$"):
        fp.Predictions.from_llrs([0, 1], [0.1, 0.8], [1.0, 2.0])


def test_calibrators_take_predictions_alone():
    data = HOSTILE["predictions"]
    for args in ((np.array([0.1, 0.2]), [0, 1]), (data, [0, 1])):
        with pytest.raises(fp.ArgumentError, match="from_posteriors"):
            fp.PAV().fit(*args)
