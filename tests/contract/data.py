"""The generator of data: cases in which every two choices occur together, whole and in parts."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import fastpsr as fp

#: Name of a kind -> constructor, number of classes, and whether there is a column per class.
KINDS = {
    "posteriors": ("posteriors", 2, False),
    "posteriors in two columns": ("posteriors", 2, True),
    "logits": ("logits", 2, False),
    "LLRs": ("llrs", 2, False),
    "raw scores": ("raw_scores", 2, False),
    "log-likelihoods": ("log_likelihoods", 2, True),
    "posteriors of 3 classes": ("posteriors", 3, True),
    "logits of 3 classes": ("logits", 3, True),
    "log-posteriors of 3 classes": ("log_posteriors", 3, True),
    "log-likelihoods of 5 classes": ("log_likelihoods", 5, True),
}
CHOICES = {
    "kind": tuple(KINDS),
    "scores": ("plain", "tied", "infinite", "extreme", "constant", "separated"),
    "weights": ("none", "fractions", "zeros", "wild"),
    "has_priors": (False, True),
    "cuts": (
        "random", "sorted", "by class", "single rows", "empty parts", "without weight", "in ties",
        "one part", "many parts",
    ),
    "from_functions": (False, True),
    "positives": (0.4, 0.05),
    "n": (60, 300),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Data, and where they are cut into parts; everything else follows from the fields."""

    kind: str = "LLRs"
    scores: str = "plain"
    weights: str = "none"
    has_priors: bool = False
    cuts: str = "random"
    from_functions: bool = False
    positives: float = 0.4  # share of class 1 of two
    n: int = 300
    seed: int = 0

    @property
    def n_classes(self):
        return KINDS[self.kind][1]

    @cached_property
    def _rows_and_ends(self):
        rng = np.random.default_rng([self.seed, self.n])
        n, K = self.n, self.n_classes
        y = (rng.random(n) < self.positives).astype(int) if K == 2 else rng.integers(0, K, n)
        y[: 3 * K] = np.arange(3 * K) % K
        rows = {
            "y": y,
            "scores": _scores(rng, y, self.kind, self.scores),
            "weights": _weights(rng, self.weights, n),
            "unit": rng.integers(0, n // 3, n),
            "left": np.array([f"s{i:02}" for i in rng.integers(0, 12, n)]),
            "right": np.array([f"s{i:02}" for i in rng.integers(0, 12, n)]),
            "fold": np.arange(n) // K % 3,
            "group": np.array(["a", "b", "c"])[np.arange(n) // 2 % 3],
        }
        order, ends = _cut(rng, self.cuts, rows)
        return {name: values[order] for name, values in rows.items()}, ends

    @property
    def rows(self):
        """Arrays of n rows by name: y, scores, weights, and columns of ids."""
        return self._rows_and_ends[0]

    @property
    def columns(self):
        return {name: self.rows[name] for name in ("unit", "left", "right", "fold", "group")}

    def predictions(self, index=slice(None), weights=None):
        """Return the predictions of some rows, with other weights if these are passed."""
        constructor = KINDS[self.kind][0]
        options = {}
        if weights is not None:
            options["sample_weight"] = weights
        elif self.weights != "none":
            options["sample_weight"] = self.rows["weights"][index]
        if self.has_priors and constructor == "llrs":
            options["prior"] = 0.1
        elif self.has_priors and constructor != "raw_scores":
            options["priors"] = np.append(
                np.full(self.n_classes - 1, 0.1), 1.1 - 0.1 * self.n_classes
            )
        make = getattr(fp.Predictions, f"from_{constructor}")
        return make(self.rows["y"][index], self.rows["scores"][index], **options)

    def parts(self, columns=None):
        """Return the data in parts, which have columns."""
        columns = self.columns if columns is None else columns

        def part(start, stop):
            index = slice(start, stop)
            return self.predictions(index), {name: ids[index] for name, ids in columns.items()}

        bounds = itertools.pairwise(self._rows_and_ends[1])
        if self.from_functions:
            return fp.from_parts([lambda b=b: part(*b) for b in bounds])
        return fp.from_parts([part(*b) for b in bounds])


def _scores(rng, y, kind, scores):
    constructor, K, is_matrix = KINDS[kind]
    n = y.size
    z = 1.5 * rng.normal(size=(n, K)) + 2.0 * np.eye(K)[y]
    if scores == "tied":
        z = z.round()
    elif scores == "constant":
        z[:] = 0.0
    elif scores == "separated":
        z = 0.1 * z + 10.0 * np.eye(K)[y]
    elif scores == "extreme":
        z[rng.random(z.shape) < 0.1] *= 100.0
    elif scores == "infinite":  # mostly of wrong classes
        is_infinite = rng.random(z.shape) < 0.1
        is_infinite[np.arange(n), np.where(rng.random(n) < 0.8, y, (y + 1) % K)] = False
        z[is_infinite] = -np.inf
    if constructor in ("llrs", "raw_scores") or (constructor == "logits" and not is_matrix):
        return z[:, 1] - z[:, 0]
    if constructor in ("logits", "log_likelihoods"):
        return z
    q = np.exp(z - z.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    if constructor == "log_posteriors":
        with np.errstate(divide="ignore"):
            return np.log(q)
    return q if is_matrix else q[:, 1].copy()


def _weights(rng, weights, n):
    return {
        "none": np.ones(n),
        "fractions": rng.integers(1, 30, n) * 0.1,
        "zeros": np.where(rng.random(n) < 0.4, 0.0, rng.uniform(0.1, 3.0, n)),
        "wild": 10.0 ** rng.uniform(-3.0, 3.0, n),
        "repetitions": rng.integers(0, 4, n),
    }[weights]


def _cut(rng, cuts, rows):
    """Return an order of the rows, and where parts begin and end in it."""
    n = rows["y"].size
    last = rows["scores"] if rows["scores"].ndim == 1 else rows["scores"][:, -1]
    keys = {"sorted": last, "in ties": last, "by class": rows["y"]}
    keys["without weight"] = rows["weights"] > 0.0
    order = np.argsort(keys[cuts], kind="stable") if cuts in keys else np.arange(n)
    inner = np.sort(rng.integers(0, n + 1, 6))
    if cuts in ("by class", "without weight"):
        inner = np.flatnonzero(np.diff(keys[cuts][order])) + 1
    elif cuts == "single rows":
        inner = np.append(np.arange(1, 20), n - 1)
    elif cuts == "empty parts":
        inner = np.concatenate([[0, 0], np.repeat(inner[:3], 3), [n, n]])
    elif cuts == "in ties":
        inner = np.flatnonzero(np.diff(last[order]) == 0.0)[::7][:20] + 1
    elif cuts == "one part":
        inner = inner[:0]
    elif cuts == "many parts":  # several runs of the tree in which sums are joined
        inner = np.linspace(0, n, 53).astype(int)[1:-1]
    return order, [0, *inner.tolist(), n]


def pairwise(choices):
    """Yield dicts of choices such that every two values of two names occur together."""
    missing = {
        frozenset([(a, x), (b, y)])
        for a, b in itertools.combinations(choices, 2)
        for x in choices[a]
        for y in choices[b]
    }
    random = np.random.RandomState(0)
    while missing:
        chosen = dict(sorted(missing, key=_sorted_text)[random.randint(len(missing))])
        for name in random.permutation([name for name in choices if name not in chosen]):
            pairs = [(name, value) for value in choices[name]]
            gains = [
                len(missing & {frozenset([pair, other]) for other in chosen.items()})
                for pair in pairs
            ]
            chosen[str(name)] = pairs[int(np.argmax(gains))][1]
        missing -= {frozenset(pair) for pair in itertools.combinations(chosen.items(), 2)}
        yield chosen


def _sorted_text(pair):
    return sorted(map(str, pair))


CASES = [Case(**choices, seed=seed) for seed, choices in enumerate(pairwise(CHOICES))]
#: Beyond the sizes at which other ways are taken: sums on an axis, buckets, sampled ranges.
LARGE = [
    Case(n=40_001, cuts="sorted", weights="fractions"),
    Case("logits", "infinite", n=16_384, cuts="many parts", from_functions=True),
    Case("posteriors", n=20_000, cuts="by class", has_priors=True, positives=0.02),
    Case("raw scores", "tied", n=20_000, cuts="in ties", positives=0.02),
    Case("posteriors of 3 classes", n=16_400, weights="zeros"),
]
