"""Slow and obvious bootstrap: what each scheme draws, written from the contract.

A scheme is told by its name and its ids. `times` says how often each sample is there in a
replicate. Nothing here is fast, and nothing uses fastpsr.
"""

import itertools
import math
from collections import Counter

import numpy as np
from scipy import stats

ALPHA = 1e-6  # how rarely a right implementation would fail; seeds are fixed besides


# What is drawn


def units_of(scheme, y, weights, ids):
    """Strata of units, and the units of each sample; samples of weight 0 are as if absent."""
    present = [i for i in range(len(y)) if weights is None or weights[i] > 0]
    if scheme == "iid":
        return [present], [(i,) for i in range(len(y))]
    if scheme == "stratified":
        return [[i for i in present if y[i] == k] for k in sorted(set(y))], [
            (i,) for i in range(len(y))
        ]
    if scheme == "clusters":
        return [sorted({ids[i] for i in present})], [(ids[i],) for i in range(len(y))]
    one, other = ids
    sides = [{one[i], other[i]} for i in range(len(y))]
    return [sorted(set().union(*(sides[i] for i in present)))], [tuple(side) for side in sides]


def times_of(drawn, units_of_samples):
    """How often each sample is there: the product over its different units."""
    return [math.prod(drawn.get(unit, 0) for unit in units) for units in units_of_samples]


def every_replicate(scheme, y, weights=None, ids=None):
    """Every outcome as (times, probability)."""
    if scheme == "nested":
        yield from _every_nested_replicate(ids, weights)
        return
    strata, units_of_samples = units_of(scheme, y, weights, ids)
    for parts in itertools.product(*(list(compositions(len(s), len(s))) for s in strata)):
        drawn, probability = {}, 1.0
        for stratum, counts in zip(strata, parts, strict=True):
            drawn.update(zip(stratum, counts, strict=True))
            probability *= multinomial(counts)
        yield np.array(times_of(drawn, units_of_samples)), probability


def _every_nested_replicate(ids, weights):
    present = [i for i in range(len(ids)) if weights is None or weights[i] > 0]
    clusters = [[i for i in present if ids[i] == c] for c in sorted({ids[i] for i in present})]
    for copies in compositions(len(clusters), len(clusters)):
        sizes = [n * len(rows) for n, rows in zip(copies, clusters, strict=True)]
        ways = [
            list(compositions(size, len(rows))) for size, rows in zip(sizes, clusters, strict=True)
        ]
        for counts in itertools.product(*ways):
            times, probability = np.zeros(len(ids), int), multinomial(copies)
            for rows, of_cluster in zip(clusters, counts, strict=True):
                times[rows] = of_cluster
                probability *= multinomial(of_cluster)
            yield times, probability


def compositions(total, n_parts):
    """All ways to write a total as an ordered sum of n_parts numbers from 0."""
    if n_parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, n_parts - 1):
            yield (first, *rest)


def multinomial(counts):
    """Probability of counts of uniform draws from as many cells."""
    n = sum(counts)
    ways = math.factorial(n) / math.prod(math.factorial(c) for c in counts)
    return ways / len(counts) ** n


def distribution(value_at, outcomes):
    """Probability of each value, rounded; nan where it is undefined."""
    probabilities = Counter()
    for times, probability in outcomes:
        probabilities[key_of(value_at(times))] += probability
    return probabilities


def key_of(value):
    """Value to 8 digits, so that rounding does not tell outcomes apart."""
    return f"{value if abs(value) > 1e-12 else 0.0:.8g}"


# Tests of distributions


def assert_distributed(values, probabilities):
    """Chi-square of draws against the probability of each; what never happens must not."""
    counts = Counter(values)
    assert set(counts) <= set(probabilities), set(counts) - set(probabilities)
    n = sum(counts.values())
    rare = Counter()
    expected, observed = [], []
    for key, probability in sorted(probabilities.items(), key=lambda pair: -pair[1]):
        if n * probability >= 5.0:  # the usual rule for chi-square
            expected.append(n * probability)
            observed.append(counts[key])
        else:
            rare["expected"] += n * probability
            rare["observed"] += counts[key]
    if rare["expected"] >= 5.0:
        expected.append(rare["expected"])
        observed.append(rare["observed"])
    else:  # Poisson: how rarely so many
        assert stats.poisson.sf(rare["observed"] - 1, rare["expected"] + 1e-12) > ALPHA
    if len(expected) > 1:
        statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
        assert statistic < stats.chi2.isf(ALPHA, max(1, len(expected) - 1)), (observed, expected)


def assert_uniform(values, n):
    """Chi-square of integers below n."""
    assert_distributed(np.asarray(values).tolist(), dict.fromkeys(range(n), 1.0 / n))


def assert_same_distribution(one, other):
    """Two-sample Kolmogorov-Smirnov at the level ALPHA, by the DKW-Massart bound for each."""
    one, other = np.sort(one), np.sort(other)
    points = np.concatenate([one, other])
    gap = np.abs(
        np.searchsorted(one, points, side="right") / one.size
        - np.searchsorted(other, points, side="right") / other.size
    ).max()
    reach = math.sqrt(math.log(4.0 / ALPHA) / 2.0)
    assert gap < reach * (one.size**-0.5 + other.size**-0.5), gap


# Intervals


def quantile(values, share):
    """Least value that at least this share of the values do not exceed."""
    ordered = sorted(values)
    for place, value in enumerate(ordered, start=1):
        if place >= share * len(ordered) * (1.0 - 1e-12):
            return value
    return ordered[-1]


def interval(value, replicates, level, method, acceleration=0.0):
    """Interval of a value from its replicates, nan left out."""
    kept = [r for r in replicates if not math.isnan(r)]
    low, high = (1 - level) / 2, (1 + level) / 2
    if method == "normal":
        reach = stats.norm.ppf(high) * np.std(kept, ddof=1)
        center = 2 * value - np.mean(kept)
        return center - reach, center + reach
    if method == "basic":
        return 2 * value - quantile(kept, high), 2 * value - quantile(kept, low)
    if method == "bca":
        below = sum((r < value) + 0.5 * (r == value) for r in kept) / len(kept)
        z0 = stats.norm.ppf(below)
        z = [z0 + stats.norm.ppf(low), z0 + stats.norm.ppf(high)]
        low, high = (stats.norm.cdf(z0 + zi / (1 - acceleration * zi)) for zi in z)
    return quantile(kept, low), quantile(kept, high)


def jackknife_acceleration(value_at, scheme, y, weights=None, ids=None):
    """A sixth of the skewness of the influences, leaving each unit out in turn.

    Influences are centered within their stratum.
    """
    strata, units_of_samples = units_of(scheme, y, weights, ids)
    everything = {unit: 1 for stratum in strata for unit in stratum}
    influences = []
    for stratum in strata:
        left = np.array(
            [
                value_at(np.array(times_of({**everything, unit: 0}, units_of_samples)))
                for unit in stratum
            ]
        )
        influences.append(left.mean() - left)
    all_of_them = np.concatenate(influences)
    return float((all_of_them**3).sum() / (6.0 * (all_of_them**2).sum() ** 1.5))


def chebyshev_sums(groups, n_groups, weights, columns, degree):
    """(G, 1 + sums): weight, weighted columns, and of the last one T_1 to T_degree."""
    columns = [np.asarray(c, float) for c in columns]
    if degree:
        t = columns.pop()
        columns += [np.polynomial.Chebyshev.basis(k)(t) for k in range(1, degree + 1)]
    out = np.zeros((n_groups, 1 + len(columns)))
    for i in range(len(groups)):
        if weights[i] > 0:
            out[groups[i], 0] += weights[i]
            for c, column in enumerate(columns):
                out[groups[i], 1 + c] += weights[i] * column[i]
    return out
