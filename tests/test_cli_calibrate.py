"""`fastpsr calibrate`: what it writes are the scores that the library returns."""

import json
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.calibration import CALIBRATORS
from tests.commands import check_refusal, data, fastpsr, read, succeed, write
from tests.golden.files import write_files


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# Tables


@pytest.mark.parametrize(
    ("calibrator", "scores_are", "n_classes", "ending", "column"),
    [
        ("dp", "logits", 2, ".npz", "log_odds"), ("matrix", "logits", 3, ".csv", "log_posterior"),
        ("vector", "log-likelihoods", 3, ".parquet", "log_likelihood"),
        ("pav", "llr", 2, ".csv", "llr"), ("beta", "logits", 2, ".parquet", "log_odds"),
        ("histogram", "llr", 2, ".npz", "llr"), ("venn-abers", "raw", 2, ".csv", "llr"),
    ],
)  # fmt: skip
def test_tables(calibrator, scores_are, n_classes, ending, column):
    """Trained and applied, saved and loaded, and cross-fitted."""
    kind = {"log-likelihoods": "likelihoods", "llr": "llrs", "raw": "raw scores"}
    kind = kind.get(scores_are, scores_are)
    sets = []
    for name, seed in (("train", 0), ("new", 1)):
        y, z, _ = data(n_classes, seed=seed)
        scores = z[:, 1] - z[:, 0] if kind in ("llrs", "raw scores") else z
        write(f"{name}.npz", y_true=y, s=scores)
        sets.append(fp.Predictions.of(kind, y, scores))
    write("unlabeled.npz", s=scores)
    are = ["--scores-are", scores_are]
    train = ["calibrate", "train.npz", "--calibrator", calibrator, *are]
    succeed(*train, "--apply", "new.npz", "--output", f"a{ending}", "--save", "map.json")
    apply = ["calibrate", "--load", "map.json", *are, "--apply", "unlabeled.npz"]
    succeed(*apply, "--output", f"b{ending}")
    succeed(*train, "--output", f"c{ending}", "--folds", 3)
    untrained = CALIBRATORS[calibrator]()
    expected = untrained.fit(sets[0]).transform(sets[1])
    crossed = fp.cross_fit(untrained, sets[0], fp.CrossFit(3))
    for file, labels, predictions in (
        ("a", sets[1].labels, expected), ("b", None, expected), ("c", sets[0].labels, crossed)
    ):  # fmt: skip
        columns = read(f"{file}{ending}")
        assert list(columns) == ([column] if labels is None else ["y_true", column])
        np.testing.assert_array_equal(columns[column], predictions.scores)  # bit for bit
        if labels is not None:
            np.testing.assert_array_equal(columns["y_true"], labels)


def test_infinite_scores_are_read_and_counted():
    Path("s.csv").write_text("label,llr\n0,-inf\n1, 0.5\n0,-1\n1,Infinity\n", "utf-8")
    run = ["calibrate", "s.csv", "--scores-are", "llr", "--calibrator", "pav", "--apply", "s.csv"]
    out = succeed(*run, "--output", "o.csv")
    assert (
        "o.csv: 4 rows of llr (natural logarithms), and of 1 other column; scores that are -inf"
        in out
    )
    assert polars.read_csv("o.csv")["llr"].to_list() == [-np.inf, np.inf, -np.inf, np.inf]


# Trials

TRIALS = ("calibrate", "--key", "key", "--scores", "a.txt")


@pytest.fixture
def trials():
    write_files()
    return fp.trials.read("key", "a.txt")


def written(path):
    """Return the scores of a file, whose ids must be those of the key, in its order."""
    rows, ids = ([line.split() for line in Path(name).read_text("utf-8").splitlines()]
                 for name in (path, "key"))  # fmt: skip
    assert [row[:2] for row in rows] == [row[:2] for row in ids]
    return [float(row[2]) for row in rows]


@pytest.mark.parametrize("scores_are", ["llr", "log10-llr", "posteriors", "raw"])
def test_trials(trials, scores_are):
    kind = {"llr": "llrs", "log10-llr": "log10 llrs", "raw": "raw scores"}.get(
        scores_are, scores_are
    )
    scores = trials.score
    if kind == "posteriors":
        scores = 1.0 / (1.0 + np.exp(-scores))
        lines = (line.split()[:2] for line in Path("key").read_text("utf-8").splitlines())
        text = "".join(f"{e} {t} {x!r}\n" for (e, t), x in zip(lines, scores.tolist(), strict=True))
        Path("a.txt").write_text(text, "utf-8")
    predictions = fp.Predictions.of(kind, trials.y_true, scores)
    run = [*TRIALS, "--scores-are", scores_are, "--output", "o"]
    succeed(*run, "--speakers", "pattern:^[^/]+", "--folds", "4")
    ids = [line.split()[:2] for line in Path("key").read_text("utf-8").splitlines()]
    groups = tuple([pair[side].split("/")[0] for pair in ids] for side in (0, 1))
    crossed = fp.cross_fit(fp.DirectionPreserving(), predictions, fp.CrossFit(4, groups=groups))
    assert written("o") == pytest.approx(crossed.llrs.tolist(), rel=1e-9)
    succeed(*run, "--apply", "a.txt", "--save", "map.json")
    expected = fp.DirectionPreserving().fit(predictions).transform(predictions).llrs
    assert written("o") == pytest.approx(expected.tolist(), rel=1e-9)
    load = ["calibrate", "--load", "map.json", "--apply", "a.txt", "--output", "p"]
    if kind == "posteriors":
        check_refusal({}, [*load, "--scores-are", "posteriors"], ["--scores-are posteriors"])
    else:
        assert f"scores taken as {scores_are}\n" in succeed(*load)  # which the file knows
        assert written("p") == written("o")


@pytest.mark.parametrize("name", CALIBRATORS)
def test_floor_and_prior(trials, name):
    """The option reaches the calibrator, or is refused if this has none."""
    maker, llrs = CALIBRATORS[name], trials.predictions("llr")
    run = [*TRIALS, "--output", "o", "--save", "map.json", "--calibrator", name]
    for option in ("floor", "prior"):
        if hasattr(maker(), option):
            succeed(*run, f"--{option}", "0.03")
            untrained = maker(**{option: 0.03})
            assert written("o") == pytest.approx(fp.cross_fit(untrained, llrs).llrs, rel=1e-12)
            assert repr(fp.load_calibrator("map.json")) == repr(untrained.fit(llrs))
        else:
            message = f"--{option} has no effect on --calibrator {name}"
            assert fastpsr(*run, f"--{option}", "0.03").err == f"error: {message}\n"


def test_formats_of_trials(trials):
    """Scores are written in the format that they were read in, or not at all."""
    ids = [line.split()[:2] for line in Path("key").read_text("utf-8").splitlines()]
    columns = dict(zip(("enroll", "test"), np.array(ids).T, strict=True), llr=trials.score)
    np.savez("s.npz", **columns)
    polars.DataFrame(columns).write_csv("s.csv")
    polars.DataFrame(columns).write_parquet("s.parquet")
    expected = fp.cross_fit(fp.DirectionPreserving(), trials.predictions("llr")).llrs
    endings = [("a.txt", "o.tsv", "o.csv.gz"), ("s.npz", "o.npz", "o.txt"),
               ("s.csv", "o.csv", "o.tsv"), ("s.parquet", "o.parquet", "o.h5")]  # fmt: skip
    for scores, good, bad in endings:
        run = [*TRIALS[:4], scores, "--output"]
        words = [f"--output must not end in .{bad.split('.')[1]}, as {bad}", ": end it in "]
        check_refusal({}, [*run, bad], words)
        succeed(*run, good)
        found = fp.trials.read_scores(good)
        assert found.score == pytest.approx(expected)
        assert found.y_true is None  # labels of the key do not leak
    save = ["calibrate", "labeled.txt", "--save", "map.json"]
    assert succeed(*save) == succeed("calibrate", "--scores", *save[1:])
    load = ["calibrate", "--load", "map.json", "--apply", "s.csv", "--output", "o.csv"]
    check_refusal({}, load, ["s.csv", "--columns"])
    assert "s.csv: csv; enroll: enroll" in succeed(*load, "--format", "csv")


def test_scores_of_targets_and_of_nontargets(trials):
    y = trials.y_true == 1
    rows = np.concatenate([np.flatnonzero(y), np.flatnonzero(~y)])
    succeed("calibrate", "--key", "target=tar.txt", "--key", "nontarget=non.txt", "--output", "o")
    llrs = fp.Predictions.from_llrs(trials.y_true[rows], trials.score[rows])
    assert np.loadtxt("o") == pytest.approx(fp.cross_fit(fp.DirectionPreserving(), llrs).llrs)


# By condition

SETTINGS = ("--by", "gender,seconds:2", "--min-per-class", "12")
MAKER = fp.ByCondition(min_per_class=12, bins={"seconds": 2})


@pytest.fixture
def conditions(trials):
    frame = polars.read_csv("nist.tsv", separator="\t")
    by = {"gender": frame["gender"].to_numpy(), "seconds": frame["seconds"].to_numpy()}
    scores = frame.select("modelid", "segmentid").with_columns(
        score=trials.score, gender=frame["gender"], seconds=frame["seconds"]
    )
    scores.write_csv("new.tsv", separator="\t")
    return by


def scores_of(path):
    return polars.read_csv(path, separator="\t")["score"].to_list()


def test_cross_fitted_by_condition(trials, conditions):
    run = ["calibrate", "--key", "nist.tsv", "--scores", "new.tsv", *SETTINGS, "--folds", 4]
    out = succeed(*run, "--output", "o.tsv")
    llrs = trials.predictions("llr")
    expected = fp.cross_fit(MAKER, llrs, fp.CrossFit(4), by=conditions)
    assert scores_of("o.tsv") == pytest.approx(expected.llrs.tolist())
    assert str(MAKER.fit(llrs, conditions)) in out
    pooled = fp.cross_fit(fp.DirectionPreserving(), llrs, fp.CrossFit(4))
    one, own = (fp.CrossEntropy()(each) for each in (pooled, expected))
    assert f"cross-fitted NCE: one calibrator for all {one:.4f}, by condition {own:.4f}\n" in out


def test_applied_and_saved_by_condition(trials, conditions):
    run = ["calibrate", "--key", "nist.tsv", "--scores", "a.txt", *SETTINGS]
    succeed(*run, "--apply", "new.tsv", "--output", "o.tsv", "--save", "map.json")
    llrs = trials.predictions("llr")
    expected = MAKER.fit(llrs, conditions).transform(llrs, conditions)
    assert scores_of("o.tsv") == pytest.approx(expected.llrs.tolist())
    load = ["calibrate", "--load", "map.json", "--apply", "new.tsv", "--output", "p.tsv"]
    check_refusal(
        {}, load, ["p.tsv must end in", "; scores of trials in such a file need --format"]
    )
    succeed(*load, "--format", "nist")
    assert scores_of("p.tsv") == scores_of("o.tsv")
    check_refusal(
        {}, [*run, "--apply", "a.txt", "--output", "q"], ["a.txt: --by must name a column"]
    )
    columns = json.loads(Path("map.json").read_text("utf-8"))
    assert columns["calibrator"] == "ByCondition"
    new = Path("new.tsv").read_text("utf-8").replace("\tf\t", "\tx\t", 3)
    Path("new.tsv").write_text(new, "utf-8")
    outcome = fastpsr(*run, "--apply", "new.tsv", "--output", "o.tsv")
    assert "3 samples are of conditions that the training data do not have" in outcome.err


def test_tables_by_condition(trials, conditions):
    y, llrs = trials.y_true, trials.score
    write("t.csv", y_true=y, llr=llrs, **conditions)
    run = ["calibrate", "t.csv", "--columns", "llr", "--scores-are", "llr"]
    run += [*SETTINGS[2:], "--by", "gender", "--by", "seconds:2"]
    predictions = fp.Predictions.from_llrs(y, llrs)
    write("u.csv", llr=llrs, **conditions)
    succeed(*run, "--apply", "u.csv", "--output", "o.csv")
    expected = MAKER.fit(predictions, conditions).transform(predictions, conditions).llrs
    assert polars.read_csv("o.csv")["llr"].to_list() == pytest.approx(expected.tolist())


# Columns beside the scores

OF_SCORES = ("--columns", "z", "--scores-are", "logits")


@pytest.mark.parametrize("source", ["csv", "parquet"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_other_columns_come_out_as_they_went_in(source, ending):
    y, z, w = data()
    frame = polars.DataFrame({
        "id": [f"{k:03d}" for k in range(y.size)],
        "label": np.array(["no", "yes"])[y],
        "z": z[:, 1] - z[:, 0],
        "weight": w,
        "note": [None if k % 7 else "a, b" for k in range(y.size)],
        "file": [None if k % 5 else k + 0.25 for k in range(y.size)],
    })  # fmt: skip
    frame.write_csv("t.csv", separator=";", decimal_comma=True)
    frame.write_parquet("t.parquet")
    classes = ("--classes", "no,yes", "--output", f"o.{ending}")
    shown = succeed("calibrate", f"t.{source}", *OF_SCORES, *classes)
    assert "240 rows of label, log_odds, weight (natural logarithms), and of 3 other" in shown
    predictions = fp.Predictions.from_logits(y, frame["z"], sample_weight=w)
    calibrated = fp.cross_fit(fp.DirectionPreserving(), predictions).log_odds
    expected = frame.rename({"z": "log_odds"}).with_columns(log_odds=calibrated)
    if ending == "npz":
        columns = read("o.npz")
        assert columns["note"].tolist() == frame["note"].fill_null("").to_list()
        np.testing.assert_array_equal(columns["file"], frame["file"].to_numpy())
        return
    types = {"id": polars.String}
    back = (
        polars.read_csv("o.csv", schema_overrides=types)
        if ending == "csv"
        else polars.read_parquet("o.parquet")
    )
    assert back.equals(expected)


def test_arrays_of_another_length_are_no_columns():
    y, z, _ = data()
    z, more = z[:, 1] - z[:, 0], np.zeros((y.size, 2))
    write("t.npz", y_true=y, z=z, more=more, scale=np.array(2.0), other=y[:7])
    succeed("calibrate", "t.npz", *OF_SCORES, "--output", "o.csv")
    assert polars.read_csv("o.csv").columns == ["y_true", "log_odds", "more_0", "more_1"]
    assert [*fp.read_table("t.npz", columns="z", kind="logits").columns] == ["more"]


@pytest.mark.parametrize(("n_classes", "name"), [(2, "log_odds"), (3, "log_posterior_0")])
def test_other_columns_have_other_names_than_calibrated_scores(n_classes, name):
    y, z, _ = data(n_classes)
    write("t.csv", y_true=y, z=z, **{name: y})
    columns = ",".join(f"z_{k}" for k in range(n_classes))
    run = ["calibrate", "t.csv", "--columns", columns, *OF_SCORES[2:], "--output", "o.npz"]
    files = {"t.csv": Path("t.csv").read_bytes()}
    check_refusal(files, run, [f"t.csv: a column beside the scores must not be named {name}, as"])


def test_other_columns_keep_their_digits_or_are_said_to_be_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    raw = ("--scores-are", "raw", "--columns", "llr", "--output")
    rows = [",y_true,llr,big", *(f"{k},{k % 2},{k % 3},{2**53 + k}" for k in range(30))]
    rows[4] = "3,1,0,"
    Path("t.csv").write_text("\n".join(rows) + "\n")
    succeed("calibrate", "t.csv", *raw, "o.npz")
    with np.load("o.npz") as archive:
        assert archive["big"][:4].tolist() == [str(2**53), str(2**53 + 1), str(2**53 + 2), ""]
        arrays = {"y_true": archive["y_true"], "llr": archive["llr"]}
    np.savez("p.npz", **arrays, ids=np.array([1, "a"] * 15, object))
    assert "not written: ids" in succeed("calibrate", "p.npz", *raw, "q.npz")


def test_labels_of_the_scores_to_calibrate_are_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("y_true,llr\n" + "0,1\n1,2\n1,0\n0,0\n" * 20)
    Path("new.csv").write_text("y_true,weight,llr\n?,heavy,1\n,,2\n")
    raw = ("--scores-are", "raw", "--columns", "llr", "--labels", "y_true")
    succeed("calibrate", "t.csv", *raw, "--apply", "new.csv", "--output", "o.csv")
    written = [line.rpartition(",")[0] for line in Path("o.csv").read_text().splitlines()]
    assert written == ["y_true,weight", "?,heavy", ","]
