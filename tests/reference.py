"""Slow and obvious versions of what fastpsr computes, written from the paper and the contract.

Labels `y` are class indices, `log_q` are rows of K log-posteriors, and `mass` says how much each
sample counts (see `sample_mass`). Nothing here is fast, and nothing uses fastpsr.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy import optimize


def assert_close(value, expected, rtol=1e-12, atol=1e-14):
    """Compare to the accuracy that the contract promises."""
    np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)


# What a sample counts


def sample_mass(y, n_classes, weights=None, priors=None):
    """Weight of each sample; with given priors, times its class's prior over its class's weight."""
    weights = [1.0] * len(y) if weights is None else [float(w) for w in weights]
    if priors is None:
        return weights
    totals = [
        math.fsum(w for w, c in zip(weights, y, strict=True) if c == k) for k in range(n_classes)
    ]
    return [w * priors[c] / totals[c] if w > 0 else 0.0 for w, c in zip(weights, y, strict=True)]


def class_totals(mass, y, n_classes):
    return [math.fsum(m for m, c in zip(mass, y, strict=True) if c == k) for k in range(n_classes)]


def class_priors(y, n_classes, weights=None, priors=None):
    """Priors of the evaluation: as given, else the weighted class frequencies."""
    if priors is not None:
        return [float(p) for p in priors]
    mass = sample_mass(y, n_classes, weights)
    totals = [
        math.fsum(m for m, c in zip(mass, y, strict=True) if c == k) for k in range(n_classes)
    ]
    return [t / math.fsum(totals) for t in totals]


def weighted_mean(values, mass):
    """Mean in which mass 0 wins over infinities."""
    kept = [(m, v) for m, v in zip(mass, values, strict=True) if m > 0]
    return math.fsum(m * v for m, v in kept) / math.fsum(m for m, _ in kept)


# Posteriors


def log_softmax(z):
    """Normalized log-posteriors of rows of logits."""
    shifted = np.asarray(z, float) - np.max(z, axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def log_sigmoid_columns(log_odds):
    """Log-posteriors of class 0 and class 1."""
    return np.column_stack(
        [-np.logaddexp(0.0, log_odds), -np.logaddexp(0.0, -np.asarray(log_odds))]
    )


def logarithm(q):
    """Logarithm with -inf at 0."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(q, float))


# Losses for each class that might be the true one, given one row


def log_class_losses(row):
    return [-value for value in row]


def brier_class_losses(row):
    K = len(row)
    return [math.fsum((math.exp(row[i]) - (i == h)) ** 2 for i in range(K)) / K for h in range(K)]


def cost_class_losses(costs):
    def class_losses(row):
        d = decide(posteriors_of_logs(row), costs)
        return [float(costs[h][d]) for h in range(len(row))]

    return class_losses


def losses(y, log_q, class_losses):
    """Loss of each sample."""
    return [class_losses(row)[h] for h, row in zip(y, log_q, strict=True)]


# Scores


def expected_score(y, log_q, class_losses, weights=None, priors=None, normalized=True):
    """Weighted mean loss, over that of the system that always outputs the priors."""
    K = len(log_q[0])
    raw = weighted_mean(losses(y, log_q, class_losses), sample_mass(y, K, weights, priors))
    if not normalized:
        return raw
    return raw / entropy(class_priors(y, K, weights, priors), class_losses)


def entropy(p, class_losses):
    """Expected loss of p under itself."""
    of_classes = class_losses(list(logarithm(p)))
    return math.fsum(p[h] * of_classes[h] for h in range(len(p)) if p[h] > 0)


def divergence(r, q, class_losses):
    """How much more q loses than r, in expectation under r."""
    of_q, of_r = class_losses(list(logarithm(q))), class_losses(list(logarithm(r)))
    return math.fsum(r[h] * (of_q[h] - of_r[h]) for h in range(len(r)) if r[h] > 0)


def semi_empirical_score(log_q, r, class_losses, mass, normalized=True):
    """Mean over the samples of the expected loss of q under the reference posterior r."""
    expected = []
    for row, reference in zip(log_q, r, strict=True):
        of_classes = class_losses(row)
        expected.append(
            math.fsum(reference[h] * of_classes[h] for h in range(len(row)) if reference[h] > 0)
        )
    raw = weighted_mean(expected, mass)
    if not normalized:
        return raw
    mean_reference = [weighted_mean(np.asarray(r)[:, h], mass) for h in range(len(r[0]))]
    return raw / entropy(mean_reference, class_losses)


# Decisions


def posteriors_of_logs(row):
    """Posteriors as exact fractions, from 40 digits that do not underflow."""
    with localcontext(prec=40):
        return [Fraction(Decimal(float(value)).exp()) for value in row]


def decide(q, costs):
    """Decision of least expected cost, in exact arithmetic; ties go to the lowest index."""
    q = [Fraction(value) for value in q]
    costs = np.asarray(costs, float)
    expected = [
        sum(q[i] * Fraction(float(costs[i, j])) for i in range(len(q)))
        for j in range(costs.shape[1])
    ]
    return expected.index(min(expected))


def expected_cost(y, decisions, costs, weights=None, priors=None, normalized=True):
    """Mean cost of decisions, over that of the best constant decision."""
    costs = np.asarray(costs, float)
    K, M = costs.shape
    mass = sample_mass(y, K, weights, priors)
    mean = weighted_mean([costs[h, d] for h, d in zip(y, decisions, strict=True)], mass)
    if not normalized:
        return mean
    p = class_priors(y, K, weights, priors)
    return mean / min(math.fsum(p[i] * costs[i, j] for i in range(K)) for j in range(M))


def threshold_costs(a):
    """The paper's matrix C_a, with K-1 in the denominator."""
    K = len(a)
    return [[0.0 if i == j else 1.0 / ((K - 1) * a[i]) for j in range(K)] for i in range(K)]


def risk_at(y, log_q, a, weights=None, priors=None):
    """Bayes risk under C_a, not normalized."""
    costs = threshold_costs(a)
    decisions = [decide(posteriors_of_logs(row), costs) for row in log_q]
    return expected_cost(y, decisions, costs, weights, priors, normalized=False)


# Expected calibration error


def uniform_edges(bins):
    return [i / bins for i in range(1, bins + 1)]


def quantile_edges(values, mass, bins):
    """Order statistics: the least value at or below which lies at least i/M of the mass."""
    order = sorted((v, Fraction(m)) for v, m in zip(values, mass, strict=True) if m > 0)
    total = sum(m for _, m in order)
    edges = []
    for i in range(1, bins + 1):
        reached = Fraction(0)
        for value, m in order:
            reached += m
            if reached * bins >= i * total:
                edges.append(value)
                break
    return edges


def find_bin(value, edges):
    """Index of the bin (low, high] that holds the value; the first has no lower end."""
    return next(i for i, edge in enumerate(edges) if value <= edge)


def totals_of_bins(values, hits, mass, edges):
    """Mass of each bin, and the mass of its events minus their sum of probabilities."""
    totals = []
    for b in range(len(edges)):
        inside = [
            (m, v, h)
            for m, v, h in zip(mass, values, hits, strict=True)
            if m > 0 and find_bin(v, edges) == b
        ]
        totals.append(
            (math.fsum(m for m, _, _ in inside), math.fsum(m * (h - v) for m, v, h in inside))
        )
    return totals


def calibration_error(values, hits, mass, bins=15, norm=1, binning="uniform"):
    """ECE of the probabilities `values` of the events `hits`, as a fraction."""
    edges = uniform_edges(bins) if binning == "uniform" else quantile_edges(values, mass, bins)
    total = math.fsum(mass)
    error = math.fsum(
        in_bin / total * abs(gap / in_bin) ** norm
        for in_bin, gap in totals_of_bins(values, hits, mass, edges)
        if in_bin > 0
    )
    return error if norm == 1 else math.sqrt(error)


def ece(y, q, mass, on="class", **options):
    """ECE of rows of posteriors: of class 1, or of the confidence in the first largest."""
    if on == "class":
        return calibration_error([row[1] for row in q], list(y), mass, **options)
    chosen = [list(row).index(max(row)) for row in q]
    hits = [int(c == h) for c, h in zip(chosen, y, strict=True)]
    return calibration_error([max(row) for row in q], hits, mass, **options)


# Calibration by frequencies


def pool_adjacent_violators(scores, y, mass):
    """Blocks (lowest score, mass of class 1, mass of class 0), frequencies increasing."""
    blocks = []
    for s in sorted({float(s) for s, m in zip(scores, mass, strict=True) if m > 0}):
        here = [(m, h) for t, m, h in zip(scores, mass, y, strict=True) if t == s and m > 0]
        blocks.append((s, sum(m for m, h in here if h == 1), sum(m for m, h in here if h == 0)))
    while True:
        for i, (left, right) in enumerate(pairwise(blocks)):
            if frequency(left) >= frequency(right):
                blocks[i : i + 2] = [(left[0], left[1] + right[1], left[2] + right[2])]
                break
        else:
            return blocks


def frequency(block):
    return block[1] / (block[1] + block[2])


def apply_blocks(blocks, score):
    """The block that a score falls in: the last that starts at or below it, else the first."""
    return ([block for block in blocks if block[0] <= score] or blocks[:1])[-1]


def histogram_frequencies(values, y, mass, bins=15):
    """Frequency of class 1 in each bin of [0, 1]; an empty bin's is its center."""
    edges = uniform_edges(bins)
    frequencies = []
    for b in range(bins):
        inside = [
            (m, h)
            for v, m, h in zip(values, mass, y, strict=True)
            if m > 0 and find_bin(v, edges) == b
        ]
        total = math.fsum(m for m, _ in inside)
        positive = math.fsum(m for m, h in inside if h == 1)
        frequencies.append(positive / total if inside else (b + 0.5) / bins)
    return frequencies


# Affine calibration


def finite_for_fitting(log_rows):
    """-inf becomes log 1e-30, or the least finite value where that is lower."""
    finite = log_rows[np.isfinite(log_rows)]
    return np.where(np.isneginf(log_rows), min(math.log(1e-30), finite.min()), log_rows)


def affine_objective(log_rows, y, mass, offset, with_bias):
    """Mean log loss of softmax(scale * row + bias + offset), its gradient and Hessian.

    The parameters are the scale and the biases of all classes but the first, whose bias is 0.
    """
    N, K = log_rows.shape
    columns = [log_rows[:, :, None]]
    if with_bias:
        columns.append(np.tile(np.eye(K)[:, 1:], (N, 1, 1)))
    design = np.concatenate(columns, axis=2)  # of parameters on the logits of each sample
    target = np.eye(K)[np.asarray(y, int)]
    mass = np.asarray(mass, float) / math.fsum(mass)

    def log_posteriors(parameters):
        return log_softmax(design @ parameters + offset)

    def value(parameters):
        return -float(mass @ (log_posteriors(parameters) * target).sum(axis=1))

    def gradient(parameters):
        wrong = np.exp(log_posteriors(parameters)) - target
        return np.einsum("n,nkp,nk->p", mass, design, wrong)

    def hessian(parameters):
        q = np.exp(log_posteriors(parameters))
        curvature = q[:, :, None] * np.eye(K) - q[:, :, None] * q[:, None, :]
        return np.einsum("n,nkp,nkl,nlr->pr", mass, design, curvature, design)

    return value, gradient, hessian


def fit_affine(log_rows, y, mass, offset=0.0, with_bias=True):
    """Scale, and biases that sum to 0, of least log loss."""
    K = log_rows.shape[1]
    value, gradient, hessian = affine_objective(log_rows, y, mass, offset, with_bias)
    start = np.zeros(K if with_bias else 1)
    start[0] = 1.0
    near = optimize.minimize(value, start, jac=gradient, method="BFGS", options={"gtol": 1e-7}).x
    best = optimize.root(gradient, near, jac=hessian, tol=1e-14).x
    assert np.abs(gradient(best)).max() < 1e-10, "the reference did not converge"
    bias = np.append(0.0, best[1:]) if with_bias else np.zeros(K)
    return best[0], bias - bias.mean()
