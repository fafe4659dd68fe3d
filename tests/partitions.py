"""Hostile data, whole and in hostile partitions."""

import gc
import itertools
import weakref
from collections import Counter as Counts
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

import fastpsr as fp

KINDS = (
    "posteriors", "posterior_rows", "log_posteriors", "logits", "logit_rows", "log_likelihoods",
    "llrs", "raw_scores",
)  # fmt: skip
BINARY = ("posteriors", "logits", "llrs", "raw_scores")  # one number for each sample
SCORES = ("plain", "tied", "rounded", "infinite", "extreme", "constant", "separated")
WEIGHTS = ("none", "fractions", "zeros", "wild")
LAYOUTS = (
    "random", "sorted", "by class", "single rows", "empty parts", "no weight", "ties", "uneven",
    "one part", "many parts",
)  # fmt: skip
FORMS = ("predictions", "pairs", "functions", "functions of pairs")
#: Around blocks of 4,096 rows, PAV buckets (16 rows in each of 256) and fits on sums.
SIZES = (4_095, 4_097, 16_383, 16_384, 16_385)


@dataclass(frozen=True, eq=False)
class Case:
    """Data, and how they are cut; everything else follows from the seed."""

    kind: str = "llrs"
    n: int = 60
    n_classes: int = 2
    scores: str = "plain"
    weights: str = "none"
    priors: bool = False
    layout: str = "random"
    form: str = "pairs"
    minority: float = 0.4  # share of class 1
    seed: int = 0
    #: What FASTPSR_MEMORY is, where it is not the default.
    budget: str | None = None
    #: One for each time that parts were made.
    counters: "list[Counter]" = field(default_factory=list, repr=False)

    @cached_property
    def arrays(self):
        """Name -> array, in the order of the rows; and where parts begin and end."""
        rng = np.random.default_rng([self.seed, self.n])
        K = self.n_classes
        y = _labels(rng, self.n, K, self.minority)
        x = _scores(rng, y, K, self.kind, self.scores)
        w = _weights(rng, self.weights, self.n)
        ids = {
            "unit": rng.integers(0, max(2, self.n // 3), self.n),
            "left": np.array([f"s{i}" for i in rng.integers(0, 12, self.n)]),
            "right": np.array([f"s{i}" for i in rng.integers(0, 12, self.n)]),
            "fold": rng.integers(0, 3, self.n),
        }
        order, cuts = _partition(rng, self.layout, y, x, w)
        rows = {"y": y, "x": x, **ids} | ({} if w is None else {"w": w})
        return {name: np.ascontiguousarray(array[order]) for name, array in rows.items()}, cuts

    @property
    def ids(self):
        """Columns of ids by name."""
        found = {name: self.arrays[0][name] for name in ("unit", "left", "right", "fold")}
        return found | {"spoof": fp.MinADCF.examples(self.memory)[0].spoof}

    def make(self, rows=slice(None), counter=None):
        """Return the predictions of some rows."""
        held = self.arrays[0]
        x, y = held["x"][rows], held["y"][rows]
        options = {}
        if "w" in held:
            options["sample_weight"] = held["w"][rows]
        if self.priors and self.kind != "raw_scores":
            shares = np.arange(1.0, self.n_classes + 1.0) / 10.0
            shares[-1] = 1.0 - shares[:-1].sum()
            options |= {"prior": 0.1} if self.kind == "llrs" else {"priors": shares}
        kind = {"posterior_rows": "posteriors", "logit_rows": "logits"}.get(self.kind, self.kind)
        if counter is not None:
            x = x.copy()
            counter.watch(x)
        return getattr(fp.Predictions, f"from_{kind}")(y, x, **options)

    @cached_property
    def memory(self):
        return self.make()

    @property
    def n_parts(self):
        return len(self.arrays[1]) - 1

    def parts(self):
        """Return the data in parts, anew."""
        counter, given = Counter(), []
        for number, (start, stop) in enumerate(itertools.pairwise(self.arrays[1])):
            rows = slice(start, stop)

            def part(rows=rows, number=number):
                counter.calls[number] += 1
                made = self.make(rows, counter if "functions" in self.form else None)
                if self.form == "predictions":
                    return made
                return made, {name: ids[rows] for name, ids in self.ids.items()}

            given.append(part if "functions" in self.form else part())
        data = fp.from_parts(given)
        counter.calls.clear()  # the first part was looked at
        self.counters.append(counter)
        return data

    @property
    def most_alive(self):
        """How many parts of one source were alive at a time, at most."""
        return max((counter.most_alive for counter in self.counters), default=0)


class Counter:
    """How often each part was read, and how many were alive at a time."""

    def __init__(self):
        self.calls = Counts()
        self.most_alive = 0
        self._references = []

    def watch(self, array):
        """Count an array among those alive."""
        self._references = [one for one in self._references if one() is not None]
        self._references.append(weakref.ref(array))
        if len(self._references) > 3:  # or garbage that waits for its collection
            gc.collect()
            self._references = [one for one in self._references if one() is not None]
        self.most_alive = max(self.most_alive, len(self._references))


def _labels(rng, n, K, minority):
    y = (rng.random(n) < minority).astype(np.int64) if K == 2 else rng.integers(0, K, n)
    y[: min(n, 3 * K)] = (np.arange(3 * K) % K)[:n]  # each class in each of three folds
    return y


def _scores(rng, y, K, kind, scores):
    n = y.size
    if K == 2:
        z = 1.5 * rng.normal(size=n) + 2.0 * y - 1.0
        if scores == "separated":
            z = np.abs(z) * (2.0 * y - 1.0) + y
    else:
        z = 1.5 * rng.normal(size=(n, K)) + 2.0 * np.eye(K)[y]
        if scores == "separated":
            z = z - 20.0 + 40.0 * np.eye(K)[y]
    if scores == "tied":
        z = z.round()
    elif scores == "rounded":
        z = z.round(2)
    elif scores == "constant":
        z = np.zeros_like(z)
    elif scores == "extreme":
        z[rng.random(z.shape) < 0.1] *= 250.0
    elif scores == "infinite":
        hit = rng.random(z.shape) < 0.08
        if K == 2:
            z[hit] = np.where(rng.random(n) < 0.8, 2.0 * y - 1.0, 1.0 - 2.0 * y)[hit] * np.inf
        else:
            hit[np.arange(n), rng.integers(0, K, n)] = False
            z[hit] = -np.inf
    if kind in ("llrs", "raw_scores", "logits"):
        assert K == 2 or kind == "logits"
        return z
    if K == 2:
        rows = np.column_stack([-0.5 * z, 0.5 * z])
        with np.errstate(invalid="ignore"):
            rows -= rows.max(axis=1, keepdims=True)
        rows[np.isposinf(z)], rows[np.isneginf(z)] = (-np.inf, 0.0), (0.0, -np.inf)
        z = rows
    if kind in ("log_likelihoods", "logit_rows"):
        return z
    with np.errstate(divide="ignore"):
        q = np.exp(z - z.max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
        if kind == "posteriors":
            return np.ascontiguousarray(q[:, 1])
        if scores == "rounded":
            q = np.round(q, 2) + 1e-9
            q /= q.sum(axis=1, keepdims=True)
        return np.log(q) if kind == "log_posteriors" else q


def _weights(rng, weights, n):
    if weights == "none":
        return None
    if weights == "fractions":
        return rng.integers(1, 30, n) * 0.1
    if weights == "zeros":
        return np.where(rng.random(n) < 0.4, 0.0, rng.uniform(0.1, 3.0, n))
    return 10.0 ** rng.uniform(-3.0, 3.0, n)


def _partition(rng, layout, y, x, w):
    """Return an order of the rows, and the ends of parts in it."""
    n = y.size
    one = x if x.ndim == 1 else x[:, -1]
    order = np.arange(n)
    if layout in ("sorted", "ties"):
        order = np.argsort(one, kind="stable")
    elif layout == "by class":
        order = np.argsort(y, kind="stable")
    elif layout == "no weight" and w is not None:
        order = np.argsort(w > 0.0, kind="stable")
    cuts = np.sort(rng.integers(0, n + 1, 6))
    if layout == "by class":
        cuts = np.flatnonzero(np.diff(y[order])) + 1
    elif layout == "no weight":
        n_zero = 0 if w is None else int((w == 0.0).sum())
        cuts = np.array([n_zero // 2, n_zero])
    elif layout == "single rows":
        cuts = np.concatenate([np.arange(min(n, 40)), [n - 1]])
    elif layout == "empty parts":
        cuts = np.sort(np.concatenate([np.zeros(2, int), np.repeat(cuts[:3], 3), np.full(2, n)]))
    elif layout == "ties":  # between equal scores
        sorted_scores = one[order]
        cuts = np.flatnonzero(sorted_scores[1:] == sorted_scores[:-1])[::7][:20] + 1
    elif layout == "uneven":
        cuts = np.array([1, 2, n // 50 + 2])
    elif layout == "one part":
        cuts = np.array([], int)
    elif layout == "many parts":  # several runs of the tree in which sums are joined
        cuts = np.linspace(0, n, 53).astype(int)[1:-1]
    return order, [0, *sorted(cuts.clip(0, n).tolist()), n]


def with_columns(case):
    """Return a case whose parts have columns."""
    without = {"predictions": "pairs", "functions": "functions of pairs"}
    return changed(case, form=without.get(case.form, case.form))


def changed(case, **changes):
    """Return a case with other fields."""
    held = {name: getattr(case, name) for name in case.__dataclass_fields__ if name != "counters"}
    return Case(**{**held, **changes})


#: Cases that always run.
NASTY = {
    "LLRs without a prior, one class in a part": Case(layout="by class"),
    "LLRs, sorted, one row in a part": Case(layout="single rows", scores="tied", n=45),
    "LLRs, ties across parts": Case(layout="ties", scores="tied", priors=True, form="predictions"),
    "LLRs, infinite": Case(scores="infinite", n=90, layout="sorted", form="functions"),
    "LLRs, weights, given prior": Case(weights="fractions", priors=True, layout="by class"),
    "LLRs, parts without weight": Case(weights="zeros", layout="no weight"),
    "posteriors without priors": Case("posteriors", layout="by class", form="functions"),
    "posteriors, given priors": Case("posteriors", priors=True, layout="uneven", scores="rounded"),
    "posteriors, infinite, weights": Case("posteriors", scores="infinite", weights="wild", n=150),
    "rows of two": Case("posterior_rows", layout="empty parts", weights="zeros"),
    "logits": Case("logits", layout="sorted", weights="fractions", n=200),
    "logits, separated": Case("logits", scores="separated", n=40),
    "constant scores": Case("logits", scores="constant", n=40, layout="many parts"),
    "raw scores": Case("raw_scores", scores="infinite", layout="ties", n=120),
    "raw scores, weights": Case("raw_scores", scores="tied", weights="fractions", n=120),
    "rare targets": Case("raw_scores", minority=0.02, n=900, layout="sorted"),
    "3 classes, posteriors": Case("posterior_rows", 90, 3, "rounded", "zeros", layout="by class"),
    "3 classes, logits, weights": Case("logit_rows", 120, 3, weights="fractions", priors=True),
    "3 classes, log-posteriors": Case("log_posteriors", 90, 3, "infinite", layout="empty parts"),
    "5 classes, likelihoods": Case("log_likelihoods", 150, 5, layout="by class"),
    "5 classes, likelihoods, priors": Case("log_likelihoods", 150, 5, "tied", "wild", True),
    "two likelihoods": Case("log_likelihoods", 80, 2, "extreme", layout="sorted"),
    "one class alone": Case(n=30, minority=0.0, layout="one part", seed=1),
    "beyond a threshold, LLRs": Case(n=16_384, layout="sorted", weights="fractions", seed=2),
    "beyond a threshold, infinite": Case("logits", 16_385, scores="infinite", seed=3),
    "below a threshold": Case("posteriors", 16_383, layout="by class", priors=True, seed=4),
    "beyond a threshold, rare targets": Case(
        "raw_scores", 20_000, minority=0.03, layout="sorted", scores="rounded", seed=5
    ),
    "little memory, balanced": Case(n=9_000, scores="rounded", minority=0.5, budget="20KB"),
    "little memory, rare targets": Case(
        "logits", 9_000, minority=0.02, budget="20KB", weights="zeros"
    ),
    "little memory, many parts": Case(
        "logits", 9_000, minority=0.02, layout="many parts", budget="20KB", weights="zeros"
    ),
}  # fmt: skip
#: Those that are read for each step of a fit, in fifty parts.
SLOW = ("little memory, many parts",)


def cases():
    """Draw a case, mostly small."""
    from hypothesis import strategies as st

    @st.composite
    def draw_case(draw):
        kind = draw(st.sampled_from(KINDS))
        K = 2 if kind in BINARY else draw(st.sampled_from([2, 3, 5]))
        n = draw(st.one_of(st.integers(1, 80), st.sampled_from([300, 1_000, 4_097])))
        return Case(
            kind, n, K,
            scores=draw(st.sampled_from(SCORES)),
            weights=draw(st.sampled_from(WEIGHTS)),
            priors=draw(st.booleans()),
            layout=draw(st.sampled_from(LAYOUTS)),
            form=draw(st.sampled_from(FORMS)),
            minority=draw(st.sampled_from([0.5, 0.4, 0.05, 0.95])),
            seed=draw(st.integers(0, 1 << 16)),
            budget=draw(st.sampled_from([None, None, None, "30KB"])),
        )  # fmt: skip

    return draw_case()
