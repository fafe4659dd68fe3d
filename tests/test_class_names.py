"""Classes keep the labels that the caller gave them, from the constructor to files and messages."""

import numpy as np
import polars as pl
import pytest

import fastpsr as fp
from tests.contract import registry

NAMES = ["cat", "dog", "eel"]
RNG = np.random.default_rng(5)
Y = RNG.integers(0, 3, 300)
Q = RNG.dirichlet(np.ones(3) + 4 * np.eye(3)[0], 300)
WORDS = np.array(NAMES)[Y]
DATA = fp.Predictions.from_posteriors(WORDS, Q, classes=NAMES)
ERRORS = 1.0 - np.eye(3)
BINARY = fp.Predictions.from_posteriors(
    np.where(Y == 0, "yes", "no"), Q[:, 0], classes=["no", "yes"]
)


@pytest.mark.parametrize(
    ("y", "q", "classes", "names"),
    [
        (WORDS, Q, NAMES, tuple(NAMES)),
        (WORDS, pl.DataFrame(Q, NAMES), None, tuple(NAMES)),
        (Y, pl.DataFrame(Q, NAMES), None, None),
        (Y.astype(object), pl.DataFrame(Q, NAMES), None, None),
        (Y + 5, Q, [5, 6, 7], ("5", "6", "7")),
        (Y, Q, [0, 1, 2], None),
        (Y, pl.DataFrame(Q, ["q0", "q1", "q2"]), None, None),
        (Y, Q, None, None),
    ],
)
def test_names_come_from_classes_or_from_columns(y, q, classes, names):
    data = fp.Predictions.from_posteriors(y, q, classes=classes)
    assert data.class_names == names
    assert np.array_equal(data.y_true, Y)


def test_words_without_names_are_still_refused():
    with pytest.raises(ValueError, match="y_true"):
        fp.Predictions.from_posteriors(WORDS, Q)
    with pytest.raises(ValueError, match=r"classes=\['cat', 'dog', 'eel'\]"):
        fp.Predictions.from_posteriors(WORDS, pl.DataFrame(Q, ["p_cat", "p_dog", "p_eel"]))


@pytest.mark.parametrize("metric", [fp.AUC, fp.AveragePrecision])
def test_metrics_take_a_class_by_its_label_in_memory_and_in_parts(metric):
    parts = fp.from_parts([DATA[:100], DATA[100:]])
    assert metric("dog")(DATA) == metric("dog")(parts) == metric(1)(DATA)
    assert metric("dog").label == f"{metric().label}(dog)"
    assert fp.roc(DATA, class_="eel").threshold.size == fp.roc(DATA, class_=2).threshold.size
    with pytest.raises(ValueError, match=r"class_ must be 'macro'.*'dog'.*0 to 2, not 'fox'"):
        metric("fox")(DATA)


def test_subsets_and_parts_keep_names():
    parts = fp.from_parts([DATA[:100], DATA[100:]])
    for data in (DATA[::2], parts, parts.compute()):
        assert data.class_names == tuple(NAMES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", registry.CALIBRATOR_KINDS)
def test_every_calibrator_keeps_names(kind):
    calibrator = registry.calibrators(kind)[0]
    fitted = calibrator.fit(BINARY)
    parts = fp.from_parts([BINARY[:100], BINARY[100:]])
    for data in (
        fitted.transform(BINARY),
        fp.cross_fit(calibrator, BINARY),
        fitted.transform(parts),
    ):
        assert data.class_names == fitted.class_names_ == ("no", "yes")


def test_parquet_files_name_classes(tmp_path):
    table = pl.DataFrame(Q, ["p", "q", "r"]).with_columns(animal=pl.Series(WORDS))
    table.write_parquet(tmp_path / "t.parquet")
    data = fp.scan_parquet(
        tmp_path / "t.parquet", y_true="animal", posteriors=["p", "q", "r"], classes=NAMES
    )
    assert data.class_names == data.compute().class_names == tuple(NAMES)


def test_classes_named_as_a_mean_are_taken_by_number():
    labels = np.array(["cat", "dog", "macro"])
    named = fp.Predictions.from_posteriors(labels[Y], Q, classes=labels)
    with pytest.raises(ValueError, match="'macro' is the name of a class and of a mean"):
        fp.AUC("macro")(named)
    ovo = fp.Predictions.from_posteriors(WORDS, Q, classes=NAMES)
    with pytest.raises(ValueError, match="class_ must be 'macro' or 'weighted' or 'cat'"):
        fp.AveragePrecision("ovo")(ovo)


def test_parts_without_names_go_with_named_parts():
    unnamed = fp.Predictions.from_posteriors(Y, Q)
    for parts in ([DATA, unnamed], [unnamed, DATA]):
        assert fp.CrossEntropy()(fp.from_parts(parts)) == pytest.approx(fp.CrossEntropy()(DATA))


def test_parts_of_other_classes_are_refused():
    other = fp.Predictions.from_posteriors(WORDS, Q, classes=["dog", "cat", "eel"])
    with pytest.raises(ValueError, match="agree in class_names"):
        fp.CrossEntropy()(fp.from_parts([DATA, other]))


def test_messages_name_the_class():
    without_dogs = DATA[DATA.y_true != 1]
    with pytest.raises(ValueError, match="samples of class 'dog' for AUC"):
        fp.AUC("macro")(without_dogs)
    with pytest.raises(ValueError, match="every class, but class 'dog' has none"):
        fp.DirectionPreserving().fit(without_dogs)


def test_saved_calibrators_know_their_classes(tmp_path):
    groups = {"g": Y % 2}
    likelihoods = fp.Predictions.from_log_likelihoods(WORDS, np.log(Q), classes=NAMES)
    by_group = fp.ByCondition(fp.TemperatureScaling(), min_per_class=5)
    for fitted, data, more in (
        (fp.TemperatureScaling().fit(DATA), DATA, ()),
        (by_group.fit(DATA, groups), DATA, (groups,)),
        (fp.LinearFusion().fit([likelihoods]), likelihoods, ()),
    ):
        fp.save_calibrator(fitted, tmp_path / "c.json")
        loaded = fp.load_calibrator(tmp_path / "c.json")
        swapped, unnamed = data[:], data[:]
        swapped.class_names, unnamed.class_names = ("dog", "cat", "eel"), None
        for other in (data, unnamed, swapped):
            given = [other] if isinstance(fitted, fp.LinearFusion) else other
            if other is swapped:
                with pytest.raises(ValueError, match=r"'cat', 'dog', 'eel'\), not \('dog', 'cat'"):
                    loaded.transform(given, *more)
            else:
                assert len(loaded.transform(given, *more)) == len(data)


def test_expected_cost_takes_labels():
    decisions = fp.bayes_decisions(DATA, ERRORS)
    expected = fp.expected_cost(Y, decisions, ERRORS)
    named = np.array(NAMES)[decisions]
    assert fp.expected_cost(WORDS, named, ERRORS, classes=NAMES) == expected
    assert fp.expected_cost(WORDS, decisions, ERRORS, classes=NAMES) == expected
    assert fp.expected_cost(Y + 5, decisions + 5, ERRORS, classes=[5, 6, 7]) == expected
    with pytest.raises(ValueError, match="decisions"):
        fp.expected_cost(WORDS, ["fox"] * 300, ERRORS, classes=NAMES)
    with_reject = np.column_stack([ERRORS, np.full(3, 0.2)])
    cost = fp.expected_cost(Y, decisions, with_reject)
    assert fp.expected_cost(WORDS, decisions, with_reject, classes=NAMES) == cost


def test_tables_and_figures_show_names():
    import matplotlib.pyplot as plt

    one = fp.evaluate(DATA, [fp.CrossEntropy()])
    for k, name in enumerate(NAMES):
        assert f"{DATA.priors[k]:.4g} {name}" in str(one)
    axes = fp.plotting.reliability(DATA, on="class", band=None)
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert [label.split(" (")[0] for label in labels[:3]] == [*NAMES]
    plt.close(axes.figure)
    words = np.array(["benign", "malignant"])[(Y == 0) * 1]
    binary = fp.Predictions.from_posteriors(words, Q[:, 0], classes=["benign", "malignant"])
    table = str(fp.evaluate({"a": binary, "b": binary[:]}, [fp.CrossEntropy()]))
    assert "malignant" in table
    assert "targets" not in table


@pytest.mark.parametrize(
    ("make", "words"),
    [("from_posteriors", ("positives", "negatives")), ("from_llrs", ("targets", "non-targets"))],
)
def test_classes_without_names_are_positives_where_data_are_not_trials(make, words):
    scores = Q[:, 0] if make == "from_posteriors" else RNG.normal(size=300)
    data = getattr(fp.Predictions, make)(Y == 0, scores)
    table = str(fp.evaluate({"a": data, "b": data[:]}, [fp.CrossEntropy()]))
    assert all(f"\n{word}  " in table for word in words)
