"""Invalid arguments are refused with an error that names the argument, in every public call."""

import inspect
import math
import threading

import numpy as np
import pytest

import fastpsr as fp
from tests.contract import registry
from tests.contract.comparison import outcome
from tests.contract.data import Case

DATA = Case("LLRs", n=60).predictions()
NAN, INF = math.nan, math.inf
OBJECTS = [np.array([0, 1]), "pav", 5, fp.EER, [1.0, 2.0], None]
FLAGS = ["no", None, 2, 0.5, NAN, [1], {}, np.array([0.1, 0.2]), DATA]
SHARES = [-0.1, 1.5, NAN, "half", None, [0.5], 1j]
COUNTS = [0, -1, 1.5, "2", [3]]
CHOICES = ["nothing", 5, [1], DATA]
POSITIVE = [0.0, -1.0, NAN, INF, "much", None, [1.0]]
COSTS = [
    [[0, 1], [NAN, 0]], [[0, INF], [1, 0]], [], np.empty((2, 0)), [0, 1], [[0, 1]], [[0, 1]] * 3,
    "costs", None,
]  # fmt: skip
POINTS = [[NAN], "points", [[[0.5]]], [0.5 + 1j], [-0.5], []]
#: Name of a parameter -> values that no public call may take for it.
HOSTILE = {
    "predictions": OBJECTS, "a": OBJECTS, "b": OBJECTS, "reference": OBJECTS,
    "metrics": [5, [5], [np.array([0, 1])], ["nothing"], [fp.EER], []],
    "metric": [5, [5], "nothing", fp.EER, None],
    "calibrator": [np.array([0, 1]), "pav", 5, fp.EER],
    "rule": [np.array([0, 1]), "log", 5, fp.rules.Log],
    "divergence": [5, "brier"],
    "train": [np.array([0, 1]), "folds", 5, fp.CrossFit],
    "resampling": [np.array([0, 1]), "iid", 5, fp.IID],
    "curve": [5, "roc", np.mean, None],
    "costs": COSTS,
    "points": POINTS,
    "prior_log_odds": [[NAN], "points", [[0.5]], [0.5 + 1j]],
    "n_resamples": [-1, 1.5, "2", [3], None], "confidence_level": [0, 1, 95, NAN, "x", None],
    "method": CHOICES, "seed": [-1, 1.5, "x", [1]],
    "width": POSITIVE, "n": COUNTS,
    "on": CHOICES, "binning": CHOICES, "norm": [0, 3, 1.5, "1", None], "definition": CHOICES,
    "bins": COUNTS,
    "p_fa": SHARES, "p_miss": SHARES, "p_target": [0.0, 1.0, *SHARES], "floor": [0.5, *SHARES],
    "p_nontarget": SHARES, "p_spoof": SHARES, "p_fa_spoof": SHARES,
    "prior": [0.0, 1.0, -0.1, 1.1, NAN, "x"],
    "c_miss": POSITIVE, "c_fa": POSITIVE, "c_fa_spoof": POSITIVE,
    "max_fpr": SHARES, "max_fnr": SHARES, "threshold": SHARES, "beta": POSITIVE, "rate": CHOICES,
    "precision": [0.0, *SHARES],
    "strength": [-1.0, NAN, INF, "x", None],
    "spoof": [[1], "x", np.ones((60, 2), bool), np.full(60, 0.5)],
    "class_": [-1, 5, 0.5, "dog", [1]],
    "score": [NAN, "x", None, [0.5]],
    "folds": [1, 0, -1, 1.5, [1], "fold"], "groups": [[1], "speaker", 5],
    "ids": [[1], "unit", 5, None], "cluster_ids": [[1], "unit", 5, None],
    "enroll_speakers": [[1], "left", 5, None], "test_speakers": [[1], "right", 5, None],
    "differences": CHOICES, "group_differences": CHOICES,
    "by": [5, {"g": [1]}, {"g": 5}, np.arange(60)],
    "candidates": [5, {}, [fp.PAV()]],
    "progress": [],  # anything that is true shows it
}  # fmt: skip
SPEAKERS = np.arange(60) % 7
#: What the other parameters without a default are.
VALID = {
    "predictions": DATA, "a": DATA, "b": DATA, "reference": DATA, "metrics": fp.EER(),
    "metric": fp.EER(), "calibrator": fp.PAV(), "rule": fp.rules.Brier(), "width": 0.1,
    "curve": fp.roc, "costs": [[0, 1], [1, 0]], "points": [0.5], "divergence": fp.rules.Log(),
    "candidates": {"none": None, "pav": fp.PAV()}, "n": 1, "p_fa": 0.1, "p_miss": 0.1,
    "rate": "accuracy", "precision": 0.5, "p_fa_spoof": 0.5,
    "n_resamples": 40, "p_target": 0.1, "score": 0.0,
    "ids": SPEAKERS,
    "spoof": (DATA.y_true == 0) & (np.arange(60) % 2 == 0),
    "cluster_ids": SPEAKERS, "enroll_speakers": SPEAKERS, "test_speakers": SPEAKERS,
}  # fmt: skip


def use(thing):
    """Use an object where it meets data, since some arguments are checked only there."""
    if isinstance(thing, fp.metrics.Metric):
        return thing(DATA)
    if isinstance(thing, fp.calibration.Calibrator):
        return thing.fit(DATA)
    if type(thing) in registry.TRAINING_KINDS.values():
        return fp.cross_fit(fp.PAV(), DATA, thing)
    if type(thing) in registry.RESAMPLING_KINDS.values():
        return fp.bootstrap(fp.EER(), DATA, resampling=thing, n_resamples=40, seed=0)
    return thing


FUNCTIONS = [
    "bayes_decisions", "bootstrap", "compare", "band", "sample_size", "cross_fit", "evaluate",
    "decompose", "select", "elub", "threads", *registry.CURVE_FUNCTIONS,
]  # fmt: skip
CALLS = {name: getattr(fp, name) for name in FUNCTIONS}
CALLS |= registry.METRIC_KINDS | registry.CALIBRATOR_KINDS
CALLS |= registry.TRAINING_KINDS | registry.RESAMPLING_KINDS


@pytest.mark.parametrize("name", CALLS)
def test_hostile_values_are_refused_by_name(name):
    parameters = inspect.signature(CALLS[name]).parameters
    needed = {
        other: VALID[other]
        for other, parameter in parameters.items()
        if parameter.default is parameter.empty or other == "n_resamples"
    }
    assert not isinstance(outcome(lambda: use(CALLS[name](**needed))), ValueError)
    for argument, parameter in parameters.items():
        is_flag = isinstance(parameter.default, bool)
        for value in FLAGS if is_flag else HOSTILE[argument]:
            if value is None and parameter.default is None:
                continue
            error = outcome(lambda a=argument, v=value: use(CALLS[name](**needed | {a: v})))
            assert isinstance(error, fp.ArgumentError), f"{argument}={value!r}"
            assert error.argument.split("[")[0] == argument, f"{argument}={value!r}: {error}"
            assert error.rule
    with pytest.raises(TypeError, match="nothing"):
        CALLS[name](**needed, nothing=1)


# Data

Y = [0, 1, 1, 0]
Q = [0.25, 0.75, 0.5, 0.125]
ROWS = [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0], [0.25, 0.5, 0.25]]
SHAPES = [np.ones((4, 2, 2)), np.ones((4, 0)), 0.5, ["a"] * 4, [0.5 + 0j] * 4,
          [0.5, None, 0.5, 0.5],
          np.ma.masked_array(Q, [False, True, False, False]), [[0.5, 0.5], [1.0], [1.0], [1.0]],
          np.array([0.5, "x", 0.5, 0.5], object)]  # fmt: skip


def wrong_rows(row, place=2):
    rows = [list(values) for values in ROWS]
    rows[place] = row
    return rows


#: Constructor, name of its scores, wrong scores, and the entry that is named.
WRONG_SCORES = [
    ("posteriors", "q", [0.2, NAN, 0.1, 0.1], (1, None, "nan")),
    ("posteriors", "q", [0.2, 0.1, INF, 0.1], (2, None, "inf")),
    ("posteriors", "q", [-0.1, 0.2, 0.1, 0.1], (0, None, "-0.1")),
    ("posteriors", "q", [0.1, 0.1, 0.1, 1.5], (3, None, "1.5")),
    ("posteriors", "q", wrong_rows([0.5, NAN, 0.5]), (2, 1, "nan")),
    ("posteriors", "q", wrong_rows([1.25, -0.25, 0.0]), (2, 0, "1.25")),
    ("posteriors", "q", wrong_rows([0.5, 0.25, 0.25 + 5e-6]), (2, None, "")),
    ("posteriors", "q", wrong_rows([0.5, 0.25, 0.125]), (2, None, "")),
    ("log_posteriors", "log_q", [[0.0, NAN]] * 4, (0, 1, "nan")),
    ("log_posteriors", "log_q", [[0.0, -INF], [INF, 0.0], *[[0.0, -INF]] * 2], (1, 0, "inf")),
    ("log_posteriors", "log_q", [[0.0, -INF], [0.0, -3.0], *[[0.0, -INF]] * 2], (1, None, "")),
    ("log_posteriors", "log_q", [0.0, -1.0, -1.0, -1.0], (None, None, "")),
    ("logits", "z", [0.0, NAN, 0.0, 0.0], (1, None, "nan")),
    ("logits", "z", [[0.0, INF], *[[0.0, 0.0]] * 3], (0, 1, "inf")),
    ("logits", "z", [[0.0, 0.0], [-INF, -INF], *[[0.0, 0.0]] * 2], (1, None, "")),
    ("log_likelihoods", "log_lk", [[-INF, -INF], *[[0.0, 0.0]] * 3], (0, None, "")),
    ("log_likelihoods", "log_lk", [[0.0, 0.0, INF], *[[0.0, 0.0, 0.0]] * 3], (0, 2, "inf")),
    ("llrs", "llr", [0.0, NAN, 0.0, 0.0], (1, None, "nan")),
    ("llrs", "llr", [[0.0, 1.0]] * 4, (None, None, "")),
    ("raw_scores", "scores", [NAN, 0.0, 0.0, 0.0], (0, None, "nan")),
    *(("posteriors", "q", scores, None) for scores in SHAPES),
    *(("llrs", "llr", scores, None) for scores in SHAPES),
]  # fmt: skip
WRONG_LABELS = [
    ([0, 2, 1, 0], 1), ([0, 1, 1, -1], 3), (np.array([0, 0, 0, 257], np.int64), 3),
    (np.array([0, 0, 2**63, 0], np.uint64), 2), ([0.0, 0.5, 1, 0], 1), ([0.0, NAN, 1, 0], 1),
    ([0.0, 1.0, 1.0, INF], 3), ([0.0, 1.0, 1.0, 1e300], 3), ([0, 1, 1], None),
    ([0, 1, 1, 0, 1], None), (["0", "1", "1", "0"], 0), (np.eye(2)[Y], None),
    (np.ma.masked_array(Y, [True, False, False, False]), None), ([0j, 1j, 1j, 0j], None),
    (np.array(["a", 0, 1, 0], object), 0),
]  # fmt: skip
WRONG_WEIGHTS = [
    ([1, 1, -1, 1], 2), ([1, NAN, 1, 1], 1), ([1, 1, 1, INF], 3), ([1, 1, 1], None),
    (["a"] * 4, None), (np.ones((4, 1, 1)), None), (1.0, None),
]  # fmt: skip
WRONG_PRIORS = [
    ([0.5, 0.6], None), ([1.5, -0.5], 0), ([0.5, NAN], 1), ([0.5, 0.25, 0.25], None), (0.5, None),
    (["a", "b"], None),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "scores", "entry"), WRONG_SCORES)
def test_wrong_scores(kind, name, scores, entry):
    error = outcome(getattr(fp.Predictions, f"from_{kind}"), Y, scores)
    assert error.argument == name
    if entry is not None:
        assert (error.index, error.column, error.value) == entry


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [("y_true", WRONG_LABELS), ("sample_weight", WRONG_WEIGHTS), ("priors", WRONG_PRIORS)],
)
def test_wrong_labels_weights_and_priors(argument, wrong):
    for value, index in wrong:
        for kind in ("posteriors", "logits"):
            make = getattr(fp.Predictions, f"from_{kind}")
            arguments = {"y_true": Y, "q" if kind == "posteriors" else "z": Q}
            error = outcome(make, **arguments | {argument: value})
            assert (error.argument, error.index) == (argument, index), value


def test_wrong_costs_and_decisions():
    for costs in COSTS:
        assert outcome(fp.expected_cost, Y, Y, costs).argument == "costs"
        assert outcome(fp.ExpectedScore(fp.rules.Cost([[0, 1], [1, 0]])), DATA) > 0.0
    assert outcome(fp.CostMatrix, [[0, 1], [INF, 0]]).index == 1
    error = outcome(fp.expected_cost, Y, [0, 1, 2, 0], [[0, 1], [1, 0]])
    assert (error.argument, error.index, error.value) == ("decisions", 2, "2")
    no_errors = outcome(fp.expected_cost, Y, Y, [[0, 1, 0], [1, 0, 0]])  # nothing to divide by
    assert no_errors.argument == "costs"


# What metrics, curves and calibrators need of data


def nothing():
    yield fp.Predictions.from_posteriors([], [])
    yield fp.Predictions.from_posteriors(Y, Q, sample_weight=[0, 0, 0, 0])
    yield fp.from_parts([fp.Predictions.from_posteriors([], [])] * 2)


@pytest.mark.parametrize("name", [*registry.METRIC_KINDS, *registry.CALIBRATOR_KINDS])
def test_data_without_a_sample_are_refused(name):
    for data in nothing():
        if name in registry.CALIBRATOR_KINDS:
            errors = [outcome(c.fit, data) for c in registry.calibrators(name)]
        else:
            errors = [outcome(m, data) for m in registry.metrics(name, DATA).values()]
        for error in errors:
            assert isinstance(error, fp.ArgumentError)


NEED_BOTH_CLASSES = {
    "EER", "MissRate", "FalseAlarmRate", "Threshold", "MinDCF", "ActDCF", "MinADCF", "ActADCF",
    "MinTDCF", "Cllr", "MinCllr", "AUC", "AveragePrecision", "DevPAV", "RecallAtPrecision",
}  # fmt: skip


@pytest.mark.parametrize("name", registry.METRIC_KINDS)
def test_a_class_without_samples_is_refused_where_it_matters(name):
    one_class = fp.Predictions.from_llrs(np.zeros(60, int), DATA.llrs, prior=0.3)
    for label, metric in registry.metrics(name, DATA).items():
        result = outcome(metric, one_class)
        if name in NEED_BOTH_CLASSES:
            assert isinstance(result, ValueError), label


RANK = {"EER", "MissRate", "FalseAlarmRate", "Threshold", "MinDCF", "MinADCF", "MinCllr", "AUC",
        "MinTDCF", "AveragePrecision", "PavPosterior", "RecallAtPrecision"}  # fmt: skip


@pytest.mark.parametrize("name", registry.METRIC_KINDS)
def test_raw_scores_are_for_ranks_alone(name):
    raw = Case("raw scores", n=60).predictions()
    for label, metric in registry.metrics(name, DATA).items():
        assert isinstance(outcome(metric, raw), float if name in RANK else fp.ArgumentError), label


# Parts

WHOLE = Case("LLRs", n=60)


def parts_of(*parts):
    return fp.from_parts([*parts, WHOLE.predictions(slice(30, 60))])


class Changing:
    """Another score at each read."""

    def __init__(self):
        self.n_reads = 0

    def __call__(self):
        self.n_reads += 1
        scores = WHOLE.rows["scores"][:30].copy()
        scores[3] += self.n_reads
        return fp.Predictions.from_llrs(WHOLE.rows["y"][:30], scores)


def failing():
    raise OSError("disk on fire")


def interrupted():
    raise KeyboardInterrupt


def with_nan():
    scores = np.where(np.arange(30) == 17, NAN, 0.5)
    return fp.Predictions.from_llrs(WHOLE.rows["y"][:30], scores)


def test_parts_that_cannot_be_read_are_named():
    for metric in (fp.EER(), fp.CrossEntropy()):
        error = outcome(metric, parts_of(WHOLE.predictions(slice(0, 10)), with_nan))
        assert error.index == 17
        assert "parts[1]" in str(error)
    assert "parts[0]" in str(outcome(lambda: fp.Cllr()(parts_of(failing))))
    n_threads = threading.active_count()
    for call in (fp.Cllr(), fp.evaluate):
        with pytest.raises(KeyboardInterrupt):
            call(parts_of(interrupted))
    assert threading.active_count() == n_threads
    changed = outcome(lambda: fp.evaluate(parts_of(Changing())))
    assert isinstance(changed, fp.ArgumentError)
    assert "parts[0]" in str(changed)
    with_prior = fp.Predictions.from_llrs([0, 1], [0.0, 1.0], prior=0.2)
    for other in (with_prior, Case("raw scores").predictions(), 5):
        assert isinstance(outcome(lambda o=other: fp.EER()(parts_of(o))), fp.ArgumentError)
    assert outcome(fp.from_parts, []).argument == "parts"
    assert isinstance(outcome(fp.bootstrap, lambda p: 1.0, WHOLE.parts()), ValueError)
    left, data = WHOLE.columns["left"], WHOLE.predictions()
    mixed = fp.from_parts([(data[:30], {"id": left[:30]}), (data[30:], {"id": np.arange(30)})])
    error = outcome(fp.bootstrap, fp.Cllr(), mixed, resampling=fp.Clusters("id"))
    assert error.argument == "ids"


def test_systems_are_compared_on_the_same_samples():
    data, parts = WHOLE.predictions(), WHOLE.parts()
    for other in (data[::-1], data[:30], parts, Case("LLRs", n=60, seed=1).parts()):
        assert isinstance(outcome(fp.compare, fp.EER(), data, other), ValueError)
    other_cuts = fp.from_parts([data[:7], data[7:]])
    assert isinstance(outcome(fp.compare, fp.EER(), parts, other_cuts), ValueError)


# Names of other libraries, and arrays in place of predictions


@pytest.mark.parametrize(
    ("function", "arguments", "meant"),
    [
        (fp.ECE, {"n_bins": 10}, "bins"),
        (fp.CrossEntropy, {"normalize": False}, "normalized"),
        (fp.Predictions.from_posteriors, {"y_true": Y, "q": Q, "prior": 0.1}, "priors"),
        (fp.Predictions.from_llrs, {"y_true": Y, "llr": Q, "priors": 0.1}, "prior"),
        (fp.Predictions.from_llrs, {"y_true": Y, "llr": Q, "weights": Y}, "sample_weight"),
        (fp.bootstrap, {"metrics": fp.EER(), "predictions": None, "n_boot": 9}, "n_resamples"),
        (fp.evaluate, {"predictions": None, "confidence": 0.9}, "confidence_level"),
        (fp.CrossFit, {"n_splits": 3}, "folds"),
    ],
)
def test_names_of_other_libraries(function, arguments, meant):
    with pytest.raises(TypeError, match=f"did you mean {meant}.$"):
        function(**arguments)


def test_arrays_in_place_of_predictions_show_the_call_to_make():
    for name in (*registry.CURVE_FUNCTIONS, "evaluate", "decompose"):
        error = outcome(getattr(fp, name), np.array(Q), *([0.5] if name == "risk_curve" else []))
        assert "fp.Predictions.from_posteriors(y_true" in error.remedy
    for metric in (fp.ECE(), fp.AUC(), fp.Cllr(), fp.DevPAV()):
        assert "takes Predictions, or labels and" in str(outcome(metric, Y))
    with pytest.raises(TypeError, match=r"from_llrs takes 2 arguments without a name, not 3$"):
        fp.Predictions.from_llrs(Y, Q, Q)
    with pytest.raises(TypeError, match=r"fp\.Predictions\.from_posteriors"):
        fp.bootstrap(fp.Cllr(), Y, Q)
