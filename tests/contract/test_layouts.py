"""Arrays of any type and layout give the bits of contiguous arrays of float64."""

import numpy as np
import pytest

import fastpsr as fp
from tests.contract import registry
from tests.contract.comparison import outcome, require_same
from tests.contract.data import KINDS, Case


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def unaligned(x):
    room = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    room[...] = x
    return room


LAYOUTS = {
    "float32": lambda x: x.astype(np.float32),
    "float32 in Fortran order": lambda x: np.asfortranarray(x.astype(np.float32)),
    "strided float32": lambda x: np.repeat(x.astype(np.float32), 3, axis=0)[::3],
    "float16": lambda x: x.astype(np.float16),
    "long double": lambda x: x.astype(np.longdouble),
    "reversed": lambda x: x[::-1].copy()[::-1],
    "Fortran order": np.asfortranarray,
    "every other column": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "read-only": read_only,
    "unaligned": unaligned,
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "lists": np.ndarray.tolist,
    "objects": lambda x: x.astype(object),
    "masked": np.ma.masked_array,
    "memory view": memoryview,
}
LABELS = {
    "bool": lambda y: y.astype(bool),
    "float": lambda y: y.astype(float),
    "swapped bytes": lambda y: y.astype(">i2"),
    "strided": lambda y: np.repeat(y, 2)[::2],
    "lists": np.ndarray.tolist,
    "column": lambda y: y[:, None],
}
N = 9_001  # several blocks, the last one short


def scores_of(kind):
    """Return labels and scores that are exact in 16 bits."""
    case = Case(kind, n=N)
    y, scores = case.rows["y"], case.rows["scores"].copy()
    if "osteriors" not in kind:
        return y, scores.astype(np.float16).astype(float)
    scores = np.round(scores * 64.0) / 64.0 if "log" not in kind else np.full(scores.shape, -np.inf)
    if "log" in kind:
        scores[np.arange(N), y] = 0.0
    elif scores.ndim == 2:
        scores[:, 0] = 1.0 - scores[:, 1:].sum(axis=1)
        is_valid = (scores >= 0.0).all(axis=1)
        return y[is_valid], scores[is_valid]
    return y, scores


@pytest.mark.parametrize("kind", KINDS)
def test_layouts_of_scores_change_no_bit(kind):
    y, scores = scores_of(kind)
    make = getattr(fp.Predictions, f"from_{KINDS[kind][0]}")
    plain = make(y, np.ascontiguousarray(scores))
    metrics = [fp.CrossEntropy(), fp.BrierScore(), fp.ECE(on="confidence"), fp.AUC("macro"),
               fp.MinDCF(0.1), fp.BayesRisk(fp.CostMatrix.zero_one(plain.n_classes))]  # fmt: skip
    expected = [outcome(metric, plain) for metric in metrics]
    for layout, arranged in LAYOUTS.items():
        data = make(y, arranged(scores))
        assert data.scores.dtype == np.float64
        require_same(data, plain, 0.0, layout)
        require_same([outcome(metric, data) for metric in metrics], expected, 0.0, layout)
        if plain.kind != "raw scores":
            require_same(data.log_posteriors, plain.log_posteriors, 0.0, layout)


@pytest.mark.parametrize("name", registry.METRIC_KINDS)
def test_float32_is_read_as_it_is(name):
    y, scores = Case("LLRs", n=N).rows["y"], Case("LLRs", n=N).rows["scores"].astype(np.float32)
    data, wide = (fp.Predictions.from_llrs(y, x) for x in (scores, scores.astype(float)))
    metrics_of_wide = registry.metrics(name, wide)
    for label, metric in registry.metrics(name, data).items():
        if not registry.counts_rows(metric):
            require_same(outcome(metric, data), outcome(metrics_of_wide[label], wide), 0.0, label)


def test_layouts_of_other_arguments_change_no_bit():
    case = Case("logits of 3 classes", weights="fractions", n=300)
    y, scores, weights = (case.rows[name] for name in ("y", "scores", "weights"))
    priors, ids = np.array([0.5, 0.3, 0.2]), np.arange(300) // 5

    def table(arrange, arrange_labels):
        data = fp.Predictions.from_logits(
            arrange_labels(y), scores, sample_weight=arrange(weights), priors=arrange(priors)
        )
        calibrated = fp.cross_fit(
            fp.DirectionPreserving(), data, fp.CrossFit(groups=arrange_labels(ids))
        )
        risk = fp.BayesRisk(arrange(np.eye(3)[::-1]))
        return calibrated, risk(calibrated)

    expected = table(np.asarray, np.asarray)
    for layout, arrange in LAYOUTS.items():
        if layout not in ("float16", "float32", "float32 in Fortran order", "strided float32"):
            require_same(table(arrange, np.asarray), expected, 0.0, layout)
    for layout in ("float", "swapped bytes", "strided", "lists"):
        require_same(table(np.asarray, LABELS[layout]), expected, 0.0, layout)
    for layout, arrange in LABELS.items():
        data = fp.Predictions.from_llrs(arrange(y == 1), scores[:, 0])
        np.testing.assert_array_equal(data.y_true, y == 1, layout)


def test_arrays_are_referenced_and_never_written_to():
    y = Case(n=N).rows["y"]
    scores = Case(n=N).rows["scores"]
    for x in (scores, scores.astype(np.float32), np.repeat(scores, 2)[::2]):
        before = x.copy()
        data = fp.Predictions.from_llrs(y, x)
        fp.evaluate(data)
        np.testing.assert_array_equal(x, before)
    data = fp.Predictions.from_llrs(y, scores)
    assert np.shares_memory(data.scores, scores)


@pytest.mark.parametrize("layout", ["float32", "strided float32", "Fortran order", "swapped bytes"])
def test_wrong_values_are_named_by_their_place(layout):
    y, scores = Case(n=N).rows["y"], Case(n=N).rows["scores"].copy()
    scores[7_123] = np.nan
    error = outcome(fp.Predictions.from_llrs, y, LAYOUTS[layout](scores))
    assert (error.argument, error.index, error.value) == ("llr", 7_123, "nan")
    case = Case("logits of 3 classes", n=N)
    rows = case.rows["scores"].copy()
    rows[5_000, 2] = np.inf
    error = outcome(fp.Predictions.from_logits, case.rows["y"], LAYOUTS[layout](rows))
    assert (error.argument, error.index, error.column) == ("z", 5_000, 2)
    rows = Case("posteriors of 3 classes", n=N).rows["scores"]
    for row in (0, 5_000, N - 1):
        for wrong in (-1e-4, 1.0001, np.nan, np.inf):
            bad = rows.copy()
            bad[row] = wrong, 1.0 - wrong, 0.0  # the sum is right, but for nan and inf
            error = outcome(fp.Predictions.from_posteriors, None, LAYOUTS[layout](bad))
            assert (error.argument, error.index) == ("q", row)
