"""Arrays as nasty as NumPy allows, and numbers likewise: what the fuzzer passes around."""

import datetime
from fractions import Fraction

import numpy as np

INF, NAN = np.inf, np.nan
LEAST, LARGEST = 5e-324, np.finfo(float).max
NANS = np.array(
    [0x7FF8000000000000, 0x7FF0000000000001, 0xFFF8DEADBEEF0001, 0xFFFFFFFFFFFFFFFF], np.uint64
).view(np.float64)  # quiet, signaling, with payloads, negative
EDGES = np.array(
    [0.0, -0.0, LEAST, -LEAST, 2.2250738585072009e-308, 2.2250738585072014e-308, 1e-300, -1e-300,
     1e308, -1e308, LARGEST, -LARGEST, 1.0, -1.0, 0.5, np.nextafter(1, 0), np.nextafter(1, 2),
     745.2, -745.2, 709.8, -709.8, 36.7, -36.8]
)  # fmt: skip
SIZES = (1, 2, 3, 5, 8, 17, 40, 64, 200)
LARGE_SIZES = (4095, 4096, 4097, 9000)


class Source:
    """Random choices; `nasty` is how often something is not as it should be."""

    def __init__(self, seed, nasty=0.15, large=False):
        self.rng = np.random.default_rng(seed)
        self.nasty = nasty
        self.large = large

    def chance(self, probability):
        return bool(self.rng.random() < probability)

    def bad(self):
        """Whether to break a rule here."""
        return self.chance(self.nasty)

    def of(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def size(self):
        return self.of(LARGE_SIZES) if self.large and self.chance(0.3) else self.of(SIZES)

    # Values

    def scores(self, shape, finite=False):
        """Real numbers: of one magnitude or of many, tied, subnormal, infinite."""
        rng = self.rng
        x = rng.normal(size=shape) * 10.0 ** rng.uniform(-3, 3)
        kind = int(rng.integers(8))
        if kind == 0:
            x = x.round(int(rng.integers(0, 2)))
        elif kind == 1:
            x = np.full(shape, self.of(EDGES))
        elif kind == 2:
            with np.errstate(all="ignore"):
                x *= 10.0 ** rng.uniform(-320, 305, shape)
        elif kind == 3:
            x = rng.integers(-3, 4, shape) * LEAST
        elif kind == 4:
            x = np.nextafter(1.0, 2.0) ** rng.integers(-4, 5, shape)
        if self.chance(0.5):
            self._sprinkle(x, EDGES)
            if not finite:
                self._sprinkle(x, [INF, -INF])
        return x

    def log_rows(self, shape):
        """Rows of logits: no nan, no +inf, a finite entry in each."""
        x = self.scores(shape, finite=True)
        if self.chance(0.4):
            self._sprinkle(x, [-INF])
            x[np.isneginf(x).all(axis=1), 0] = 0.0
        return x

    def shares(self, shape):
        """Numbers from 0 to 1."""
        with np.errstate(over="ignore", under="ignore"):
            x = 1.0 / (1.0 + np.exp(-self.scores(shape)))
        if self.chance(0.4):
            self._sprinkle(x, [0.0, 1.0, LEAST, 0.5, np.nextafter(1, 0), 1 / 3, 2.3e-308])
        return x

    def rows(self, n, K):
        """Rows that sum to 1: vague, certain, and nearly either."""
        with np.errstate(over="ignore", under="ignore"):
            x = np.exp(np.clip(self.scores((n, K), finite=True), -1e3, 300.0))
        x[x.sum(axis=1) == 0.0] = 1.0
        x /= x.sum(axis=1, keepdims=True)
        return x

    def weights(self, n):
        kind = int(self.rng.integers(6))
        w = self.rng.uniform(0.0, 2.0, n)
        if kind == 0:
            w = self.rng.integers(0, 3, n).astype(float)
        elif kind == 1:
            w = 10.0 ** self.rng.uniform(-280, -100, n)
        elif kind == 2:
            w = 10.0 ** self.rng.uniform(-300, 290, n)
        elif kind == 3:
            w = np.full(n, LARGEST / n / 2)
        elif kind == 4:
            self._sprinkle(w, [0.0, LEAST, 1e-308, 1.0])
        if not w.any():
            w[0] = 1.0
        return w

    def labels(self, n, K):
        y = self.rng.integers(0, K, n)
        if n >= K and self.chance(0.85):
            y[:K] = self.rng.permutation(K)
        return y

    def priors(self, K):
        p = self.rng.dirichlet(np.full(K, 0.5))
        if self.chance(0.2):
            p[self.rng.integers(K)] = 0.0
            p = p / p.sum() if p.any() else np.full(K, 1 / K)
        return p

    def spoil(self, x):
        """Break a rule that the values should keep."""
        x = np.array(x, float)
        if x.size:
            self._sprinkle(x, [*NANS, INF, -INF, -1.0, 2.0, 1e308, -LEAST, 0.3], least=1)
        return x

    def _sprinkle(self, x, values, least=0):
        count = int(self.rng.integers(least, 2 + x.size // 8))
        places = self.rng.integers(0, max(x.size, 1), count)
        x.reshape(-1)[places] = self.rng.choice(np.asarray(values, float), count)

    # The array around the values

    def dress(self, x, whole=False):
        """Return the same values (to the precision of a dtype) in a form that must be taken."""
        x = np.asarray(x)
        forms = [
            lambda: x,
            lambda: x.tolist(),
            lambda: tuple(x.tolist()),
            lambda: x.astype(object),
            lambda: np.asfortranarray(x),
            lambda: x[::-1].copy()[::-1],
            lambda: _strided(x),
            lambda: _unaligned(x),
            lambda: _read_only(x),
            lambda: x.astype(x.dtype.newbyteorder(">")),
            lambda: memoryview(np.ascontiguousarray(x)),
            lambda: np.ma.masked_array(x),
            lambda: x.view(_Subclass),
            lambda: _Interface(x),
            lambda: _AsArray(x),
        ]
        if whole:
            forms += [
                lambda: x.astype(float),
                lambda: x.astype(np.uint64),
                lambda: x.astype(">i2"),
                lambda: x.astype(np.int8),
                lambda: x.astype(np.float16),
                lambda: x.astype(bool) if x.size and x.max() <= 1 else x,
            ]
        elif x.dtype == float:
            forms += [
                lambda: x.astype(np.longdouble),
                lambda: x.astype(">f8"),
                lambda: x.astype(np.longdouble).astype(object),
            ]
        with np.errstate(all="ignore"):
            return self.of(forms)()

    def rubbish(self, x):
        """Return something that must be refused, or at least not crash."""
        x = np.asarray(x)
        forms = [
            lambda: np.empty(0),
            lambda: np.empty((0, *x.shape[1:])),
            lambda: np.empty((*x.shape, 0)),
            list,
            lambda: None,
            lambda: x[0] if x.size else 0.5,
            lambda: np.array(0.5),
            lambda: float(x.flat[0]) if x.size else 0.0,
            lambda: x[..., None],
            lambda: x[None],
            lambda: np.stack([x, x, x]),
            lambda: x[:-1],
            lambda: np.concatenate([x, x]),
            lambda: x.astype(complex),
            lambda: x.astype(str),
            lambda: x.astype("S8"),
            lambda: np.zeros(x.shape, "M8[s]"),
            lambda: np.zeros(x.shape, "m8[s]"),
            lambda: np.zeros(x.shape, [("a", float)]),
            lambda: np.zeros(x.shape, "V4"),
            lambda: np.full(x.shape, None),
            lambda: np.full(x.shape, "x", object),
            lambda: np.ma.masked_array(x, np.arange(x.size).reshape(x.shape) % 2 == 0),
            lambda: [*x.tolist(), [1.0, [2.0]]],
            lambda: [Fraction(1, 3), datetime.date(2020, 1, 1)],
            lambda: {"a": 1},
            lambda: {1.0, 2.0},
            lambda: "0.5",
            lambda: b"0.5",
            lambda: object(),
            lambda: (value for value in x.tolist()),
            lambda: np.broadcast_to(x[:1], x.shape) if x.shape[:1] > (0,) else x,
            lambda: np.broadcast_to(np.float64(0.5), x.shape),
            lambda: x.astype(np.float16),
            lambda: x.astype(np.int64),
            lambda: x.astype(np.uint8),
            lambda: (x * 0).astype(bool),
            lambda: [10**400, 1],
            lambda: np.array([10**30] * max(1, x.shape[0] if x.ndim else 1), object),
            lambda: _Angry(),
        ]
        with np.errstate(all="ignore"):
            return self.of(forms)()

    def give(self, x, whole=False):
        """Return an argument made of good values: dressed mostly, spoiled now and then."""
        if self.bad():
            return self.rubbish(x) if self.chance(0.5) else self.dress(self.spoil(x))
        return self.dress(x, whole) if self.chance(0.5) else np.asarray(x)

    # Numbers

    def number(self, good):
        """A number given as `good`, or something else."""
        if not self.bad():
            wrap = self.of([lambda v: v, np.float64, np.float32, lambda v: np.array(v)[()]])
            with np.errstate(all="ignore"):
                return wrap(good) if isinstance(good, float) else self.of([int, np.int32])(good)
        return self.of(
            [NAN, INF, -INF, 0.0, -1.0, 1.0, 2.0, 1e308, -1e308, LEAST, -0.0, 0, -1, 10**30, 1.5,
             np.float16(0.5), np.array(0.5), np.array([0.5]), np.array([0.5, 0.5]), True, None,
             "x", "0.5", 1j, [], [0.5], {}, np.datetime64("NaT", "s"), object()]
        )  # fmt: skip


class _Subclass(np.ndarray):
    pass


class _Interface:
    """An array known by its interface alone."""

    def __init__(self, x):
        self._held = np.ascontiguousarray(x)
        self.__array_interface__ = self._held.__array_interface__


class _AsArray:
    def __init__(self, x):
        self._held = x

    def __array__(self, dtype=None, copy=None):
        return np.array(self._held, dtype)


class _Angry:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no")


def _strided(x):
    wide = np.zeros([3 * size for size in x.shape], x.dtype)
    inside = wide[tuple(slice(1, None, 3) for _ in x.shape)]
    inside[...] = x
    return inside


def _unaligned(x):
    held = np.zeros(x.nbytes + 1, np.uint8)
    view = held[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x
