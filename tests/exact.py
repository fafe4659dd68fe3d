"""Every metric in exact rational or 50-digit arithmetic, from the very floats that fastpsr gets.

Samples are lists of rows: of log-posteriors as mpmath numbers, labels, and masses as fractions.
"""

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np

from tests import reference

mp = mpmath.MPContext()
mp.dps = 50
INF = mp.inf


def exactly(x):
    """A float as an mpmath number, or an infinity."""
    return mp.mpf(float(x)) if np.isfinite(x) else (INF if x > 0 else -INF)


def number(fraction):
    return mp.mpf(fraction.numerator) / fraction.denominator


# Posteriors


def log_softmax(row):
    """Normalized log-posteriors of a row of floats."""
    row = [exactly(x) for x in row]
    top = max(row)
    total = mp.log(mp.fsum(mp.exp(x - top) for x in row if x > -INF))
    return [x - top - total if x > -INF else -INF for x in row]


def log_sigmoids(log_odds):
    """Log-posteriors of class 0 and class 1."""
    return [-softplus(log_odds), -softplus(-log_odds)]


def softplus(x):
    if abs(x) == INF:
        return x if x > 0 else mp.mpf(0)
    return mp.log1p(mp.exp(x)) if x < 200 else x + mp.log1p(mp.exp(-x))


def logarithms(q):
    """Log-posteriors of posteriors as given, divided by their sum."""
    q = [Fraction(float(x)) for x in q]
    total = sum(q)
    return [mp.log(number(x / total)) if x else -INF for x in q]


def log_pair(q):
    """Log-posteriors of both classes for P(class 1)."""
    q = exactly(q)
    return [mp.log1p(-q) if q < 1 else -INF, mp.log(q) if q else -INF]


def posteriors(log_q):
    return [mp.exp(x) if x > -INF else mp.mpf(0) for x in log_q]


# What a sample counts


def masses(y, K, weights=None, priors=None):
    """Exact share of each sample: its weight, or with priors its class's prior shared out."""
    w = [Fraction(1)] * len(y) if weights is None else [Fraction(float(v)) for v in weights]
    total = sum(w)
    if priors is None:
        return [v / total for v in w]
    p = [Fraction(float(v)) for v in priors]
    p = [v / sum(p) for v in p]
    of_class = [sum(v for v, c in zip(w, y, strict=True) if c == k) for k in range(K)]
    return [p[c] * v / of_class[c] if v else Fraction(0) for v, c in zip(w, y, strict=True)]


def class_priors(y, K, mass):
    return [sum(m for m, c in zip(mass, y, strict=True) if c == k) for k in range(K)]


def mean(values, mass):
    kept = [(v, m) for v, m in zip(values, mass, strict=True) if m]
    if any(v == INF for v, _ in kept):
        return INF
    return mp.fsum(v * number(m) for v, m in kept)


# Rules: the loss of each class, given log-posteriors


def log_losses(log_q):
    return [-x for x in log_q]


def brier_losses(log_q):
    q = posteriors(log_q)
    K = len(q)
    return [mp.fsum((q[i] - (i == h)) ** 2 for i in range(K)) / K for h in range(K)]


RULES = {"log": log_losses, "brier": brier_losses}


def entropy(p, losses):
    p = [number(x) if isinstance(x, Fraction) else x for x in p]
    of_class = losses([mp.log(x) if x else -INF for x in p])
    return mp.fsum(x * loss for x, loss in zip(p, of_class, strict=True) if x)


def expected_score(y, rows, mass, losses, normalized):
    score = mean([losses(row)[c] for row, c in zip(rows, y, strict=True)], mass)
    return score / entropy(class_priors(y, len(rows[0]), mass), losses) if normalized else score


def expected_under(rows, reference_rows, losses):
    """Expected loss of each row under the reference posteriors."""
    out = []
    for row, r in zip(rows, reference_rows, strict=True):
        terms = [(p, loss) for p, loss in zip(r, losses(row), strict=True) if p]
        infinite = any(loss == INF for _, loss in terms)
        out.append(INF if infinite else mp.fsum(p * loss for p, loss in terms))
    return out


def semi_empirical(rows, reference_rows, mass, losses, normalized):
    score = mean(expected_under(rows, reference_rows, losses), mass)
    if not normalized:
        return score
    K = len(rows[0])
    return score / entropy([mean([r[k] for r in reference_rows], mass) for k in range(K)], losses)


# Decisions


def expected_cost(y, decided, costs, mass, normalized):
    costs = [[Fraction(float(c)) for c in row] for row in costs]
    value = sum(m * costs[c][d] for c, d, m in zip(y, decided, mass, strict=True))
    if not normalized:
        return number(value)
    p = class_priors(y, len(costs), mass)
    columns = range(len(costs[0]))
    return number(value / min(sum(p[i] * costs[i][j] for i in range(len(p))) for j in columns))


def decide(row, costs):
    """Least expected cost, lowest index on ties."""
    q = posteriors(row)
    expected = [
        mp.fsum(q[i] * mp.mpf(float(costs[i][j])) for i in range(len(q)))
        for j in range(len(costs[0]))
    ]
    return min(range(len(expected)), key=lambda j: (expected[j], j))


def risk_at(y, rows, mass, a):
    """Bayes risk for the costs [i != j] / ((K - 1) a_i)."""
    K = len(a)
    a = [exactly(x) for x in a]
    value = mp.mpf(0)
    for row, c, m in zip(rows, y, mass, strict=True):
        odds = [q / x for q, x in zip(posteriors(row), a, strict=True)]
        if odds.index(max(odds)) != c:
            value += number(m) / ((K - 1) * a[c])
    return value


# Calibration errors and calibrators of one score


def ece(values, hits, mass, bins, norm):
    """Of posteriors as floats; edges are floats too."""
    edges = [float(i) / bins for i in range(1, bins + 1)]
    total = mp.mpf(0)
    for b in range(bins):
        inside = [
            (m, Fraction(float(v)), h)
            for v, h, m in zip(values, hits, mass, strict=True)
            if m and reference.find_bin(v, edges) == b
        ]
        weight = sum(m for m, _, _ in inside)
        if weight:
            gap = number(sum(m * (h - v) for m, v, h in inside))
            total += abs(gap) if norm == 1 else gap**2 / number(weight)
    return total if norm == 1 else mp.sqrt(total)


def pav(scores, y, mass):
    """Blocks (lowest, highest, mass of class 1, mass of class 0) of the isotonic fit."""
    at = {}
    for s, c, m in zip(scores, y, mass, strict=True):
        if m:
            at.setdefault(float(s), [Fraction(0), Fraction(0)])[1 - int(c)] += m
    blocks = []
    for s in sorted(at):
        block = [s, s, *at[s]]
        while blocks and blocks[-1][2] * block[3] >= block[2] * blocks[-1][3]:
            before = blocks.pop()
            block = [before[0], block[1], before[2] + block[2], before[3] + block[3]]
        blocks.append(block)
    return blocks


def pav_rows(scores, y, mass):
    """Log-posteriors of each sample after PAV trained on the same data."""
    blocks = pav(scores, y, mass)
    rows = []
    for s in scores:
        block = ([b for b in blocks if b[0] <= s] or blocks[:1])[-1]
        total = block[2] + block[3]
        rows.append([mp.log(number(block[k] / total)) if block[k] else -INF for k in (3, 2)])
    return rows


def histogram_rows(values, y, mass, bins):
    edges = [float(i) / bins for i in range(1, bins + 1)]
    place = [reference.find_bin(v, edges) for v in values]
    rows = []
    for b in place:
        inside = [(m, c) for m, c, other in zip(mass, y, place, strict=True) if m and other == b]
        weight = sum(m for m, _ in inside)
        hit = sum(m for m, c in inside if c)
        center = (Fraction(float(b) / bins) + Fraction(float(b + 1) / bins)) / 2
        p = hit / weight if weight else center
        rows.append([mp.log(number(x)) if x else -INF for x in (1 - p, p)])
    return rows


def calibration_loss(raw, calibrated):
    """Relative, in percent."""
    if raw == calibrated:
        return mp.nan if raw == INF else mp.mpf(0)
    return mp.mpf(100) if raw == INF else 100 * (raw - calibrated) / raw


# Detection


def rate_points(scores, y, mass):
    """(P_miss, P_fa) at each distinct score, ascending, and beyond them."""
    at = {}
    for s, c, m in zip(scores, y, mass, strict=True):
        if m:
            at.setdefault(float(s), [Fraction(0), Fraction(0)])[int(c)] += m
    totals = [sum(v[k] for v in at.values()) for k in (0, 1)]
    points, miss, fa = [(Fraction(0), Fraction(1))], Fraction(0), Fraction(1)
    for s in sorted(at):
        miss += at[s][1] / totals[1]
        fa -= at[s][0] / totals[0]
        points.append((miss, fa))
    return points


def hull_points(scores, y, mass):
    blocks = pav(scores, y, mass)
    totals = [sum(b[k] for b in blocks) for k in (3, 2)]
    points, miss, fa = [(Fraction(0), Fraction(1))], Fraction(0), Fraction(1)
    for _, _, positive, negative in blocks:
        miss += positive / totals[1]
        fa -= negative / totals[0]
        points.append((miss, fa))
    return points


def eer(scores, y, mass):
    for (miss_a, fa_a), (miss_b, fa_b) in pairwise(hull_points(scores, y, mass)):
        if miss_b >= fa_b:
            share = (fa_a - miss_a) / ((fa_a - miss_a) + (miss_b - fa_b))
            return number(miss_a + share * (miss_b - miss_a))
    raise AssertionError("the hull ends at (1, 0)")


def dcf(miss, fa, p_target, c_miss, c_fa):
    p, one = Fraction(p_target), Fraction(1.0 - p_target)  # as the float that is 1 - p
    miss_cost, fa_cost = Fraction(c_miss) * p, Fraction(c_fa) * one
    return (miss_cost * miss + fa_cost * fa) / min(miss_cost, fa_cost)


def min_dcf(scores, y, mass, p_target, c_miss, c_fa):
    points = rate_points(scores, y, mass)
    return number(min(dcf(miss, fa, p_target, c_miss, c_fa) for miss, fa in points))


def act_dcf(llrs, y, mass, p_target, c_miss, c_fa):
    threshold = mp.log(mp.mpf(c_fa) * (1 - mp.mpf(p_target)) / (mp.mpf(c_miss) * p_target))
    accepted = [exactly(x) >= threshold for x in llrs]
    totals = class_priors(y, 2, mass)
    wrong = [
        sum(m for m, c, a in zip(mass, y, accepted, strict=True) if c == k and a != k)
        for k in (0, 1)
    ]
    return number(dcf(wrong[1] / totals[1], wrong[0] / totals[0], p_target, c_miss, c_fa))


def prior_pair(p_target):
    return [mp.mpf(1.0 - p_target), mp.mpf(p_target)]  # as the float that is 1 - p


def log_loss_of_prior(prior):
    return -mp.fsum(p * mp.log(p) for p in prior)


def log_loss_at(llrs, y, mass, prior):
    """Mean log loss of LLRs with a prior of each class."""
    offset = mp.log(prior[1]) - mp.log(prior[0])
    totals = class_priors(y, 2, mass)
    score = mp.mpf(0)
    for x, c, m in zip(llrs, y, mass, strict=True):
        if m:
            loss = softplus((-1 if c else 1) * (exactly(x) + offset))
            if loss == INF:
                return INF
            score += prior[c] * number(m / totals[c]) * loss
    return score


def cllr(llrs, y, mass, p_target):
    prior = prior_pair(p_target)
    return log_loss_at(llrs, y, mass, prior) / log_loss_of_prior(prior)


def min_log_loss_at(scores, y, mass, prior):
    """The same after PAV trained on the same data."""
    blocks = pav(scores, y, mass)
    totals = [sum(b[k] for b in blocks) for k in (3, 2)]
    score = mp.mpf(0)
    for block in blocks:
        parts = [prior[k] * number(block[3 - k] / totals[k]) for k in (0, 1)]
        for part in parts:
            if part:
                score += part * mp.log(mp.fsum(parts) / part)
    return score


def min_cllr(scores, y, mass, p_target):
    prior = prior_pair(p_target)
    return min_log_loss_at(scores, y, mass, prior) / log_loss_of_prior(prior)


def prior_at(log_odds):
    return [1 / (1 + mp.exp(log_odds)), 1 / (1 + mp.exp(-log_odds))]


def bayes_errors(llrs, y, mass, log_odds):
    """Actual and least error probability at prior log-odds, which are a float."""
    prior = prior_at(exactly(log_odds))
    totals = class_priors(y, 2, mass)
    wrong = [Fraction(0), Fraction(0)]
    for x, c, m in zip(llrs, y, mass, strict=True):
        wrong[c] += m * int((float(x) >= -float(log_odds)) != bool(c))
    points = [(wrong[1] / totals[1], wrong[0] / totals[0]), *rate_points(llrs, y, mass)]
    errors = [prior[1] * number(miss) + prior[0] * number(fa) for miss, fa in points]
    return errors[0], min(errors[1:])


def survival(scores, mass):
    """Distinct score -> share of the mass at or above it."""
    total = sum(mass)
    kept = sorted({float(s) for s, m in zip(scores, mass, strict=True) if m})
    return {
        t: number(sum(m for s, m in zip(scores, mass, strict=True) if s >= t) / total) for t in kept
    }


def auc(scores, y, mass):
    points = rate_points(scores, y, mass)
    area = sum((b[0] + a[0]) * (a[1] - b[1]) / 2 for a, b in pairwise(points))
    return number(1 - area)


def dev_pav(llrs, y, mass):
    blocks = pav(llrs, y, mass)
    totals = [sum(b[k] for b in blocks) for k in (3, 2)]
    x, gap = [], []
    for low, high, positive, negative in blocks:
        if positive and negative:
            llr = mp.log(number(positive / negative)) - mp.log(number(totals[1] / totals[0]))
            for end in (low, high):
                x.append(exactly(end))
                gap.append(llr - exactly(end))
    if not all(abs(v) < INF for v in x):
        return INF
    log10 = mp.log(10)
    if x[0] == x[-1]:
        return abs(gap[0]) / log10
    area = mp.mpf(0)
    for (a, u), (b, v) in pairwise(zip(x, gap, strict=True)):
        if u * v < 0:
            area += (b - a) * (u**2 + v**2) / (2 * (abs(u) + abs(v)))
        else:
            area += (b - a) * (abs(u) + abs(v)) / 2
    return area / (x[-1] - x[0]) / log10


# Affine calibration


def fit_affine(scores, y, mass, start, add_prior, with_bias=True):
    """Scale and shift of least log loss on log-odds, by Newton's method from a float start."""
    scores = [exactly(x) for x in scores]
    weights = [number(m) for m in mass]
    p = class_priors(y, 2, mass)
    offset = mp.log(number(p[1] / p[0])) if add_prior else mp.mpf(0)
    scale, shift = exactly(start[0]), exactly(start[1]) + offset
    for _ in range(60):
        q = [1 / (1 + mp.exp(-(scale * x + shift))) for x in scores]
        error = [w * (a - c) for w, a, c in zip(weights, q, y, strict=True)]
        spread = [w * a * (1 - a) for w, a in zip(weights, q, strict=True)]
        e, ex = mp.fsum(error), mp.fdot(error, scores)
        v, vx = mp.fsum(spread), mp.fdot(spread, scores)
        vxx = mp.fsum(s * x * x for s, x in zip(spread, scores, strict=True))
        if with_bias:
            determinant = vxx * v - vx * vx
            step = ((v * ex - vx * e) / determinant, (vxx * e - vx * ex) / determinant)
        else:
            step = (ex / vxx, mp.mpf(0))
        scale, shift = scale - step[0], shift - step[1]
        if max(abs(step[0] / scale), abs(step[1])) < mp.mpf(10) ** -30:
            return scale, shift - offset
    raise AssertionError("the exact fit did not converge")
