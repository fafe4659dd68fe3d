"""Data as people have it: labels of any kind, rounded posteriors, columns, tensors."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import fastpsr as fp
from tests.commands import fastpsr

MAKE = {
    "from_posteriors": lambda y, **more: fp.Predictions.from_posteriors(
        y, [0.1, 0.8, 0.4, 0.9], **more
    ),
    "from_log_posteriors": lambda y, **more: fp.Predictions.from_log_posteriors(
        y, np.log([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]), **more
    ),
    "from_logits": lambda y, **more: fp.Predictions.from_logits(y, [-1.0, 2.0, 0.1, 3.0], **more),
    "from_log_likelihoods": lambda y, **more: fp.Predictions.from_log_likelihoods(
        y, [[0.0, 1.0], [2.0, 1.0], [0.0, -1.0], [0.0, 0.0]], **more
    ),
    "from_llrs": lambda y, **more: fp.Predictions.from_llrs(y, [-1.0, 2.0, 0.1, 3.0], **more),
    "from_raw_scores": lambda y, **more: fp.Predictions.from_raw_scores(
        y, [-1.0, 2.0, 0.1, 3.0], **more
    ),
}
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


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("make", MAKE)
def test_labels_of_any_kind(make, labels):
    y, classes = LABELS[labels]
    expected = [0, 1, 0, 1]
    assert MAKE[make](y, classes=classes).y_true.tolist() == expected
    swapped = MAKE[make](y, classes=classes[::-1])
    assert swapped.y_true.tolist() == [1 - label for label in expected]


def test_three_classes_one_of_them_absent():
    q = [[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]]
    data = fp.Predictions.from_posteriors(["c", "a"], q, classes=["a", "b", "c"])
    assert data.y_true.tolist() == [2, 0]
    assert fp.CrossEntropy(normalized=False)(["c", "a"], q, classes=["a", "b", "c"]) == (
        pytest.approx(-np.log([0.3, 0.6]).mean(), rel=1e-14)
    )


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize(
    ("y", "shown"),
    [
        (["target", "nontarget"] * 2, "classes=['nontarget', 'target']"),
        ([-1, 1, 1, -1], "classes=[-1, 1]"),
        (np.array([1.0, 2.0] * 2), "classes=[1.0, 2.0]"),
    ],
)
def test_the_message_shows_the_call(make, y, shown):
    with pytest.raises(fp.ArgumentError) as refused:
        MAKE[make](y)
    assert refused.value.argument == "y_true"
    assert refused.value.index in (0, 1)
    assert str(refused.value).endswith(refused.value.remedy)
    assert shown in refused.value.remedy
    assert "[negative, positive]" in refused.value.remedy
    assert shown not in refused.value.problem
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.remedy) == (str(refused.value), refused.value.remedy)


@pytest.mark.parametrize(
    ("y", "classes", "argument", "index"),
    [
        (["a", "b", "x", "a"], ["a", "b"], "y_true", 2),
        ([0, 1, 2, 0], [0, 1], "y_true", 2),
        ([0.0, np.nan, 1.0, 0.0], [0.0, 1.0], "y_true", 1),
        ([0, 1, 0, 1], ["0", "1"], "y_true", 0),
        (["a", None, "b", "a"], ["a", "b"], "y_true", 1),
        (["a", None, "a", None], None, "y_true", 1),  # 'a' is a label, None is none
        (["a", np.nan, "a", "b"], None, "y_true", 1),
        ([2.0, np.nan, 1.0, 1.0], None, "y_true", 1),
        ([1.0, np.nan, 1.0, 1.0], [1.0, np.nan], "y_true", 1),
        (["a", "b", "a", "b"], ["a", "b", "c"], "classes", None),
        (["a", "b", "a", "b"], ["a"], "classes", None),
        (["a", "b", "a", "b"], ["a", "a"], "classes", None),
        (["a", "b", "a", "b"], "ab", "classes", None),
        (["a", "b", "a", "b"], 2, "classes", None),
        (["a", "b", "a", "b"], [["a"], ["b"]], "classes", None),
        (np.array(["a", ["b"], "a", "b"], object), ["a", "b"], "y_true", 1),
    ],
)
def test_labels_that_are_no_class(y, classes, argument, index):
    with pytest.raises(fp.ArgumentError) as refused:
        fp.Predictions.from_llrs(y, [0.0, 1.0, 2.0, 3.0], classes=classes)
    assert (refused.value.argument, refused.value.index) == (argument, index)


def test_only_what_takes_classes_speaks_of_them():
    costs = fp.CostMatrix.zero_one(2)
    for call in (
        lambda: fp.expected_cost(["a", "b"], [0, 1], costs),
        lambda: fp.expected_cost([0, 1], [1, 2], costs),
        lambda: fp.expected_cost([[0, 1, 1]] * 2, [0, 1], costs),
        lambda: fp.rules.Log().loss([1, 2], np.log([[0.5, 0.5]] * 2)),
    ):
        with pytest.raises(ValueError) as refused:
            call()
        assert "classes=" not in str(refused.value)
        assert "column by column" not in str(refused.value)


def test_rank_metrics_name_their_argument():
    for wrong in ([[1], [1, 2]], ["a", "b"], Tensor()):
        with pytest.raises(fp.ArgumentError) as refused:
            fp.EER()([0, 1], wrong)
        assert refused.value.argument == "scores"


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8"])
def test_layouts_change_nothing(n_classes, dtype):
    rng = np.random.default_rng(n_classes)
    votes = rng.integers(0, 5, (300, n_classes)).astype(dtype)
    votes[:, 0] += 1.0
    y = rng.integers(0, n_classes, 300)
    gaps = np.repeat(np.repeat(votes, 2, axis=0), 2, axis=1)[::2, ::2]
    frozen = votes.copy()
    frozen.flags.writeable = False
    forms = [votes, np.asfortranarray(votes), gaps, frozen, votes.tolist(), votes[::-1][::-1]]
    for options in ({"normalize": True}, {"normalize": True, "floor": 0.01}):
        made = [fp.Predictions.from_posteriors(y, form, **options).posteriors for form in forms]
        for one in made[1:]:
            np.testing.assert_array_equal(one, made[0])
    assert votes.sum() == gaps.sum() > 0.0


def test_many_classes_by_name():
    names = np.array([f"class {k}" for k in range(100)])
    y = np.random.default_rng(0).integers(0, 100, 500)
    q = np.full((500, 100), 0.01)
    for labels in (names[y], names[y].astype(object), names[y].tolist()):
        data = fp.Predictions.from_posteriors(labels, q, classes=names)
        np.testing.assert_array_equal(data.y_true, y)


def test_masks_are_not_lost():
    y = np.ma.array([0, 1, 0, 1], mask=[0, 0, 1, 0])
    for classes in (None, [0, 1]):
        with pytest.raises(fp.ArgumentError, match="y_true must not have masked entries"):
            fp.Predictions.from_llrs(y, [0.0, 1.0, 2.0, 3.0], classes=classes)


def test_several_labels_per_sample():
    with pytest.raises(fp.ArgumentError, match=r"column by column, y_true\[:, k\]"):
        fp.Predictions.from_posteriors([[0, 1, 1]] * 2, [[0.2, 0.3, 0.5]] * 2)


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
    with pytest.raises(fp.ArgumentError, match=r"row \d+ sums to .*: pass normalize=True"):
        fp.Predictions.from_posteriors(y, rounded)
    data = fp.Predictions.from_posteriors(y, rounded, normalize=True)
    np.testing.assert_allclose(
        data.posteriors, rounded / rounded.sum(axis=1, keepdims=True), rtol=1e-14
    )
    log_rounded = np.log(np.maximum(rounded, 1e-4))
    with pytest.raises(fp.ArgumentError, match="normalize=True"):
        fp.Predictions.from_log_posteriors(y, log_rounded)
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
    table = fp.evaluate(fp.Predictions.from_posteriors(y, votes))
    (nce,) = (row for row in table.rows if row.metric == "NCE")
    assert nce.value == np.inf
    assert nce.note.endswith(": from_posteriors(..., floor=1e-6) bounds what they cost")
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


@pytest.mark.parametrize("floor", [-0.1, 0.5, np.nan, "x"])
def test_floors_that_leave_no_choice(floor):
    with pytest.raises(ValueError, match="floor must"):
        fp.Predictions.from_posteriors([0, 1], [0.2, 0.3], floor=floor)


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
    for refused in (fp.Predictions.from_llrs, fp.Predictions.from_raw_scores, fp.Cllr()):
        with pytest.raises(fp.ArgumentError, match=r"the column of class 1, \w+\[:, 1\]"):
            refused(y, q)


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


def test_columns_of_tables_are_in_the_order_of_the_classes(tmp_path, monkeypatch):
    polars = pytest.importorskip("polars")
    monkeypatch.chdir(tmp_path)
    table = polars.DataFrame({"label": WORDS, **FRAME})
    table.write_csv("t.csv")
    table.write_parquet("t.parquet")
    calls = [
        ("columns", lambda **more: fp.read_table("t.csv", classes=CLASSES, **more)),
        ("columns", lambda **more: fp.read_table("t.parquet", classes=CLASSES, **more)),
        ("posteriors", lambda **more: fp.scan_parquet(
            "t.parquet", y_true="label", classes=CLASSES, **({"posteriors": ["b", "a"]} | more)
        )),
    ]  # fmt: skip
    for name, call in calls:
        with pytest.raises(fp.ArgumentError) as refused:
            call()
        assert refused.value.pass_ == {name: ["a", "b"]}
        data = call(**refused.value.pass_)
        assert fp.CrossEntropy()(data) == pytest.approx(
            fp.CrossEntropy()(WORDS, np.column_stack([FRAME["a"], FRAME["b"]]), classes=CLASSES)
        )
    outcome = fastpsr("evaluate", "t.csv", "--classes", "a,b")
    assert outcome.code
    assert "pass --columns a,b" in outcome.err
    assert fastpsr("evaluate", "t.csv", "--classes", "a,b", "--columns", "a,b").code == 0


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


def test_several_indexes_of_one_length():
    pandas = pytest.importorskip("pandas")
    y, q = [0, 1, 1], [0.1, 0.8, 0.4]
    pairs = pandas.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    for index in (pairs, ["a", "a", "b"], ["x", "y", "z"], [0.5, np.nan, None]):
        fp.Predictions.from_posteriors(pandas.Series(y), pandas.Series(q, index))
        fp.Predictions.from_posteriors(pandas.Series(y, index), pandas.Series(q, index))
    with pytest.raises(fp.ArgumentError, match=r"is \('b', 1\), and"):
        fp.Predictions.from_posteriors(pandas.Series(y, pairs), pandas.Series(q, pairs[::-1]))
    with pytest.raises(fp.ArgumentError, match=r": pass q.to_numpy\(\)"):  # nothing to align
        fp.Predictions.from_posteriors(
            pandas.Series(y, ["a", "a", "b"]), pandas.Series(q, ["b", "a", "a"])
        )


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


@pytest.mark.parametrize("make", MAKE)
def test_weights_are_called_sample_weight(make):
    with pytest.raises(
        TypeError, match=f"{make} takes no argument weights: did you mean sample_weight"
    ):
        MAKE[make]([0, 1, 0, 1], weights=np.ones(4))


def test_metrics_are_score_functions_of_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import GridSearchCV, cross_val_score

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = (x[:, 0] + rng.normal(size=200) > 0.0).astype(int)
    model = linear_model.LogisticRegression()
    for metric in (fp.CrossEntropy(), fp.BrierScore(), fp.EER()):
        scorer = make_scorer(metric, greater_is_better=False, response_method="predict_proba")
        assert metric.label in repr(scorer)
        scores = cross_val_score(model, x, y, scoring=scorer)
        assert ((scores < 0.0) & (scores > -1.0)).all()
        search = GridSearchCV(model, {"C": [0.01, 1.0]}, scoring=scorer, error_score="raise")
        assert search.fit(x, y).best_params_["C"] in (0.01, 1.0)


def test_clones_of_calibrators_are_not_fitted():
    base = pytest.importorskip("sklearn.base")
    data = fp.simulate.gaussian(500, seed=0) if hasattr(fp.simulate, "gaussian") else None
    data = data or fp.Predictions.from_llrs([0, 1, 0, 1, 1, 0], [-1.0, 0.5, 0.7, 2.0, -0.3, 0.1])
    for calibrator in (fp.PAV(floor=0.01), fp.DirectionPreserving(), fp.TemperatureScaling(),
                       fp.HistogramBinning(bins=3)):  # fmt: skip
        fitted = calibrator.fit(data)
        clone = base.clone(fitted)
        assert type(clone) is type(calibrator)
        assert not hasattr(clone, "domain_")
        assert not any(hasattr(clone, name) for name in calibrator.fitted_names)
        assert getattr(clone, "floor", None) == getattr(calibrator, "floor", None)
        np.testing.assert_array_equal(
            clone.fit(data).transform(data).scores, fitted.transform(data).scores
        )


@pytest.mark.parametrize("n", [60, 2_000])
@pytest.mark.parametrize("train", [fp.TrainOnTest(), fp.CrossFit(3)])
def test_a_class_missing_from_the_test_set(n, train):
    rng = np.random.default_rng(n)
    z = rng.normal(size=(n, 4))
    y = (z + rng.gumbel(size=z.shape))[:, :3].argmax(axis=1)  # never class 3
    data = fp.Predictions.from_logits(y, 2.5 * z)
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.TemperatureScaling(), train)(data)
    assert 0.0 < loss < 100.0
    fitted = fp.TemperatureScaling().fit(data)

    def risk(scale):
        scaled = scale * data.log_posteriors
        return (np.log(np.exp(scaled).sum(axis=1)) - scaled[np.arange(n), y]).mean()

    best = minimize_scalar(risk, bracket=(0.1, 1.0), tol=1e-12)
    assert fitted.scale_ == pytest.approx(best.x, rel=1e-6)
    with pytest.raises(ValueError, match="class 3 has none"):
        fp.DirectionPreserving().fit(data)
    likelihoods = fp.Predictions.from_log_likelihoods(y, z)
    with pytest.raises(ValueError, match="class 3 has none"):
        fp.TemperatureScaling().fit(likelihoods)


def test_a_temperature_needs_scores_that_differ_and_overlap():
    y = np.arange(30) % 3
    alike = fp.Predictions.from_logits(y, np.zeros((30, 3)))
    with pytest.raises(ValueError, match="all are alike"):
        fp.TemperatureScaling().fit(alike)
    right = fp.Predictions.from_logits(y, 3.0 * np.eye(3)[y])
    with pytest.raises(ValueError, match="separate the classes perfectly"):
        fp.TemperatureScaling().fit(right)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = fp.Predictions.from_logits(y, 3.0 * np.eye(3)[(y + (np.arange(30) < 20)) % 3])
        assert np.isfinite(fp.TemperatureScaling().fit(wrong).scale_)


@pytest.mark.parametrize("options", [{"normalize": True}, {"normalize": True, "floor": 0.02}])
def test_rounded_posteriors_in_parts(options, tmp_path):
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    y, q = softmax(400, 3, np.float64)
    q = q.round(2)
    words = np.array(["x", "y", "z"])[y]
    table = pl.DataFrame({"target": words, **{name: q[:, k] for k, name in enumerate("abc")}})
    table.write_parquet(tmp_path / "t.parquet", row_group_size=64)
    named = {"posteriors": ["a", "b", "c"], "classes": ["x", "y", "z"]}
    data = fp.scan_parquet(tmp_path / "t.parquet", **named, **options)
    whole = fp.Predictions.from_posteriors(words, q, classes=["x", "y", "z"], **options)
    for metric in (fp.BrierScore(), fp.ECE(on="confidence")):
        assert metric(data) == pytest.approx(metric(whole), rel=1e-12)
    with pytest.raises(fp.ArgumentError, match="normalize=True"):
        fp.BrierScore()(fp.scan_parquet(tmp_path / "t.parquet", **named))
    with pytest.raises(fp.ArgumentError, match="floor is for posteriors, not for llrs"):
        fp.scan_parquet(tmp_path / "t.parquet", llrs="a", floor=0.1)


@pytest.mark.parametrize("as_given", [np.asarray, np.ndarray.tolist], ids=["array", "lists"])
def test_several_labels_per_row_are_refused_before_their_posteriors(as_given):
    rng = np.random.default_rng(0)
    labels, q = rng.integers(0, 2, (20, 3)), rng.random((20, 3))
    with pytest.raises(fp.ArgumentError, match=r"^y_true must be 1-dimensional.*\[:, k\]"):
        fp.Predictions.from_posteriors(as_given(labels), q)
    with pytest.raises(fp.ArgumentError, match=r"^y_true must be 1-dimensional"):
        fp.Predictions.from_log_posteriors(as_given(labels), np.log(q))


def test_a_missing_class_names_the_calibrator_that_can_do_without():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    table = fp.evaluate(fp.Predictions.from_logits(y, rng.normal(size=(200, 4)) + np.eye(4)[y]))
    assert table.row("RCL").note.endswith(": TemperatureScaling() can do without")
