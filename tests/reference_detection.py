"""Naive versions of the detection metrics: every pair of trials, every threshold, every segment."""

import itertools
import math
from fractions import Fraction

import numpy as np

from tests.reference import pool_adjacent_violators


def rates(scores, y, weights, threshold):
    """(P_miss, P_fa) if scores at or above the threshold are accepted."""
    miss = sum(w for s, h, w in zip(scores, y, weights, strict=True) if h == 1 and s < threshold)
    fa = sum(w for s, h, w in zip(scores, y, weights, strict=True) if h == 0 and s >= threshold)
    targets = sum(w for h, w in zip(y, weights, strict=True) if h == 1)
    return miss / targets, fa / (sum(weights) - targets)


def all_rates(scores, y, weights):
    """Error rates at each distinct score of positive weight, and where nothing is accepted."""
    return [(float(miss), float(fa)) for _, miss, fa in points(scores, y, weights)]


def eer(scores, y, weights):
    """Lowest crossing of P_miss = P_fa by any segment between two points of the ROC.

    Where points lie below the diagonal and above it, the hull's segment crosses it lowest.
    """
    points = all_rates(scores, y, weights)
    best = math.inf
    for miss_a, fa_a in points:
        for miss_b, fa_b in points:
            gap_a, gap_b = fa_a - miss_a, fa_b - miss_b
            if gap_a >= 0 >= gap_b and gap_a != gap_b:
                share = gap_a / (gap_a - gap_b)
                best = min(best, miss_a + share * (miss_b - miss_a))
            elif gap_a == 0:
                best = min(best, miss_a)
    return best


def dcf(p_miss, p_fa, p_target, c_miss, c_fa):
    """Detection cost over that of the best constant decision."""
    cost = c_miss * p_target * p_miss + c_fa * (1 - p_target) * p_fa
    return cost / min(c_miss * p_target, c_fa * (1 - p_target))


def min_dcf(scores, y, weights, p_target, c_miss, c_fa):
    """The least cost over all thresholds."""
    return min(dcf(miss, fa, p_target, c_miss, c_fa) for miss, fa in all_rates(scores, y, weights))


def act_dcf(llrs, y, weights, p_target, c_miss, c_fa):
    """The cost at the Bayes threshold."""
    threshold = math.log(c_fa * (1 - p_target) / (c_miss * p_target))
    return dcf(*rates(llrs, y, weights, threshold), p_target, c_miss, c_fa)


def softplus(x):
    """log(1 + exp(x))."""
    return x if x == math.inf else max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def cllr(llrs, y, weights, p_target=0.5):
    """Log loss at a prior over the entropy of the prior."""
    offset = math.log(p_target / (1 - p_target))
    means = []
    for k, sign in ((1, -1), (0, 1)):
        own = [(x, w) for x, h, w in zip(llrs, y, weights, strict=True) if h == k and w > 0]
        total = sum(w * softplus(sign * (x + offset)) for x, w in own)
        means.append(total / sum(w for _, w in own))
    entropy = -p_target * math.log(p_target) - (1 - p_target) * math.log(1 - p_target)
    return (p_target * means[0] + (1 - p_target) * means[1]) / entropy


def min_cllr(scores, y, weights, p_target=0.5):
    """Cllr of PAV's LLRs, terms without weight skipped."""
    blocks = pool_adjacent_violators(scores, y, weights)
    targets, nontargets = sum(b[1] for b in blocks), sum(b[2] for b in blocks)
    offset = math.log(p_target / (1 - p_target))
    loss = 0.0
    for _, tar, non in blocks:
        if tar and non:
            llr = math.log(tar / non) - math.log(targets / nontargets)
            loss += p_target * tar / targets * softplus(-llr - offset)
            loss += (1 - p_target) * non / nontargets * softplus(llr + offset)
    entropy = -p_target * math.log(p_target) - (1 - p_target) * math.log(1 - p_target)
    return loss / entropy


def auc(scores, y, weights):
    """Share of pairs that are ordered right, ties half."""
    wins = total = 0.0
    for s, h, w in zip(scores, y, weights, strict=True):
        for t, g, v in zip(scores, y, weights, strict=True):
            if h == 1 and g == 0:
                total += w * v
                wins += w * v * (1.0 if s > t else 0.5 if s == t else 0.0)
    return wins / total


def devpav(llrs, y, weights, steps=200_001):
    """Mean of |PAV curve - identity| on log10 axes by a fine trapezium rule."""
    blocks = pool_adjacent_violators(llrs, y, weights)
    targets, nontargets = sum(b[1] for b in blocks), sum(b[2] for b in blocks)
    x, curve = [], []
    for i, (start, tar, non) in enumerate(blocks):
        if tar and non:
            stop = blocks[i + 1][0] if i + 1 < len(blocks) else math.inf
            inside = [s for s, w in zip(llrs, weights, strict=True) if start <= s < stop and w > 0]
            for end in (min(inside), max(inside)):
                x.append(end / math.log(10))
                curve.append((math.log(tar / non) - math.log(targets / nontargets)) / math.log(10))
    grid = np.linspace(x[0], x[-1], steps)
    return float(np.mean(np.abs(np.interp(grid, x, curve) - grid)))


# Operating points: every distinct score as a threshold, in exact arithmetic


def points(scores, y, weights):
    """(threshold, P_miss, P_fa) as fractions, at each score of positive weight and above all."""
    used = [(s, int(h), Fraction(w)) for s, h, w in zip(scores, y, weights, strict=True) if w > 0]
    totals = [sum(w for _, h, w in used if h == k) for k in range(2)]
    thresholds = sorted({float(s) for s, _, _ in used})
    found = []
    for t in thresholds:
        miss = sum(w for s, h, w in used if h == 1 and s < t)
        fa = sum(w for s, h, w in used if h == 0 and s >= t)
        found.append((t, miss / totals[1], fa / totals[0]))
    above = math.nan if thresholds[-1] == math.inf else math.inf
    return [*found, (above, Fraction(1), Fraction(0))]


def nearest(scores, y, weights):
    """The point of least |P_miss - P_fa|, of several the last."""
    found = points(scores, y, weights)
    least = min(abs(miss - fa) for _, miss, fa in found)
    return [point for point in found if abs(point[1] - point[2]) == least][-1]


def crossing(scores, y, weights):
    """P_miss = P_fa on the segments that join the points in order."""
    found = points(scores, y, weights)
    for (_, miss_a, fa_a), (_, miss_b, fa_b) in itertools.pairwise(found):
        if miss_a < fa_a and miss_b >= fa_b:
            share = (fa_a - miss_a) / ((fa_a - miss_a) + (miss_b - fa_b))
            return miss_a + share * (miss_b - miss_a)
    raise AssertionError


def miss_rate(scores, y, weights, p_fa):
    """The point of the lowest threshold that keeps the limit."""
    return next(p for p in points(scores, y, weights) if p[2] <= Fraction(p_fa))


def false_alarm_rate(scores, y, weights, p_miss):
    """The point of the highest threshold that keeps the limit."""
    return [p for p in points(scores, y, weights) if p[1] <= Fraction(p_miss)][-1]


def adcf(scores, kinds, weights, threshold, costs):
    """a-DCF if scores at or above the threshold are accepted; kinds are words."""
    p_nontarget, p_spoof, c_miss, c_fa, c_fa_spoof = costs

    def share(kind, accepted):
        own = [(s, w) for s, k, w in zip(scores, kinds, weights, strict=True) if k == kind]
        return sum(w for s, w in own if (s >= threshold) == accepted) / sum(w for _, w in own)

    of_target = c_miss * (1 - p_nontarget - p_spoof)
    of_nontarget, of_spoof = c_fa * p_nontarget, c_fa_spoof * p_spoof
    cost = of_target * share("target", False) + of_nontarget * share("nontarget", True)
    return (cost + of_spoof * share("spoof", True)) / min(of_target, of_nontarget + of_spoof)


def min_adcf(scores, kinds, weights, costs):
    """The least a-DCF over all thresholds."""
    return min(adcf(scores, kinds, weights, t, costs) for t in [*scores, math.inf])


def act_adcf(llrs, kinds, weights, costs):
    """The a-DCF at the Bayes threshold."""
    p_nontarget, p_spoof, c_miss, c_fa, c_fa_spoof = costs
    of_rest = c_fa * p_nontarget + c_fa_spoof * p_spoof
    threshold = math.log(of_rest / (c_miss * (1 - p_nontarget - p_spoof)))
    return adcf(llrs, kinds, weights, threshold, costs)
