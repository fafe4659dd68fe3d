"""What public reports and new users ran into, through public calls."""

import json

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import fastpsr as fp
from tests.commands import fastpsr, succeed
from tests.figures import notes_of
from tests.refusal import refuses

NOT_TO_BE_USED = "an interval up to 1, the range of the metric, which is not to be used"


def normal(n, distance, seed=1):
    """LLRs of `n` samples of each class."""
    rng, y = np.random.default_rng(seed), np.repeat([0, 1], n)
    return fp.Predictions.from_llrs(y, rng.normal(size=2 * n) + distance * (y - 0.5))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_interval_that_only_the_range_bounds_says_so_wherever_it_is(tmp_path):
    few, metric = normal(12, 2.0, 2), fp.MinDCF(0.5)
    assert NOT_TO_BE_USED in repr(fp.bootstrap(metric, few, seed=0))
    table = fp.evaluate(few, metric, n_resamples=40, seed=0)
    assert table.rows[0].high == 1.0
    assert f"minDCF(0.5) has {NOT_TO_BE_USED}" in str(table)
    assert NOT_TO_BE_USED in table.to_frame()["note"][0]
    table.write(tmp_path / "t.json")
    assert NOT_TO_BE_USED in json.loads((tmp_path / "t.json").read_text())["rows"][0]["note"]
    table.to_report(tmp_path / "t.html", few)
    assert "interval not to be used" in (tmp_path / "t.html").read_text()
    systems = fp.evaluate({"a": few, "b": few}, metric, n_resamples=40, seed=0)
    assert f"b: minDCF(0.5) has {NOT_TO_BE_USED}" in str(systems)


def test_replicates_are_fewer_by_default_where_no_interval_needs_them():
    data = normal(200, 1.0)
    by_subsampling, by_percentile = (
        fp.compare("AUC", data, normal(200, 1.0, 2), method=method, seed=0)
        for method in ("auto", "percentile")
    )
    assert (by_subsampling.n_resamples, by_percentile.n_resamples) == (200, 1000)
    many = fp.compare("AUC", data, normal(200, 1.0, 2), n_resamples=1000, seed=0)
    assert many.interval == by_subsampling.interval
    assert many.n_resamples == 1000
    assert fp.bootstrap("AUC", data, confidence_level=0.995, seed=0).n_resamples == 400
    assert fp.bootstrap(["AUC", fp.Cllr()], data, seed=0)[0].n_resamples == 1000


def test_progress_of_refits_is_told_in_steps():
    data = normal(80, 1.0)
    done = []
    fp.select(
        data, {"dp": fp.DirectionPreserving()}, n_resamples=100, seed=0,
        progress=lambda now, total: done.append(now / total),
    )  # fmt: skip
    assert np.diff([0.0, *done]).max() <= 0.2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_remedies_for_one_sample_of_a_class_work(n_classes):
    rng = np.random.default_rng(0)

    def data_of(sizes):
        y = np.repeat(np.arange(n_classes), sizes)
        gammas = rng.gamma(1.0 + 2.0 * np.eye(n_classes)[y])
        return fp.Predictions.from_posteriors(y, gammas / gammas.sum(axis=1, keepdims=True))

    sizes = [20] * (n_classes - 1)
    one, two, others = (data_of([*sizes, last]) for last in (1, 2, 20))

    def loss(data, *settings):
        return fp.CalibrationLoss(fp.rules.Log(), *settings)(data)

    note = fp.evaluate(one, "RCL").rows[0].note
    assert "add samples of this class, or train on others with HeldOut(predictions)" in note
    assert np.isfinite(loss(others, fp.DirectionPreserving()))
    assert np.isfinite(loss(one, fp.DirectionPreserving(), fp.HeldOut(others)))
    assert ("or fit TemperatureScaling() to the folds of samples" in note) == (n_classes > 2)
    if n_classes > 2:
        folds = fp.CrossFit(folds=np.arange(len(one)) % 5)
        assert np.isfinite(loss(one, fp.TemperatureScaling(), folds))
    with pytest.raises(fp.ArgumentError) as refused:
        loss(two, fp.TemperatureScaling())
    assert "pass CrossFit(2)" in refused.value.remedy
    assert np.isfinite(loss(two, fp.TemperatureScaling(), fp.CrossFit(2)))


@pytest.mark.parametrize("separator", [" ", "   "])
def test_blanks_between_columns_of_tables_are_named(tmp_path, separator):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(separator.join(line) for line in (["label", "q"], ["0", ".2"])))
    with pytest.raises(fp.ArgumentError, match="save it again with commas") as refused:
        fp.read_table(path)
    assert "line 1 has blanks" in refused.value.rule


def test_a_name_may_hold_blanks(tmp_path):
    (tmp_path / "t.csv").write_text("P of 1\n.25\n.5\n")
    with pytest.raises(fp.ArgumentError, match="has no labels"):
        fp.read_table(tmp_path / "t.csv")


def test_operating_points_do_not_widen_the_axes_of_the_det():
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 500)
    data = fp.Predictions.from_llrs(y, rng.normal(size=1000) + 2.0 * y - 2.5)
    plain, marked = (
        fp.plotting.det(data, ax=Figure().subplots(), operating_points=points)
        for points in ((), (fp.MinDCF(0.5), fp.ActDCF(0.5)))
    )
    assert marked.get_xlim() == plain.get_xlim()
    assert marked.get_ylim() == plain.get_ylim()
    notes = [notes_of(ax) for ax in (plain, marked)]
    assert ["operating points beyond the axes" in each for each in notes] == [False, True]


def test_a_metric_needs_no_list():
    data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    table = str(fp.evaluate(data, ["NCE"]))
    assert str(fp.evaluate(data, "NCE")) == str(fp.evaluate(data, fp.CrossEntropy())) == table
    with pytest.raises(fp.ArgumentError, match="must be a metric, or a dict or a list of them"):
        fp.evaluate(data, 3)


def test_a_prompt_shows_no_long_arrays():
    data = normal(100, 1.0)
    chosen = fp.select(data, {"none": None})
    assert repr(chosen) == str(chosen)
    for each in (fp.roc(data), fp.bayes_error(data), fp.simulate.trial_list(20, 200, seed=0)):
        assert "shape (" in repr(each)
        assert len(repr(each)) < 800
    point = repr(fp.EER().operating_point(data))
    assert point.startswith("OperatingPoint(threshold=")


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_the_first_integer_that_a_float_rounds_is_named_among_many(dtype):
    scores = 2**53 + 1024 * np.arange(100_000, dtype=dtype)
    y = np.arange(scores.size) % 2
    fp.Predictions.from_raw_scores(y, scores)
    scores[-2:] = 2**53 + 1, np.iinfo(dtype).max
    with refuses("scores", index=scores.size - 2, value="9007199254740993"):
        fp.Predictions.from_raw_scores(y, scores)
    with refuses("scores", index=0, value=str(np.iinfo(dtype).max)):
        fp.Predictions.from_raw_scores([1], scores[-1:])
    with refuses("scores", index=None):
        fp.Predictions.from_raw_scores([1], scores[-1])


def test_logits_that_a_float_rounds_are_named_with_their_column():
    z = np.array([[0, 1], [5, 2**53 + 1]])
    for logits in (z, z.tolist(), z.astype(object)):
        with refuses("z", index=1, column=1, value=str(2**53 + 1)) as refused:
            fp.Predictions.from_logits([0, 1], logits)
        assert refused.value.remedy == "subtract a constant from each row"
    fp.Predictions.from_logits([0, 1], z - z.max(axis=1, keepdims=True))


def test_the_stray_label_is_named_with_its_line(tmp_path):
    labels = ["0", "1"] * 20
    labels[17] = "oops"
    with refuses("y_true", index=17, value="'oops'"):
        fp.Predictions.from_posteriors(labels, np.full(40, 0.5), classes=[0, 1])
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["label,q", *(f"{label},.5" for label in labels)]))
    assert "label[17] is 'oops' (line 19)" in fastpsr("evaluate", path, "--classes", "0,1").err


def test_a_comment_above_the_header_is_named(tmp_path):
    path, table = tmp_path / "t.csv", "label,q\n0,.2\n1,.7\n"
    path.write_text("made on Monday\n" + table)
    with pytest.raises(fp.ArgumentError, match="remove line 1 if it is no header") as refused:
        fp.read_table(path)
    assert "t.csv:2: there must be 1 column, as in the header, not 2" in str(refused.value)
    path.write_text(table)
    assert len(fp.read_table(path)) == 2
    path.write_text(table.replace("\n", "\na comment\n", 1))
    with pytest.raises(fp.ArgumentError, match=r"t.csv:2: there must be 2 columns.*'a comment'"):
        fp.read_table(path)


def test_unknown_words_for_labels_are_the_cause_where_scores_have_one_id(tmp_path):
    path, lines = tmp_path / "f.csv", ["filename,score,label", "a,.2,0", "b,.7,1", "c,.4,0"]
    path.write_text("\n".join(lines))
    options = ["--scores-are", "raw", "--metrics", "EER"]
    succeed("evaluate", "--scores", path, *options)
    path.write_text("\n".join(lines).replace(",0", ",fake").replace(",1", ",real"))
    shown = fastpsr("evaluate", "--scores", path, *options).err
    assert "f.csv:2: a label must be one of" in shown
    assert "not 'fake': replace it in the file" in shown


def test_many_classes_are_abbreviated_and_put_in_order():
    classes = [f"class {k}" for k in range(1000)]
    y, q = ["class 1", "class 0"], pd.DataFrame(np.full((2, 1000), 0.001), columns=classes[::-1])
    with refuses("q", remedy="pass q[list(classes)]"):
        fp.Predictions.from_posteriors(y, q, classes=classes)
    fp.Predictions.from_posteriors(y, q[list(classes)], classes=classes)
    with refuses("y_true", index=1, value="'zzz'") as refused:
        fp.Predictions.from_posteriors(["class 1", "zzz"], q.to_numpy(), classes=classes)
    assert "'class 2', ..., 'class 999' (1,000 classes)" in refused.value.rule
