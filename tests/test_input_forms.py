"""Data as people have it: labels of any kind, rounded posteriors, columns, tensors."""

import pickle

import numpy as np
import pytest

import fastpsr as fp
from tests.contract.comparison import outcome

LABELS = {
    "strings": (["non", "tar", "non", "tar"], ["non", "tar"]),
    "array of strings": (np.array(["non", "tar", "non", "tar"]), np.array(["non", "tar"])),
    "objects": (np.array(["non", "tar", "non", "tar"], object), ("non", "tar")),
    "signs": ([-1, 1, -1, 1], [-1, 1]),
    "floats": ([1.5, 2.5, 1.5, 2.5], [1.5, 2.5]),
    "booleans": ([False, True, False, True], [False, True]),
    "unsigned": (np.array([3, 9, 3, 9], np.uint8), [3, 9]),
    "dates": (np.array(["2001", "2002"] * 2, "M8[Y]"), np.array(["2001", "2002"], "M8[Y]")),
    "column": (np.array([["non"], ["tar"], ["non"], ["tar"]]), ["non", "tar"]),
}
ROWS = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]])
MAKERS = {
    "posteriors": ROWS, "log_posteriors": np.log(ROWS), "logits": ROWS, "log_likelihoods": ROWS,
    "llrs": ROWS[:, 1], "raw_scores": ROWS[:, 1],
}  # fmt: skip


@pytest.mark.parametrize("maker", MAKERS)
def test_labels_of_any_kind(maker):
    make = getattr(fp.Predictions, f"from_{maker}")
    for labels, classes in LABELS.values():
        assert make(labels, MAKERS[maker], classes=classes).y_true.tolist() == [0, 1, 0, 1]
        assert make(labels, MAKERS[maker], classes=classes[::-1]).y_true.tolist() == [1, 0, 1, 0]
    for labels, shown in (
        (["target", "nontarget"] * 2, "classes=['nontarget', 'target']"),
        ([-1, 1, 1, -1], "classes=[-1, 1]"),
        (np.array([1.0, 2.0] * 2), "classes=[1.0, 2.0]"),
    ):
        error = outcome(make, labels, MAKERS[maker])
        assert error.argument == "y_true"
        assert error.index in (0, 1)
        assert shown in error.remedy
        assert "[negative, positive]" in error.remedy


def test_a_class_may_be_absent():
    q = [[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]]
    loss = fp.CrossEntropy(normalized=False)(["c", "a"], q, classes=["a", "b", "c"])
    assert loss == pytest.approx(-np.log([0.3, 0.6]).mean(), rel=1e-14)


@pytest.mark.parametrize(
    ("y", "classes", "argument", "index"),
    [
        (["a", "b", "x", "a"], ["a", "b"], "y_true", 2),
        ([0.0, np.nan, 1.0, 0.0], [0.0, 1.0], "y_true", 1),
        ([0, 1, 0, 1], ["0", "1"], "y_true", 0),
        (["a", None, "a", None], None, "y_true", 1),  # 'a' is a label, None is none
        ([1.0, np.nan, 1.0, 1.0], [1.0, np.nan], "y_true", 1),
        (np.array(["a", ["b"], "a", "b"], object), ["a", "b"], "y_true", 1),
        (["a", "b", "a", "b"], ["a", "b", "c"], "classes", None),
        (["a", "b", "a", "b"], ["a"], "classes", None),
        (["a", "b", "a", "b"], ["a", "a"], "classes", None),
        (["a", "b", "a", "b"], "ab", "classes", None),
        (["a", "b", "a", "b"], 2, "classes", None),
        (["a", "b", "a", "b"], [["a"], ["b"]], "classes", None),
    ],
)
def test_labels_that_are_no_class(y, classes, argument, index):
    error = outcome(fp.Predictions.from_llrs, y, [0.0, 1.0, 2.0, 3.0], classes=classes)
    assert (error.argument, error.index) == (argument, index)


def softmax(n, n_classes, dtype):
    rng = np.random.default_rng(n_classes)
    z = (2.0 * rng.normal(size=(n, n_classes))).astype(dtype)
    z -= z.max(axis=1, keepdims=True)
    q = np.exp(z)
    return rng.integers(0, n_classes, n), q / q.sum(axis=1, keepdims=True, dtype=dtype)


@pytest.mark.parametrize(
    ("n_classes", "dtype"),
    [(2, "f4"), (10, "f2"), (1_000, "f4"), (1_000, "f2"), (50_000, "f4"), (50_000, "f2")],
)
def test_rounding_of_the_type_is_no_mistake(n_classes, dtype):
    y, q = softmax(3, n_classes, dtype)
    missed = np.abs(q.astype(np.float64).sum(axis=1) - 1.0).max()
    data = fp.Predictions.from_posteriors(y, q)
    expected = q.astype(np.float64)[np.arange(3), y] / q.astype(np.float64).sum(axis=1)
    with np.errstate(divide="ignore"):
        losses = -np.log(expected)
    assert fp.CrossEntropy(normalized=False)(data) == pytest.approx(losses.mean(), rel=1e-12)
    if missed > 1e-5:  # of a wider type it would be one
        with pytest.raises(fp.ArgumentError, match="normalize=True"):
            fp.Predictions.from_posteriors(y, q.astype(np.float64))


def test_a_hair_beyond_the_bounds():
    almost = np.array([1.0000001, 0.0, 0.25, -1e-9])
    data = fp.Predictions.from_posteriors([1, 0, 0, 0], almost)
    assert data.posteriors[:, 1].tolist() == [1.0, 0.0, 0.25, 0.0]
    assert almost[0] > 1.0, "the caller's own"
    rows = fp.Predictions.from_posteriors([1, 0, 0, 0], np.column_stack([1.0 - almost, almost]))
    np.testing.assert_allclose(rows.posteriors, data.posteriors, atol=2e-7)
    assert ((rows.posteriors >= 0.0) & (rows.posteriors <= 1.0)).all()
    assert fp.ECE()(rows) == pytest.approx(fp.ECE()(data), abs=1e-6)
    for wrong in (1.00001, -1e-5, np.nan, np.inf):
        with pytest.raises(fp.ArgumentError, match=r"q\[1\]"):
            fp.Predictions.from_posteriors([0, 1], [0.5, wrong])


def test_posteriors_rounded_to_three_decimals():
    y, q = softmax(200, 7, np.float64)
    rounded = q.round(3)
    data = fp.Predictions.from_posteriors(y, rounded, normalize=True)
    np.testing.assert_allclose(
        data.posteriors, rounded / rounded.sum(axis=1, keepdims=True), rtol=1e-14
    )
    log_rounded = np.log(np.maximum(rounded, 1e-4))
    logs = fp.Predictions.from_log_posteriors(y, log_rounded, normalize=True)
    np.testing.assert_allclose(logs.posteriors.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("wrong", [[0.0, 0.0], [1.0, -0.5], [np.inf, 1.0], [np.nan, 1.0]])
def test_rows_that_cannot_be_normalized(wrong):
    with pytest.raises(fp.ArgumentError) as refused:
        fp.Predictions.from_posteriors([0, 1], [[0.5, 0.5], wrong], normalize=True)
    assert refused.value.index == 1


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_floor_bounds_what_a_sample_costs(n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 300)
    votes = rng.multinomial(5, 0.3 * np.eye(n_classes)[y] + 0.7 / n_classes) / 5.0
    data = fp.Predictions.from_posteriors(y, votes, floor=0.01)
    clipped = np.clip(votes, 0.01, 0.99)
    np.testing.assert_allclose(
        data.posteriors, clipped / clipped.sum(axis=1, keepdims=True), rtol=1e-14
    )
    assert all(np.isfinite(row.value) for row in fp.evaluate(data).rows)
    with np.errstate(divide="ignore"):
        logs = fp.Predictions.from_log_posteriors(y, np.log(votes), floor=0.01)
    np.testing.assert_allclose(logs.posteriors, data.posteriors, rtol=1e-12)
    if n_classes == 2:
        one = fp.Predictions.from_posteriors(y, votes[:, 1], floor=0.01)
        np.testing.assert_allclose(one.posteriors, data.posteriors, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("floor", [1e-300, 1e-20, 1e-10, 1e-3])
def test_small_floors_hold_for_both_classes(floor, dtype):
    certain = np.array([0.0, 1.0, 0.0, 1.0], dtype)
    both = np.column_stack([1.0 - certain, certain]).astype(dtype)
    for q in (certain, both):
        data = fp.Predictions.from_posteriors([1, 0, 0, 1], q, floor=floor)
        losses = fp.rules.Log().loss([1, 0, 0, 1], data.log_posteriors)
        np.testing.assert_allclose(losses[:2], -np.log(floor), rtol=1e-3)
        assert fp.CrossEntropy(normalized=False)(data) < np.inf


def test_one_column_is_one_column():
    scores = np.array([-1.0, 2.0, 0.5])
    for make in (fp.Predictions.from_llrs, fp.Predictions.from_raw_scores,
                 fp.Predictions.from_logits):  # fmt: skip
        data = make(np.array([[0], [1], [1]]), scores[:, None])
        np.testing.assert_array_equal(data.scores, scores)
        assert data.y_true.tolist() == [0, 1, 1]
    one = fp.Predictions.from_posteriors([0, 1, 1], [[0.1], [0.8], [0.3]])
    assert one.positive_posteriors.tolist() == [0.1, 0.8, 0.3]
    both = fp.Predictions.from_target_nontarget(scores[:, None], scores[:, None])
    assert len(both) == 6


def test_two_columns_where_one_is_meant():
    q = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    y = [0, 1, 1, 0]
    for metric in (fp.EER(), fp.AUC(), fp.MinDCF(0.1), fp.MinCllr()):
        assert metric(y, q) == metric(y, q[:, 1])
    with pytest.raises(fp.ArgumentError, match=r"the column of class 1, \w+\[:, 1\]"):
        fp.Cllr()(y, q)


# Names of columns, and the order of rows


WORDS = np.array(["a", "b", "b", "a"])
FRAME = {"b": [0.1, 0.8, 0.4, 0.3], "a": [0.9, 0.2, 0.6, 0.7]}
CLASSES = ["a", "b"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("make", ["from_posteriors", "from_logits", "from_log_likelihoods"])
def test_columns_named_as_classes_are_in_their_order(library, make):
    frame = pytest.importorskip(library).DataFrame(FRAME)
    make = getattr(fp.Predictions, make)
    with pytest.raises(fp.ArgumentError, match=r"column 0 .* 'b'.* pass \w+\[\['a', 'b'\]\]$"):
        make(WORDS, frame, classes=CLASSES)
    ordered = make(WORDS, frame[["a", "b"]], classes=CLASSES)
    swapped = make(WORDS, frame, classes=["b", "a"])
    plain = make(WORDS, np.column_stack([FRAME["a"], FRAME["b"]]), classes=CLASSES)
    np.testing.assert_array_equal(ordered.scores, plain.scores)
    np.testing.assert_array_equal(swapped.scores, -plain.scores)
    for metric in (fp.CrossEntropy(), fp.AUC()):
        with pytest.raises(fp.ArgumentError, match="order of the classes"):
            metric(WORDS, frame, classes=np.array(CLASSES))


@pytest.mark.parametrize(
    ("names", "classes", "is_refused"),
    [
        (["x", "y"], CLASSES, False),  # names of something else
        (["b", "x"], CLASSES, True),
        (["a", "x"], CLASSES, False),
        (["1", "0"], None, True),
        (["1", "0"], [0.0, 1.0], True),
        (["1", "2"], None, False),  # the second and third column of a table
        (["a"], CLASSES, True),
        (["b"], CLASSES, False),
        (["0"], None, False),
    ],
)
def test_what_names_of_columns_contradict(names, classes, is_refused):
    polars = pytest.importorskip("polars")
    values = [FRAME["a"], FRAME["b"]][-len(names) :]
    frame = polars.DataFrame(dict(zip(names, values, strict=True)))
    labels = WORDS if classes == CLASSES else [0, 1, 1, 0]
    forms = [frame] if len(names) > 1 else [frame, frame[names[0]]]
    for scores in forms:
        if not is_refused:
            fp.Predictions.from_posteriors(labels, scores, classes=classes)
            continue
        with pytest.raises(fp.ArgumentError) as refused:
            fp.Predictions.from_posteriors(labels, scores, classes=classes)
        if len(names) == 1:  # what it says to do
            assert refused.value.pass_ == {"classes": ["b", "a"]}
            fp.Predictions.from_posteriors(labels, scores, classes=["b", "a"])


def test_rows_with_an_index_are_in_one_order():
    pandas = pytest.importorskip("pandas")
    y, q = pandas.Series([0, 1, 1, 0] * 5), pandas.Series([0.1, 0.8, 0.4, 0.3] * 5)
    order = np.roll(np.arange(20), 4)  # labels do not tell
    data, few = fp.Predictions.from_posteriors(y, q), {"n_resamples": 40, "seed": 0}
    ids = pandas.Series(np.arange(20) // 4)
    moved = ids.iloc[order]
    wrong = {
        "q": lambda: fp.CrossEntropy()(y.iloc[order], q),
        "scores": lambda: fp.EER()(y.iloc[order], q),
        "sample_weight": lambda: fp.CrossEntropy()(y, q.to_numpy(), sample_weight=q.iloc[order]),
        "decisions": lambda: fp.expected_cost(y, y.iloc[order], [[0, 1], [1, 0]]),
        "by['g']": lambda: fp.evaluate(data, by={"g": moved}),
        "ids": lambda: fp.bootstrap(fp.EER(), data, resampling=fp.Clusters(moved), **few),
        "folds": lambda: fp.cross_fit(fp.PAV(), data, fp.CrossFit(folds=moved)),
    }
    for name, call in wrong.items():
        with pytest.raises(fp.ArgumentError) as refused:
            call()
        assert (refused.value.argument, refused.value.index) == (name, 0)
    other = fp.Predictions.from_posteriors(y.iloc[order], q.iloc[order])
    for call in (
        lambda: fp.compare(fp.EER(), data, other, **few),
        lambda: fp.LinearFusion().fit([data.as_llrs(), other.as_llrs()]),
    ):
        with pytest.raises(fp.ArgumentError, match="indexes differ in row 0"):
            call()
    # what the message says to do, and rows that belong together by position
    expected = fp.CrossEntropy()(data)
    assert fp.CrossEntropy()(y.iloc[order], q.loc[y.iloc[order].index]) == pytest.approx(expected)
    for scores in (q.to_numpy(), q.set_axis(np.arange(100, 120)), q.set_axis(list("ab" * 10))):
        assert fp.CrossEntropy()(y.iloc[order].set_axis(y.index), scores) == expected
    fp.evaluate(data, by={"g": ids})
    fp.evaluate(data[::-1], by={"g": moved})  # rows of a selection have no index
    assert pickle.loads(pickle.dumps(data)).row_order is None


class Tensor:
    """What NumPy does not take, as PyTorch's tensors of bfloat16, or with a gradient."""

    def detach(self):
        return self

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Got unsupported ScalarType BFloat16")


def test_messages_with_a_next_step():
    with pytest.raises(fp.ArgumentError, match=r"q\.detach\(\)\.float\(\)\.cpu\(\)\.numpy\(\)"):
        fp.Predictions.from_posteriors([0, 1], Tensor())
    data = fp.Predictions.from_posteriors([0, 1], [0.2, 0.3])
    with pytest.raises(TypeError, match=r"use \.posteriors"):
        np.asarray(data)
    with pytest.raises(ValueError, match="pass them alone"):
        fp.EER()([0, 1], data)


def test_tables_are_normalized_and_in_the_order_of_the_classes(tmp_path):
    polars = pytest.importorskip("polars")
    y, q = softmax(400, 3, np.float64)
    words, q = np.array(["x", "y", "z"])[y], q.round(2)
    table = polars.DataFrame({"label": words, **{name: q[:, k] for k, name in enumerate("xyz")}})
    table.write_parquet(tmp_path / "t.parquet", row_group_size=64)
    table.write_csv(tmp_path / "t.csv")
    options = {"classes": ["x", "y", "z"], "normalize": True, "floor": 0.02}
    expected = fp.BrierScore()(fp.Predictions.from_posteriors(words, q, **options))
    of_parquet = {"y_true": "label", "posteriors": ["x", "y", "z"]}
    calls = [
        ("columns", fp.read_table, tmp_path / "t.csv", {"columns": ["x", "y", "z"]}),
        ("posteriors", fp.scan_parquet, tmp_path / "t.parquet", of_parquet),
    ]
    for argument, read, path, columns in calls:
        assert fp.BrierScore()(read(path, **columns, **options)) == pytest.approx(expected)
        swapped = columns | {argument: ["y", "x", "z"]}
        assert outcome(read, path, **swapped, **options).pass_ == {argument: ["x", "y", "z"]}
