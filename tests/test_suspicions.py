"""Data that look like a mistake: what is warned of, and what is not."""

import itertools
import pickle
import warnings
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.evaluation.suspicions import CountCoarsely, suspicions
from fastpsr.plans import run
from fastpsr.plans.watching import watched
from tests import commands
from tests.commands import fastpsr, succeed, write

N = 600
Y = np.arange(N) % 2
RNG = np.random.default_rng(7)
X = RNG.normal(size=N) + 2.0 * Y - 1.0  # whose LLRs are 2 X
Q = 1.0 / (1.0 + np.exp(-2.0 * X))
COSINES = np.tanh(X / 4.0)


def seen(data):
    """What data look like."""
    return [found.looks_like for found in run(lambda: suspicions(data))]


def in_parts(data):
    cuts = [0, 0, 1, len(data) // 3, len(data)]
    return fp.from_parts(data[a:b] for a, b in itertools.pairwise(cuts))


THREE = np.arange(N) % 3
LOGITS = RNG.normal(size=(N, 3)) + 3.0 * np.eye(3)[THREE]

SUSPICIOUS = {
    "posteriors": (fp.Predictions.from_llrs(Y, Q), ["posteriors"]),
    "posteriors in float32": (fp.Predictions.from_llrs(Y, Q.astype("f")), ["posteriors"]),
    "posteriors of 0 and 1, too": (fp.Predictions.from_llrs(Y, np.round(Q, 1)), ["posteriors"]),
    "posteriors of class 0": (
        fp.Predictions.from_llrs(Y, 1.0 - Q), ["posteriors", "reversed scores"],
    ),
    "two arrays": (fp.Predictions.from_target_nontarget(Q[Y == 1], Q[Y == 0]), ["posteriors"]),
    "posteriors of targets alone": (fp.Predictions.from_llrs(np.ones(N, int), Q), ["posteriors"]),
    "cosines": (fp.Predictions.from_llrs(Y, COSINES), ["cosine similarities"]),
    "cosines that tell all": (
        fp.Predictions.from_llrs(Y, (Y - 0.5) * np.linspace(0.5, 1.0, N)), ["cosine similarities"],
    ),
    "cosines with weights": (
        fp.Predictions.from_llrs(Y, COSINES, sample_weight=RNG.random(N)), ["cosine similarities"],
    ),
    "cosines in percent": (fp.Predictions.from_llrs(Y, 100.0 * COSINES + 30.0), ["shifted scores"]),
    "LLRs with a shift": (fp.Predictions.from_llrs(Y, 2.0 * X + 6.0), ["shifted scores"]),
    "raw scores": (fp.Predictions.from_raw_scores(Y, -X), ["reversed scores"]),
    "LLRs": (fp.Predictions.from_llrs(Y, -2.0 * X, prior=0.1), ["reversed scores"]),
    "posteriors reversed": (fp.Predictions.from_posteriors(Y, 1.0 - Q), ["reversed scores"]),
    "decisions reversed": (fp.Predictions.from_raw_scores(Y, X < 0.0), ["reversed scores"]),
    "infinite": (
        fp.Predictions.from_raw_scores(Y, np.where(Y, -np.inf, 1e300)), ["reversed scores"],
    ),
    "two columns of three": (
        fp.Predictions.from_logits(THREE, LOGITS[:, [0, 2, 1]]), ["permuted columns"],
    ),
    "all columns": (
        fp.Predictions.from_log_likelihoods(
            THREE, LOGITS[:, [1, 2, 0]], sample_weight=RNG.random(N)
        ),
        ["permuted columns"],
    ),
    "posteriors of 0 and 1 alone": (
        fp.Predictions.from_posteriors(Y, np.rint(Q)), ["decisions"],
    ),
    "decisions of three classes": (
        fp.Predictions.from_posteriors(THREE, np.eye(3)[LOGITS.argmax(axis=1)]), ["decisions"],
    ),
}  # fmt: skip
FINE = {
    "LLRs": fp.Predictions.from_llrs(Y, 2.0 * X),
    "LLRs of a weak system": fp.Predictions.from_llrs(Y, 0.2 * (X - 2.0 * Y + 0.8 + 0.2 * Y)),
    "nothing is known": fp.Predictions.from_llrs(Y, np.zeros(N)),
    "constant": fp.Predictions.from_llrs(Y, np.full(N, 0.3)),
    "decisions": fp.Predictions.from_llrs(Y, X > 0.0),
    "signed decisions": fp.Predictions.from_llrs(Y, np.sign(X)),
    "cosines said to be raw": fp.Predictions.from_raw_scores(Y, COSINES),
    "posteriors": fp.Predictions.from_posteriors(Y, Q),
    "chance": fp.Predictions.from_raw_scores(Y, RNG.normal(size=N)),
    "few posteriors": fp.Predictions.from_llrs(Y[:9], Q[:9]),
    "few cosines": fp.Predictions.from_llrs(Y[:19], COSINES[:19]),
    "few reversed": fp.Predictions.from_raw_scores(Y[:8], -Y[:8]),
    "one of the reversed counts": fp.Predictions.from_raw_scores(
        Y, -X, sample_weight=np.where(np.arange(N) < 6, 1.0, 1e-9)
    ),
    "weights beyond squares": fp.Predictions.from_raw_scores(
        Y, -X, sample_weight=1e200 * Y + 1e-200
    ),
    "one class": fp.Predictions.from_raw_scores(np.ones(N, int), -X),
    "three classes": fp.Predictions.from_logits(np.arange(N) % 3, RNG.normal(size=(N, 3))),
    "columns in order": fp.Predictions.from_logits(THREE, LOGITS),
    "a class that is taken for another": fp.Predictions.from_logits(
        THREE, LOGITS[:, [0, 1, 1]] - [0.0, 0.0, 0.1]
    ),
    "few permuted": fp.Predictions.from_logits(THREE[:27], LOGITS[:27, [1, 2, 0]]),
    "few decisions": fp.Predictions.from_posteriors(Y[:9], np.rint(Q[:9])),
    "one decided as the other counts": fp.Predictions.from_logits(
        THREE, LOGITS[:, [1, 2, 0]], sample_weight=np.where(np.arange(N) < 9, 1.0, 1e-9)
    ),
    "what weighs nothing": fp.Predictions.from_raw_scores(
        Y, np.where(np.arange(N) < 60, 2.0 * X, -X), sample_weight=1.0 * (np.arange(N) < 60)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SUSPICIOUS)
def test_what_is_suspicious_in_memory_and_in_parts(name):
    data, expected = SUSPICIOUS[name]
    assert seen(data) == seen(in_parts(data)) == expected


@pytest.mark.parametrize("name", FINE)
def test_what_is_not(name):
    assert seen(FINE[name]) == seen(in_parts(FINE[name])) == []


@pytest.mark.parametrize("weighted", [False, True])
def test_coarse_areas_are_near_the_area(weighted):
    for scores in (X, -X, 1e-3 * X, 100.0 + X, RNG.normal(size=N)):
        w = RNG.integers(0, 4, N) * 0.5 if weighted else None
        data = fp.Predictions.from_raw_scores(Y, scores, sample_weight=w)
        coarse = run(lambda data=data, weighted=weighted: one(CountCoarsely(weighted), data))
        assert coarse.auc == pytest.approx(fp.AUC()(data), abs=0.02)
        present = np.ones(N) if w is None else w
        for w, n_effective in zip((present[::2], present[1::2]), coarse.n_effective, strict=True):
            assert n_effective == pytest.approx(w.sum() ** 2 / (w**2).sum())


def one(step, data):
    (answer,) = yield [step.over(data)]
    return answer


def test_chance_is_seldom_suspected():
    """By three standard errors: 1 in 700 or so, also with ties and few samples of a class."""
    found = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 60))
        y = (np.arange(n) < rng.integers(1, n)).astype(int)
        scores = rng.integers(0, rng.integers(2, 30), n)
        found += len(seen(fp.Predictions.from_raw_scores(y, scores)))
    assert found <= 4


def test_chance_among_classes_is_seldom_suspected():
    found = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        n_classes, n = int(rng.integers(3, 40)), int(rng.integers(5, 800))
        y, bias = rng.integers(0, n_classes, n), rng.normal(size=n_classes)
        data = fp.Predictions.from_logits(y, rng.normal(size=(n, n_classes)) + bias)
        found += len(seen(data))
    assert found <= 1


def test_permuted_columns_are_named_with_the_remedy():
    with pytest.warns(fp.SuspicionWarning, match="class 1 in column 2, of class 2 in") as caught:
        fp.evaluate(fp.Predictions.from_logits(THREE, LOGITS[:, [0, 2, 1]]), [fp.CrossEntropy()])
    assert "classes=" in caught[0].message.remedy
    words = np.array(["c", "a", "b"])[THREE]  # columns are in the order c, a, b
    fp.evaluate(fp.Predictions.from_logits(words, LOGITS, classes=["c", "a", "b"]))


def test_zero_and_minus_zero_are_one_score():
    scores = np.where(Y, -0.0, 0.0)
    assert seen(fp.Predictions.from_raw_scores(Y, scores)) == []


def test_evaluate_warns_the_caller_once():
    with warnings.catch_warnings(record=True, action="always") as caught:
        fp.evaluate(fp.Predictions.from_llrs(Y, Q), n_resamples=40, seed=0)
    (warning,) = [each for each in caught if each.category is fp.SuspicionWarning]
    assert warning.filename == __file__
    found = pickle.loads(pickle.dumps(warning.message))
    assert isinstance(found, fp.SuspicionWarning)
    assert (found.looks_like, str(found)) == ("posteriors", f"{found.problem}: {found.remedy}")
    assert "from_posteriors" in found.remedy


def test_single_metrics_know_posteriors():
    for wrong in (Q, Q.astype(np.float32), np.concatenate([np.zeros(100), Q[100:]])):
        with pytest.warns(fp.SuspicionWarning, match="posteriors") as caught:
            fp.Cllr()(Y, wrong)
        assert caught[0].filename == __file__
    for fine in (2.0 * X, X > 0.0, np.full(N, 0.3), np.concatenate([Q[:-1], [1.5]])):
        fp.Cllr()(Y, fine)
    fp.Cllr()(Y[:9], Q[:9])


def test_parts_are_read_no_more_often():
    data = in_parts(fp.Predictions.from_llrs(Y, 2.0 * X))
    reads = set()
    with watched(lambda progress: reads.add(progress.read)):
        fp.evaluate(data, [fp.CrossEntropy()])
    assert len(reads) == 2  # the facts, and all else


def test_scanned_files(tmp_path):
    path = tmp_path / "s.parquet"
    polars.DataFrame({"target": Y, "llr": COSINES}).write_parquet(path)
    with pytest.warns(fp.SuspicionWarning, match="cosine"):
        fp.evaluate(fp.scan_parquet(path), [fp.AUC()])


# On the command line


@pytest.fixture
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_trials(name, scores):
    Path("key").write_text("".join(f"m{i} s{i} {k}\n" for i, k in enumerate(words())), "utf-8")
    Path(name).write_text("".join(f"m{i} s{i} {x}\n" for i, x in enumerate(scores)), "utf-8")


def words():
    return np.where(Y, "target", "nontarget")


@pytest.mark.usefixtures("_in_a_folder_of_its_own")
@pytest.mark.parametrize(
    ("column", "scale", "words"),
    [
        (Q, "llr", ["[0, 1]", "--scores-are posteriors"]),
        (COSINES, "llr", ["[-1, 1]", "--scores-are raw"]),
        (-X, "raw", ["AUC is about 0.0", "negate the scores"]),
    ],
)
def test_tables(column, scale, words):
    for name in ("s.csv", "s.parquet"):
        write(name, y_true=Y, llr=column)
        outcome = fastpsr("evaluate", name, "--scores-are", scale)
        assert outcome.code == 0
        (line,) = [line for line in outcome.err.splitlines() if "scale is" not in line]
        assert line.startswith("warning: ")
        assert [word for word in words if word not in line] == []
        assert "from_" not in line


@pytest.mark.usefixtures("_in_a_folder_of_its_own")
def test_trials_are_warned_of_once_per_system_and_in_the_report():
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    write_trials("a", COSINES)
    write_trials("b", Q)
    write_trials("c", 2.0 * X)
    run = ["evaluate", "--key", "key", "--scores", "a", "b", "c", "--report", "r.html"]
    outcome = fastpsr(*run)
    assert outcome.code == 0, outcome.err
    starts = [line.split(":")[1].strip() for line in outcome.err.splitlines()]
    assert starts == ["a", "b"]
    page = Path("r.html").read_text("utf-8")
    for line in outcome.err.splitlines():
        assert line.removeprefix("warning: ") in page


@pytest.mark.slow
@pytest.mark.usefixtures("_in_a_folder_of_its_own")
def test_tables_are_warned_of_in_the_report():
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    write("s.csv", y_true=Y, llr=Q)
    succeed("evaluate", "s.csv", "--scores-are", "llr", "--report", "r.html")
    assert "--scores-are posteriors" in Path("r.html").read_text("utf-8")


@pytest.mark.parametrize("share", [0.001, 0.3, 0.999])
def test_of_many_samples_some_are_enough(share):
    rng = np.random.default_rng(0)
    n = 400_000
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(size=n) * 2 - 3 * y
    x[rng.integers(0, n, 2)] = [-50.0, 60.0]
    data = fp.Predictions.from_llrs(y, x)
    coarse = run(lambda: one(CountCoarsely(False), data))
    assert (coarse.values[0], coarse.values[-1]) == (-50.0, 60.0)
    assert coarse.auc == pytest.approx(fp.AUC()(data), abs=0.01)
    assert coarse.n_effective.sum() < n / 2
    with pytest.warns(fp.SuspicionWarning, match="reversed"):
        fp.evaluate(data, [fp.CrossEntropy()])
    with pytest.warns(fp.SuspicionWarning, match=r"\[0, 1\]"):
        fp.evaluate(fp.Predictions.from_llrs(y, rng.random(n)), [fp.CrossEntropy()])


# Every door


@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_probabilities_given_as_logits_are_said_when_they_are_given(n_columns):
    y = np.arange(40) % max(n_columns, 2)
    q = np.random.default_rng(0).dirichlet(np.ones(max(n_columns, 2)), 40)
    given = q[:, 1] if n_columns == 1 else q
    for z in (given, given.astype(np.float32)):
        with pytest.warns(fp.SuspicionWarning, match="logits all lie in .*from_posteriors"):
            fp.Predictions.from_logits(y, z)
    fp.Predictions.from_logits(y[:9], given[:9])  # too few to judge
    fp.Predictions.from_logits(y, given - 0.01)
    fp.Predictions.from_logits(y, np.eye(max(n_columns, 2))[y])


def test_posteriors_given_as_llrs_are_said_at_every_door():
    data, fine = fp.Predictions.from_llrs(Y, Q), fp.Predictions.from_llrs(Y, 2.0 * X)
    few = {"n_resamples": 40, "seed": 0}
    doors = [
        lambda: fp.Cllr()(data), lambda: fp.evaluate(data, [fp.Cllr()]),
        lambda: fp.bootstrap(fp.Cllr(), data, **few),
        lambda: fp.compare(fp.Cllr(), fine, data, **few),
        lambda: fp.compare(fp.Cllr(), data, fine, **few),
        lambda: fp.DirectionPreserving().fit(data), lambda: fp.cross_fit(fp.PAV(), data),
        lambda: fp.evaluate({"a": fine, "b": data}, [fp.Cllr()]),
    ]  # fmt: skip
    for door in doors:
        with pytest.warns(fp.SuspicionWarning, match="lie in .0, 1., as posteriors do") as caught:
            door()
        assert {str(each.filename) for each in caught} == {__file__}


def test_every_command_says_what_scores_look_like(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands.write_trials()
    for name in "ab":
        lines = [line.split() for line in Path(name).read_text().splitlines()]
        text = "".join(f"{m} {t} {50.0 + 5.0 * float(x)!r}\n" for m, t, x in lines)
        Path(name).write_text(text)
    key, few = ["--key", "key"], ["--metrics", "Cllr"]
    runs = [
        (["evaluate", *key, "--scores", "a", "--scores", "b", *few], ["a: ", "like this: b)"]),
        (["compare", *key, "a", "b", *few, "--resamples", 40], ["a: ", "like this: b)"]),
        (["threshold", *key, "--scores", "a", "--dcf", 0.01], ["a: "]),
        (["calibrate", *key, "--scores", "a", "--output", "o"], ["a: "]),
    ]
    for command, names in runs:
        done = fastpsr(*command)
        assert done.code == 0, done.err
        said = [line for line in done.err.splitlines() if "shifted or scaled" in line]
        assert [any(name in line for line in said) for name in names] == [True] * len(names)
        assert all("--scores-are raw" in line for line in said)
