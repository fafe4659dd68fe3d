"""Random and invalid arguments for every public function: ``python -m tools.fuzz --seconds 600``.

Calls are derived from public names: of each argument the name or the type says what is drawn. Most
arguments are valid, of extreme values and in any form that arrays take; some break a rule. A call
must return, or raise a ValueError that names an argument or what the data lack. Metrics, fits and
schemes that are constructed are also used. Run it with NUMBA_BOUNDSCHECK=1 and an empty cache, and
kernels check their indices.
"""

import argparse
import contextlib
import inspect
import itertools
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from fractions import Fraction
from typing import Literal, get_args, get_origin, get_type_hints
from zlib import crc32

import numpy as np

import fastpsr as fp
from fastpsr.bootstrap import RESAMPLINGS
from fastpsr.calibration import CALIBRATORS, TRAININGS
from fastpsr.compat import nist, speechbrain
from fastpsr.compat.confidence_intervals import evaluate_with_conf_int
from fastpsr.curves import BANDS
from fastpsr.metrics import METRICS
from fastpsr.results import Result

INF, NAN, LEAST, LARGEST = np.inf, np.nan, 5e-324, np.finfo(float).max
EDGES = [
    0.0, -0.0, LEAST, -LEAST, 2.3e-308, 1e-300, 1e308, -1e308, LARGEST, -LARGEST, 1.0, -1.0, 0.5,
    np.nextafter(1, 0), np.nextafter(1, 2), 745.2, -745.2, 709.8, -709.8, 36.7, -36.8,
]  # fmt: skip
SIZES = (1, 2, 3, 5, 8, 17, 40, 64, 200)
LARGE_SIZES = (4095, 4096, 4097, 9000)  # beside the size of blocks
INVALID_NUMBERS = [
    NAN, INF, -INF, 0.0, -1.0, 2.0, 1e308, LEAST, 0, -1, 10**30, 1.5, np.float16(0.5), True, None,
    np.array([0.5, 0.5]), "x", "0.5", 1j, [], [0.5], {}, np.datetime64("NaT", "s"), object(),
]  # fmt: skip
SHARES, POSITIVE = (1e-9, 1e-6, 0.01, 0.05), (0.01, 0.1, 0.5, 1.0, 2.0, 10.0)
FORMS = (float, np.float64, np.float32)
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
KINDS = ("posteriors", "log_posteriors", "logits", "log_likelihoods", "llrs", "raw_scores")
MAY_BE_NAN = (
    fp.CalibrationLoss, fp.ExpectedScore, fp.BayesRisk, fp.Threshold, fp.SemiEmpiricalScore,
    fp.ExpectedDivergence,
)  # fmt: skip


class Arguments:
    """Draws the arguments of a call: they share the number of rows and of classes."""

    def __init__(self, seed, large=False):
        self.rng = np.random.default_rng(seed)
        self.share_invalid = self.of([0.0, 0.02, 0.15])
        self.large = large
        self.n = self.of(LARGE_SIZES if large and self.chance(0.2) else SIZES)
        self.kind = self.of(KINDS)
        self.n_classes = 2 if self.kind in ("llrs", "raw_scores") else self.of([2, 2, 2, 3, 11])
        self.y = self.rng.integers(0, self.n_classes, self.n)
        if self.n >= 5 * self.n_classes and self.chance(0.9):  # for folds
            self.y[:] = np.arange(self.n) % self.n_classes

    def chance(self, probability):
        return bool(self.rng.random() < probability)

    def of(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    # Values

    def scores(self, *shape):
        """Draw real numbers: of one magnitude or of many, tied, subnormal, infinite."""
        x = self.rng.normal(size=shape) * 10.0 ** self.rng.uniform(-3, 3)
        with np.errstate(all="ignore"):
            x = self.of([
                lambda: x, lambda: x, lambda: x.round(), lambda: np.full(shape, self.of(EDGES)),
                lambda: x * 10.0 ** self.rng.uniform(-320, 305, shape),
                lambda: x.round() * LEAST, lambda: 1.0 + x.round() * 2.0**-52,
            ])()  # fmt: skip
        if self.chance(0.5):
            self._sprinkle(x, [*EDGES, INF, -INF] if len(shape) == 1 else EDGES)
        return x

    def rows(self, n=None):
        """Draw rows that sum to 1: vague, certain, and nearly either."""
        shape = (self.n if n is None else n), self.n_classes
        with np.errstate(over="ignore", under="ignore"):
            x = np.exp(np.clip(self.scores(*shape), -1e3, 300.0))
        x[x.sum(axis=1) == 0.0] = 1.0
        return x / x.sum(axis=1, keepdims=True)

    def log_rows(self):
        with np.errstate(divide="ignore"):
            return np.log(self.rows())

    def weights(self):
        w = self.of([
            lambda: self.rng.uniform(0.0, 2.0, self.n),
            lambda: self.rng.integers(0, 3, self.n).astype(float),
            lambda: 10.0 ** self.rng.uniform(-140, 140, self.n),
            lambda: np.full(self.n, 1e290 / self.n),
        ])()  # fmt: skip
        w[0] = w[0] if w.any() else 1.0
        return w

    def ids(self):
        numbers = self.rng.integers(0, min(30, max(2, self.n // 2)), self.n)
        return self.of([numbers, numbers.astype(str), numbers.astype(object), numbers - 2**62])

    def points(self):
        return np.sort(self.rng.uniform(0.01, 0.99, self.of(SIZES)))

    def _sprinkle(self, x, values):
        count = int(self.rng.integers(1, 2 + x.size // 8))
        places = self.rng.integers(0, max(x.size, 1), count)
        x.reshape(-1)[places] = self.rng.choice(np.asarray(values, float), count)

    # Forms

    def array(self, x):
        """Return values as an array of any form, now and then of invalid values or forms."""
        x = np.asarray(x)
        if self.chance(self.share_invalid):
            if self.chance(0.5):
                return self._invalid(x)
            if x.dtype == float and x.size:
                x = x.copy()
                self._sprinkle(x, [NAN, -NAN, INF, -INF, -1.0, 2.0, 1e308, -LEAST, 0.3])
        wide = np.repeat(x, 3, axis=0)
        unaligned = np.frombuffer(b"0" + x.tobytes(), np.uint8)[1:]
        forms = [
            lambda: x, lambda: x, lambda: x.tolist(), lambda: tuple(x.tolist()),
            lambda: x.astype(object), lambda: np.asfortranarray(x), lambda: wide[::3],
            lambda: x[::-1].copy()[::-1], lambda: np.ma.masked_array(x),
            lambda: unaligned.view(x.dtype).reshape(x.shape) if x.dtype.kind in "if" else x,
            lambda: x.astype(x.dtype.newbyteorder(">")),
            lambda: memoryview(np.ascontiguousarray(x)) if x.dtype.kind in "if" else x,
            lambda: x.astype(self.of([np.int8, np.float64, bool])) if x.dtype.kind == "i" else x,
            lambda: x.astype(np.longdouble) if x.dtype == float else x,
        ]  # fmt: skip
        with np.errstate(all="ignore"):
            return self.of(forms)()

    def _invalid(self, x):
        forms = [
            lambda: np.empty(0), lambda: np.empty((*x.shape, 0)), list, lambda: None,
            lambda: np.array(0.5), lambda: 0.5, lambda: x[..., None], lambda: x[None],
            lambda: x[:-1], lambda: np.concatenate([x, x]), lambda: x.astype(complex),
            lambda: x.astype(str), lambda: np.zeros(x.shape, "M8[s]"),
            lambda: np.zeros(x.shape, "V4"), lambda: np.full(x.shape, None),
            lambda: np.full(x.shape, "x", object), lambda: [*x.tolist(), [1.0, [2.0]]],
            lambda: np.ma.masked_array(x, np.arange(x.size).reshape(x.shape) % 2 == 0),
            lambda: [Fraction(1, 3), object()], lambda: {"a": 1}, lambda: "0.5", object,
            lambda: (value for value in x.tolist()), lambda: [10**400, 1],
            lambda: np.broadcast_to(x[:1], x.shape), lambda: (np.zeros(x.shape)).astype(bool),
        ]  # fmt: skip
        with np.errstate(all="ignore"):
            return self.of(forms)()

    # Objects

    def predictions(self):
        """Draw predictions of the kind of the call, or these in parts."""
        made = self.call(getattr(fp.Predictions, f"from_{self.kind}"))
        if self.chance(0.1):
            middle = len(made) // 2
            return fp.from_parts([made[:middle], made[middle:]])
        return made

    def registered(self, kinds):
        return self.call(self.of([*kinds]))

    def metric(self):
        return self.registered(METRICS)

    def metrics(self):
        return [self.metric() for _ in range(self.of([1, 1, 2]))]

    def rule(self):
        return self.call(self.of([getattr(fp.rules, name) for name in RULES]))

    def calibrator(self):
        return self.registered(CALIBRATORS.values())

    def costs(self):
        shape = self.n_classes, self.of([1, 2, 3, 7])
        return self.array(self.of([self.rng.uniform(0, 5, shape), self.scores(*shape)]))

    def argument(self, name, hints):
        """Draw an argument by its name, else of one of its types."""
        if name in DRAWN and not (name in ("a", "b") and float in hints):
            return DRAWN[name](self)
        hint = self.of(hints)
        if hint is not bool and self.chance(self.share_invalid):
            return self.of(INVALID_NUMBERS)
        if hint is float:
            is_share = name[:2] == "p_" or name.startswith(
                ("prior", "floor", "confidence", "reject")
            )
            return self.of(FORMS)(self.of(SHARES if is_share else POSITIVE))
        choices = {int: [COUNTS.get(name) or self.of([1, 2, 3, 15])], bool: [True, False]}
        return self.of(choices.get(hint) or get_args(hint))

    def call(self, function):
        """Call a function with drawn arguments; those with a default are left out now and then."""
        values = {}
        for name, hints, is_optional in parameters(function):
            if (hints or name in DRAWN) and not (is_optional and self.chance(0.7)):
                values[name] = self.argument(name, hints)
        return function(**values)


#: Arguments by name, of any function.
DRAWN = {
    **dict.fromkeys(["y_true", "y", "labels"], lambda s: s.array(s.y)),
    **dict.fromkeys(
        ["llr", "scores", "tar", "non", "positive_scores", "negative_scores", "samples"],
        lambda s: s.array(s.scores(s.n)),
    ),
    **dict.fromkeys(["z", "log_lk"], lambda s: s.array(s.scores(s.n, s.n_classes))),
    **dict.fromkeys(["q", "p"], lambda s: s.array(s.rows())),
    "r": lambda s: s.array(s.rows(s.of([1, s.n]))),
    "log_q": lambda s: s.array(s.log_rows()),
    **dict.fromkeys(["sample_weight", "weights"], lambda s: s.array(s.weights())),
    "priors": lambda s: s.array(s.rng.dirichlet(np.full(s.n_classes, 0.5))),
    "classes": lambda s: s.array(np.arange(s.n_classes)),
    **dict.fromkeys(
        ["ids", "cluster_ids", "enroll_speakers", "test_speakers", "groups", "folds", "conditions"],
        lambda s: s.array(s.ids()),
    ),
    **dict.fromkeys(["enroll", "test"], lambda s: s.array(s.rng.normal(size=s.n))),
    "spoof": lambda s: s.array((s.y == 0) & (np.arange(s.n) % 4 < 2)),
    "by": lambda s: {"a": s.array(s.ids())},
    "decisions": lambda s: s.array(s.rng.integers(0, 3, s.n)),
    "points": lambda s: s.array(s.points() if s.n_classes == 2 else s.rows(3)),
    "fnr": lambda s: s.array(np.linspace(0.0, 1.0, s.n)),
    "fpr": lambda s: s.array(np.linspace(1.0, 0.0, s.n) ** 2),
    "prior_log_odds": lambda s: s.array(10.0 * s.points() - 5.0),
    "bins": lambda s: s.of([2, 10, s.array(s.points())]),
    **dict.fromkeys(["costs", "values"], Arguments.costs),
    **dict.fromkeys(["predictions", "reference", "a", "b"], Arguments.predictions),
    "parts": lambda s: [s.predictions() for _ in range(2)],
    "systems": lambda s: [s.predictions() for _ in range(s.of([1, 2]))],
    "weight": lambda s: s.of([lambda a: a[:, 0], lambda a: np.ones(len(a)), lambda a: -a]),
    "divergence": Arguments.rule,
    "train": lambda s: s.registered(TRAININGS),
    "resampling": lambda s: s.registered(RESAMPLINGS),
    "curve": lambda s: s.of([*BANDS, fp.tippett]),
    "candidates": lambda s: {"none": None, "other": s.calibrator()},
    "quality": lambda s: s.of(["min,max", "scale"]),
    "fusion": lambda s: s.call(fp.LinearFusion),
    **{name: getattr(Arguments, name) for name in ("rule", "calibrator", "metric", "metrics")},
}
COUNTS = {
    "n_resamples": 40, "n_samples": 60, "n_targets": 20, "n_nontargets": 60, "num_bootstraps": 20,
    "n_speakers": 40, "K": 3, "n_classes": 4,
}  # fmt: skip
RULES = [name for name in fp.rules.__all__ if name not in ("ScoringRule", "l1_distance")]


def parameters(function):
    """Yield the name of each argument, its simple types, and whether there is a default."""
    hints = {}
    with contextlib.suppress(NameError):  # of results, whose types need not be importable
        hints = get_type_hints(function.__init__ if inspect.isclass(function) else function)
    for name, parameter in inspect.signature(function).parameters.items():
        hint = None if name == "progress" else hints.get(name)
        parts = (hint, *get_args(hint))
        simple = [p for p in parts if p in (int, float, bool) or get_origin(p) is Literal]
        yield name, simple, parameter.default is not parameter.empty


def use(result, s):
    """Use what was constructed, and check what was returned."""
    if isinstance(result, fp.metrics.Metric):
        is_short = s.chance(0.2)
        value = result(DRAWN["y_true"](s), DRAWN["llr"](s)) if is_short else result(s.predictions())
        assert type(value) is float
        low, high = result.value_range
        is_allowed_nan = np.isnan(value) and isinstance(result, MAY_BE_NAN)
        slack = 1e-8 * max(1.0, abs(value))
        assert is_allowed_nan or low - slack <= value <= high + slack, value
    elif isinstance(result, fp.calibration.Calibrator):
        data = s.predictions()
        calibrated = fp.cross_fit(result, data)
        if isinstance(data, fp.Predictions):
            assert calibrated.scores.shape == data.scores.shape
    elif isinstance(result, fp.rules.ScoringRule):
        q, y = DRAWN["q"](s), DRAWN["y_true"](s)
        assert (result.divergence(DRAWN["r"](s), q) >= 0.0).all()
        assert np.shape(result.entropy(q)) == np.shape(q)[:-1]
        assert not np.isnan(result.loss(y, DRAWN["log_q"](s))).any()
    elif isinstance(result, tuple(RESAMPLINGS)):
        fp.bootstrap(s.metrics(), s.predictions(), n_resamples=40, seed=0, resampling=result)
    elif isinstance(result, fp.Predictions) and result.kind != "raw scores":
        q = result.posteriors
        assert q.min(initial=0.0) >= 0.0
        assert np.abs(q.sum(axis=1) - 1.0).max(initial=0.0) < 1e-5
        if result.n_classes == 2:
            assert not np.isnan(result.llrs).any()
    assert str(result) or result == ""


def calls():
    """Return public functions by name whose arguments are known here, and the names of others."""
    functions = {name: getattr(fp, name) for name in fp.__all__}
    functions |= {f"Predictions.from_{kind}": getattr(fp.Predictions, f"from_{kind}")
                  for kind in (*KINDS, "target_nontarget")}  # fmt: skip
    functions |= {f"CostMatrix.{name}": getattr(fp.CostMatrix, name)
                  for name in ("detection", "zero_one")}  # fmt: skip
    for module in (fp.rules, fp.simulate, nist, speechbrain):
        functions |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    functions["evaluate_with_conf_int"] = evaluate_with_conf_int
    known, unknown = {}, []
    for name, function in functions.items():
        is_result = inspect.isclass(function) and issubclass(function, Result)
        if inspect.ismodule(function) or is_result or name in ("Predictions", "threads"):
            continue
        if all(simple or optional or argument in DRAWN
               for argument, simple, optional in parameters(function)):  # fmt: skip
            known[name] = function
        else:
            unknown.append(name)
    return known, unknown


def attempt(call):
    """Call; return "fine", "refused", or what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", fp.SuspicionWarning)
        for pattern in DOCUMENTED:
            warnings.filterwarnings("ignore", pattern, RuntimeWarning)
        try:
            call()
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
    functions, unknown = calls()
    print("not called:", *unknown)
    outcomes, end = Counter(), time.monotonic() + options.seconds
    failures = {}
    names = options.only or [*functions]
    for seed, name in ((seed, name) for seed in itertools.count(options.seed) for name in names):
        if time.monotonic() > end:
            break
        s = Arguments([seed, crc32(name.encode())], large=True)
        outcome = attempt(lambda s=s, name=name: use(s.call(functions[name]), s))
        kind = outcome if outcome in ("fine", "refused") else "wrong"
        outcomes[name, kind] += 1
        if kind == "wrong":
            failures.setdefault(outcome.splitlines()[0][:80], f"{name} --seed {seed}: {outcome}")
    for name in names:
        counts = (f"{kind} {outcomes[name, kind]:6,}" for kind in ("fine", "refused", "wrong"))
        print(f"{name:40}", *counts)
    print(*failures.values(), sep="\n\n")
    never = [name for name in names if not outcomes[name, "fine"]]
    print("never fine:", *never)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
