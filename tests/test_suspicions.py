"""Data that look like a mistake: what is warned of, and what is not."""

import itertools
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import fastpsr, write

N = 600
Y = np.arange(N) % 2
RNG = np.random.default_rng(7)
X = RNG.normal(size=N) + 2.0 * Y - 1.0  # whose LLRs are 2 X
Q = 1.0 / (1.0 + np.exp(-2.0 * X))
COSINES = np.tanh(X / 4.0)


def suspicions(data):
    """What data look like, by the warnings of a table."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        fp.evaluate(data, ["NCE" if data.n_classes > 2 else "AUC"])
    messages = [each.message for each in caught]
    return [each.looks_like for each in messages if isinstance(each, fp.SuspicionWarning)]


def in_parts(data):
    ends = [0, 0, 1, len(data) // 3, len(data)]
    return fp.from_parts(data[start:stop] for start, stop in itertools.pairwise(ends))


THREE = np.arange(N) % 3
LOGITS = RNG.normal(size=(N, 3)) + 3.0 * np.eye(3)[THREE]

SUSPICIOUS = {
    "posteriors": (fp.Predictions.from_llrs(Y, Q), ["posteriors"]),
    "posteriors of class 0": (
        fp.Predictions.from_llrs(Y, 1.0 - Q), ["posteriors", "reversed scores"],
    ),
    "cosines": (fp.Predictions.from_llrs(Y, COSINES), ["cosine similarities"]),
    "cosines with weights": (
        fp.Predictions.from_llrs(Y, COSINES, sample_weight=RNG.random(N)), ["cosine similarities"],
    ),
    "cosines in percent": (fp.Predictions.from_llrs(Y, 100.0 * COSINES + 30.0), ["shifted scores"]),
    "LLRs with a shift": (fp.Predictions.from_llrs(Y, 2.0 * X + 6.0), ["shifted scores"]),
    "raw scores": (fp.Predictions.from_raw_scores(Y, -X), ["reversed scores"]),
    "infinite": (
        fp.Predictions.from_raw_scores(Y, np.where(Y, -np.inf, 1e300)), ["reversed scores"],
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
}  # fmt: skip
FINE = {
    "LLRs": fp.Predictions.from_llrs(Y, 2.0 * X),
    "decisions": fp.Predictions.from_llrs(Y, X > 0.0),
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
    "0 and -0": fp.Predictions.from_raw_scores(Y, np.where(Y, -0.0, 0.0)),
    "columns in order": fp.Predictions.from_logits(THREE, LOGITS),
    "a class that is taken for another": fp.Predictions.from_logits(
        THREE, LOGITS[:, [0, 1, 1]] - [0.0, 0.0, 0.1]
    ),
    "few permuted": fp.Predictions.from_logits(THREE[:24], LOGITS[:24, [1, 2, 0]]),
    "few decisions": fp.Predictions.from_posteriors(Y[:9], np.rint(Q[:9])),
    "one decided as the other counts": fp.Predictions.from_logits(
        THREE, LOGITS[:, [1, 2, 0]], sample_weight=np.where(np.arange(N) < 6, 1.0, 1e-9)
    ),
    "what weighs nothing": fp.Predictions.from_raw_scores(
        Y, np.where(np.arange(N) < 60, 2.0 * X, -X), sample_weight=1.0 * (np.arange(N) < 60)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SUSPICIOUS)
def test_what_is_suspicious(name):
    data, expected = SUSPICIOUS[name]
    assert suspicions(data) == suspicions(in_parts(data)) == expected


@pytest.mark.parametrize("name", FINE)
def test_what_is_not(name):
    assert suspicions(FINE[name]) == suspicions(in_parts(FINE[name])) == []


def test_chance_is_seldom_suspected():
    """By three standard errors: 1 in 700 or so, also with ties and few samples of a class."""
    of_two = of_classes = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, n_classes = int(rng.integers(5, 60)), int(rng.integers(3, 40))
        y = (np.arange(n) < rng.integers(1, n)).astype(int)
        scores = rng.integers(0, rng.integers(2, 30), n)
        of_two += len(suspicions(fp.Predictions.from_raw_scores(y, scores)))
        y = rng.integers(0, n_classes, 12 * n)
        logits = rng.normal(size=(y.size, n_classes)) + rng.normal(size=n_classes)
        of_classes += len(suspicions(fp.Predictions.from_logits(y, logits)))
    assert (of_two <= 3, of_classes <= 1) == (True, True)


@pytest.mark.parametrize("share", [0.001, 0.3])
def test_many_samples(share):
    """Of which some are counted, always with the lowest and the highest."""
    rng = np.random.default_rng(0)
    n = 400_000
    y = (rng.random(n) < share).astype(int)
    assert suspicions(fp.Predictions.from_raw_scores(y, rng.normal(size=n) - y)) == [
        "reversed scores"
    ]
    q = rng.random(n)
    assert suspicions(fp.Predictions.from_llrs(y, q)) == ["posteriors"]
    q[rng.integers(n)] = 1.5
    assert suspicions(fp.Predictions.from_llrs(y, q)) == []


def test_permuted_columns_are_named_with_the_remedy():
    with pytest.warns(fp.SuspicionWarning, match="class 1 in column 2, of class 2 in") as caught:
        fp.evaluate(fp.Predictions.from_logits(THREE, LOGITS[:, [0, 2, 1]]), [fp.CrossEntropy()])
    assert "classes=" in caught[0].message.remedy


def test_evaluate_warns_the_caller_once():
    whole = fp.Predictions.from_llrs(Y, Q)
    for data in (in_parts(whole), whole):
        with warnings.catch_warnings(record=True, action="always") as caught:
            fp.evaluate(data, n_resamples=40, seed=0)
        (warning,) = [each for each in caught if each.category is fp.SuspicionWarning]
        assert warning.filename == __file__
    copy = pickle.loads(pickle.dumps(warning.message))
    assert isinstance(copy, fp.SuspicionWarning)
    assert (copy.looks_like, str(copy)) == ("posteriors", f"{copy.problem}: {copy.remedy}")
    assert "from_posteriors" in copy.remedy


# Every call that takes data


@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_probabilities_passed_as_logits_are_noticed_at_once(n_columns):
    y = np.arange(40) % max(n_columns, 2)
    q = np.random.default_rng(0).dirichlet(np.ones(max(n_columns, 2)), 40)
    scores = q[:, 1] if n_columns == 1 else q
    with pytest.warns(fp.SuspicionWarning, match="logits all lie in .*from_posteriors"):
        fp.Predictions.from_logits(y, scores.astype(np.float32))
    fp.Predictions.from_logits(y[:9], scores[:9])  # too few to judge
    fp.Predictions.from_logits(y, scores - 0.01)
    fp.Predictions.from_logits(y, np.eye(max(n_columns, 2))[y])


def test_every_call_notices_posteriors_passed_as_llrs():
    data, fine = fp.Predictions.from_llrs(Y, Q), fp.Predictions.from_llrs(Y, 2.0 * X)
    few = {"n_resamples": 40, "seed": 0}
    calls = [
        lambda: fp.Cllr()(data), lambda: fp.bootstrap(fp.Cllr(), data, **few),
        lambda: fp.compare(fp.Cllr(), fine, data, **few),
        lambda: fp.DirectionPreserving().fit(data), lambda: fp.cross_fit(fp.PAV(), data),
        lambda: fp.evaluate({"a": fine, "b": data}, [fp.Cllr()]),
    ]  # fmt: skip
    for call in calls:
        with pytest.warns(fp.SuspicionWarning, match="lie in .0, 1., as posteriors do") as caught:
            call()
        assert {str(each.filename) for each in caught} == {__file__}


@pytest.fixture
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_in_a_folder_of_its_own")
@pytest.mark.parametrize(
    ("name", "column", "scale", "words"),
    [
        ("s.csv", Q, "llr", ["[0, 1]", "--scores-are posteriors"]),
        ("s.parquet", COSINES, "llr", ["[-1, 1]", "--scores-are raw"]),
        ("s.csv", -X, "raw", ["AUC is about 0.0", "negate the scores"]),
    ],
)
def test_commands_name_their_options(name, column, scale, words):
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
    words = np.where(Y, "target", "nontarget")
    for name, column in {"key": words, "a": COSINES, "b": Q, "c": 2.0 * X}.items():
        Path(name).write_text("".join(f"m{i} s{i} {x}\n" for i, x in enumerate(column)), "utf-8")
    options = ["--metrics", "EER", "--output", "r.html"]
    outcome = fastpsr("evaluate", "--key", "key", "--scores", "a", "b", "c", *options)
    assert outcome.code == 0, outcome.err
    lines = outcome.err.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["a", "b"]
    page = Path("r.html").read_text("utf-8")
    assert all(line.removeprefix("warning: ") in page for line in lines)
