"""Random data for everything in the registries: ``python -m tools.fuzz --seconds 600``.

Data are cases of the contract tests whose scores and weights are extreme, and some of them invalid.
A call must return what is allowed, or raise a ValueError that names an argument or what the data
lack. Run it with NUMBA_BOUNDSCHECK=1 and an empty cache, and kernels check their indices.
"""

import argparse
import itertools
import re
import sys
import time
import traceback
import warnings
from collections import Counter

import numpy as np

import fastpsr as fp
from tests.contract import registry
from tests.contract.data import CHOICES, KINDS, Case

LEAST, LARGEST = 5e-324, np.finfo(float).max
EDGES = [
    0.0, -0.0, LEAST, -LEAST, 2.3e-308, 1e-300, 1e308, -1e308, LARGEST, -LARGEST, 1.0, -1.0, 0.5,
    np.nextafter(1, 0), np.nextafter(1, 2), 745.2, -745.2, 709.8, -709.8, 36.7, -36.8, -np.inf,
]  # fmt: skip
INVALID = [np.nan, np.inf, -1.0, 2.0, 1e308, -LEAST]
SIZES = (15, 17, 40, 64, 200) * 4 + (4095, 4096, 4097, 9000)  # beside the size of blocks
FEW = {"n_resamples": 40, "seed": 0}
#: Warnings that docstrings announce.
DOCUMENTED = (
    "(.*: )?(the fitted scale is|a = b = 0|all slopes are 0)",
    ".* (is|are) (undefined|infinite|negative|the same)",
    ".* has (no|an) interval",
    "few samples or speakers determine these values",
)
#: What messages begin with that name what the data lack, and not an argument.
ABOUT_DATA = (
    "a calibrator needs samples of every class|scores (all but )?separate the classes"
    "|devPAV needs scores that overlap|normalized scores need a naive system that errs"
    r"|[\w -]+ needs? (both classes|posteriors or likelihoods)|data cannot be read, in "
    r"|metric .* (cannot be computed|is nan on the data|must return)|\w+ takes Predictions, or"
)
MAY_BE_NAN = (
    fp.CalibrationLoss, fp.ExpectedScore, fp.BayesRisk, fp.Threshold, fp.SemiEmpiricalScore,
    fp.ExpectedDivergence, fp.DecisionRate,
)  # fmt: skip


def draw_case(rng):
    """Draw a case of the contract tests, with other scores and weights."""
    sizes = CHOICES | {"n": SIZES}
    case = Case(**{name: choose(rng, values) for name, values in sizes.items()})
    has_posteriors = "posteriors" in KINDS[case.kind][0]
    with np.errstate(all="ignore"):
        scores, weights = case.rows["scores"], case.rows["weights"]
        if not has_posteriors:
            scores = choose(rng, [
                scores, scores * 10.0 ** rng.uniform(-3, 3),
                scores * 10.0 ** rng.uniform(-320, 305, scores.shape),
                np.full(scores.shape, choose(rng, EDGES)),
                scores.round() * LEAST, 1.0 + scores.round() * 2.0**-52,
            ])  # fmt: skip
            scores = sprinkle(rng, scores, EDGES)
        weights = choose(rng, [weights, 10.0 ** rng.uniform(-140, 140, case.n),
                               np.full(case.n, 1e290 / case.n)])  # fmt: skip
    if rng.random() < 0.1:
        scores = sprinkle(rng, scores, INVALID)
    if rng.random() < 0.1:
        weights = sprinkle(rng, weights, INVALID)
    case.rows.update(scores=scores, weights=weights)
    return case


def choose(rng, values):
    return values[int(rng.integers(len(values)))]


def sprinkle(rng, x, values):
    """Return an array with some entries replaced by some of the values."""
    x = x.copy()
    places = rng.integers(0, x.size, int(rng.integers(0, 2 + x.size // 8)))
    x.reshape(-1)[places] = rng.choice(np.asarray(values, float), places.size)
    return x


def data_of(rng, case):
    """Return the predictions of a case, or these in parts, and their columns of ids."""
    if rng.random() < 0.1:
        return case.parts(), {name: name for name in case.columns}
    return case.predictions(), case.columns


def use_metric(rng, case, name):
    data, _ = data_of(rng, case)
    for metric in registry.metrics(name, data).values():
        value = metric(data)
        assert type(value) is float
        low, high = metric.value_range
        is_allowed_nan = np.isnan(value) and isinstance(metric, MAY_BE_NAN)
        slack = 1e-8 * max(1.0, abs(value))
        assert is_allowed_nan or low - slack <= value <= high + slack, f"{metric}: {value}"


def use_curve(rng, case, name):
    curve = registry.curve(name, data_of(rng, case)[0])
    assert repr(curve)


def use_calibrator(rng, case, name):
    calibrator = choose(rng, registry.calibrators(name, case.n_classes))
    data, columns = data_of(rng, case)
    training = choose(rng, [*registry.TRAINING_KINDS])
    calibrated = fp.cross_fit(
        calibrator, data, choose(rng, registry.trainings(training, data, columns))
    )
    if isinstance(calibrated, fp.Predictions):
        assert calibrated.scores.shape == data.scores.shape
        check_posteriors(calibrated)


def check_posteriors(data):
    if data.kind != "raw scores":
        q = data.posteriors
        assert q.min(initial=0.0) >= 0.0
        assert np.abs(q.sum(axis=1) - 1.0).max(initial=0.0) < 1e-5
        assert data.n_classes > 2 or not np.isnan(data.llrs).any()


def use_scheme(rng, case, name):
    data, columns = data_of(rng, case)
    kind = choose(rng, [*registry.METRIC_KINDS])
    metrics = [*registry.metrics(kind, data).values()]  # none, if the kind is not for these data
    if metrics:
        scheme = registry.resampling(name, columns)
        fp.bootstrap(choose(rng, metrics), data, resampling=scheme, **FEW)


def use_rule(rng, case, name):
    data = case.predictions()
    check_posteriors(data)
    costs = rng.uniform(0, 5, (case.n_classes, choose(rng, [1, 2, 3, 7])))
    shapes = 10.0 ** rng.uniform(-2, 2, 2)
    rule = {"Cost": (costs,), "Beta": shapes}.get(name, ())
    rule = getattr(fp.rules, name)(*rule)
    assert not np.isnan(rule.loss(data.y_true, data.log_posteriors)).any()
    assert (rule.divergence(data.posteriors[::-1], data.posteriors) >= 0.0).all()
    assert np.shape(rule.entropy(data.posteriors)) == (case.n,)


USES = {
    **dict.fromkeys(registry.METRIC_KINDS, use_metric),
    **dict.fromkeys(registry.CURVE_FUNCTIONS, use_curve),
    **dict.fromkeys(registry.CALIBRATOR_KINDS, use_calibrator),
    **dict.fromkeys(registry.RESAMPLING_KINDS, use_scheme),
    **dict.fromkeys(("Log", "Brier", "Beta", "Cost"), use_rule),
}


def attempt(name, seed):
    """Use what has a name on data of a seed; return "fine", "refused", or what is wrong."""
    rng = np.random.default_rng([seed, *name.encode()])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", fp.SuspicionWarning)
        for pattern in DOCUMENTED:
            warnings.filterwarnings("ignore", pattern, RuntimeWarning)
        try:
            USES[name](rng, draw_case(rng), name)
        except fp.ArgumentError:
            return "refused"
        except ValueError as error:
            if re.match(ABOUT_DATA, str(error)):
                return "refused"
            return f"ValueError that names no argument: {error}\n{traceback.format_exc()}"
        except Exception as error:  # whatever it is, it is wrong
            return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    return "fine"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--only", action="append", metavar="NAME", help="may be repeated")
    options = parser.parse_args()
    names = options.only or [*USES]
    outcomes, failures, end = Counter(), {}, time.monotonic() + options.seconds
    for seed, name in ((s, n) for s in itertools.count(options.seed) for n in names):
        if time.monotonic() > end:
            break
        outcome = attempt(name, seed)
        kind = outcome if outcome in ("fine", "refused") else "wrong"
        outcomes[name, kind] += 1
        if kind == "wrong":
            failures.setdefault(outcome.splitlines()[0][:80], f"{name} --seed {seed}: {outcome}")
    for name in names:
        counts = (f"{kind} {outcomes[name, kind]:6,}" for kind in ("fine", "refused", "wrong"))
        print(f"{name:40}", *counts)
    print(*failures.values(), sep="\n\n")
    print("never fine:", *(name for name in names if not outcomes[name, "fine"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
