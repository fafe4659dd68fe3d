"""Twenty-four small data sets that differ in what metrics, fits and draws depend on.

They are drawn by `numpy.random.RandomState`, whose streams NumPy has frozen.
"""

import itertools
from functools import cache

import numpy as np

import fastpsr as fp

PARTS = (0, 0, 0.31, 0.33, 1.0)  # where parts end: an empty one, a large one, a tiny one, the rest


def _binary(n, share=0.4, seed=0):
    """Return labels with some of each class first, natural log-odds, and the generator."""
    random = np.random.RandomState(seed + n)
    y = (random.uniform(size=n) < share).astype(np.int64)
    y[:4] = 0, 1, 0, 1
    return y, 1.6 * random.standard_normal(n) + 2.2 * y - 1.1, random


def _several(n, n_classes, seed=0):
    random = np.random.RandomState(seed + n)
    y = np.arange(n) % n_classes
    return y, 1.3 * random.standard_normal((n, n_classes)) + 1.8 * np.eye(n_classes)[y], random


def _softmax(z):
    q = np.exp(z - z.max(axis=-1, keepdims=True))
    return q / q.sum(axis=-1, keepdims=True)


def _expit(z):
    return 1.0 / (1.0 + np.exp(-z))


def llrs():
    y, z, _ = _binary(400)
    return fp.Predictions.from_llrs(y, z)


def llrs_at_prior():
    y, z, _ = _binary(401)
    return fp.Predictions.from_llrs(y, z, prior=0.1)


def llrs_tied():
    y, z, _ = _binary(402)
    return fp.Predictions.from_llrs(y, z.round())


def llrs_weighted():
    y, z, random = _binary(403)
    return fp.Predictions.from_llrs(y, z, sample_weight=random.randint(0, 4, 403) * 0.7)


def llrs_infinite():
    y, z, random = _binary(404)
    z[random.uniform(size=404) < 0.08] *= np.inf
    return fp.Predictions.from_llrs(y, z, prior=0.3)


def llrs_rare_targets():
    y, z, _ = _binary(20_000, share=0.005)
    return fp.Predictions.from_llrs(y, z.round(4))


def llrs_tiny():
    return fp.Predictions.from_llrs([0, 1, 0, 1, 1, 0], [-1.5, 2.0, 0.25, -0.5, 1.0, -3.0])


def llrs_separated():
    y, z, _ = _binary(60)
    return fp.Predictions.from_llrs(y, np.where(y == 1, 1.0, -1.0) * (0.2 + np.abs(z)))


def llrs_constant():
    y, _, _ = _binary(50)
    return fp.Predictions.from_llrs(y, np.full(50, 0.5))


def posteriors():
    y, z, _ = _binary(410)
    return fp.Predictions.from_posteriors(y, _expit(z))


def posteriors_two_columns():
    y, z, _ = _binary(411)
    q = _expit(3.0 * z)
    return fp.Predictions.from_posteriors(y, np.column_stack([1.0 - q, q]))


def posteriors_float32():
    y, z, _ = _binary(412)
    return fp.Predictions.from_posteriors(y, _expit(z).astype(np.float32))


def posteriors_at_priors():
    y, z, _ = _binary(413)
    return fp.Predictions.from_posteriors(y, _expit(z).round(2).clip(0.01, 0.99), priors=[0.8, 0.2])


def posteriors_of_zero():
    y, z, _ = _binary(414)
    q = _expit(z)
    q[10:30] = y[10:30]
    q[40] = 1.0 - y[40]
    return fp.Predictions.from_posteriors(y, q)


def logits_wild_weights():
    y, z, random = _binary(420)
    return fp.Predictions.from_logits(y, z, sample_weight=10.0 ** random.uniform(-4, 4, 420))


def log_posteriors_infinite():
    y, z, random = _binary(421)
    z[random.uniform(size=421) < 0.1] *= np.inf
    rows = -np.logaddexp(0.0, np.column_stack([z, -z]))
    return fp.Predictions.from_log_posteriors(y, rows)


def raw_tied():
    y, z, _ = _binary(430)
    return fp.Predictions.from_raw_scores(y, z.round(1))


def raw_weighted():
    y, z, random = _binary(431)
    return fp.Predictions.from_raw_scores(y, z, sample_weight=random.uniform(0.1, 2.0, 431))


def raw_balanced():
    y, z, _ = _binary(20_001, share=0.5)
    return fp.Predictions.from_raw_scores(y, z.astype(np.float32))


def three_classes_weighted():
    y, z, random = _several(450, 3)
    q = _softmax(z)
    return fp.Predictions.from_posteriors(y, q, sample_weight=random.randint(0, 3, 450) + 0.5)


def three_classes_float32():
    y, z, _ = _several(451, 3)
    return fp.Predictions.from_logits(y, np.asfortranarray(z.astype(np.float32)))


def three_classes_at_priors():
    y, z, _ = _several(452, 3)
    return fp.Predictions.from_log_likelihoods(y, z, priors=[0.5, 0.3, 0.2])


def three_classes_infinite():
    y, z, random = _several(453, 3)
    z[random.uniform(size=z.shape) < 0.08] = -np.inf
    z[np.isneginf(z).all(axis=1)] = 0.0
    z -= np.logaddexp.reduce(z, axis=1, keepdims=True)
    return fp.Predictions.from_log_posteriors(y, z)


def twenty_classes():
    y, z, _ = _several(600, 20)
    names = np.array([f"class {k:02}" for k in range(20)])
    return fp.Predictions.from_logits(names[y], 1.5 * z, classes=names.tolist())


DATASETS = {
    make.__name__: cache(make)
    for make in (
        llrs, llrs_at_prior, llrs_tied, llrs_weighted, llrs_infinite, llrs_rare_targets, llrs_tiny,
        llrs_separated, llrs_constant, posteriors, posteriors_two_columns, posteriors_float32,
        posteriors_at_priors, posteriors_of_zero, logits_wild_weights, log_posteriors_infinite,
        raw_tied, raw_weighted, raw_balanced, three_classes_weighted, three_classes_float32,
        three_classes_at_priors, three_classes_infinite, twenty_classes,
    )
}  # fmt: skip


@cache
def columns(n):
    """Ids of n rows: clusters of about five rows, speakers of both sides, three groups."""
    random = np.random.RandomState(n)
    names = np.array([f"id{k:02}" for k in range(12 + n // 40)])
    return {
        "cluster": np.arange(n) * 7 % n // 5,
        "enroll": names[random.randint(0, names.size, n)],
        "test": names[random.randint(0, names.size, n)],
        "group": np.array(["first", "second", "third"])[np.arange(n) // 2 % 3],
        "spoof": random.uniform(size=n) < 0.4,
    }


@cache
def in_parts(name):
    """Return a data set in parts, with its columns."""
    data = DATASETS[name]()
    n = len(data)
    ends = [int(share * n) for share in PARTS]
    rows = [slice(low, high) for low, high in itertools.pairwise(ends)]
    ids = columns(n)
    ids = ids | {"spoof": ids["spoof"] & (data.y_true == 0)}
    return fp.from_parts([(data[part], {k: v[part] for k, v in ids.items()}) for part in rows])
