"""Least costly decisions, and thresholds met on the way."""

import math

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import inlined, kernel
from fastpsr.kernels.elementary import exp_of_nonpositive
from fastpsr.kernels.reductions import largest
from fastpsr.kernels.types import Codes, Floats, Reals

_LEAST = -700.0  # exp of less comes near the smallest number


def least_costly_decisions(
    scores: Reals, starts: Codes, classes: Codes, values: Floats, *, are_posteriors: bool
) -> NDArray[np.int32]:
    """Return the decision of least expected cost for log-odds (N,), or for logits (N, K).

    Posteriors (N, K) may be anything proportional to them. The costs come by column: those of
    decision j are ``values[starts[j]:starts[j + 1]]``, for the classes named in the same places.
    """
    decisions = np.empty(scores.shape[0], np.int32)
    step = _decide_binary if scores.ndim == 1 else _decide
    step = _decide_by_odds if are_posteriors else step
    n_blocks = count_blocks(decisions.size)
    over_blocks(step, n_blocks, scores, starts, classes, values, decisions)
    return decisions


@inlined
def _odds(log_odds):
    """Return exp(log_odds), 0 for -inf alone: an unlikely class may still settle a tie."""
    if log_odds < _LEAST:
        return 0.0 if log_odds == -math.inf else exp_of_nonpositive(_LEAST)
    return exp_of_nonpositive(log_odds)


@kernel
def _choose(odds, starts, classes, values):
    best = 0
    least = math.inf
    for decision in range(starts.size - 1):
        cost = 0.0
        for place in range(starts[decision], starts[decision + 1]):
            cost += values[place] * odds[classes[place]]
        if cost < least:
            best = decision
            least = cost
    return best


@kernel
def _decide_binary(first, last, log_odds, starts, classes, values, decisions):
    odds = np.empty(2)
    for i in range(first * BLOCK, min(last * BLOCK, decisions.size)):
        smaller = _odds(-abs(log_odds[i]))  # posteriors up to a factor: no rounding at a tie
        odds[0] = smaller if log_odds[i] > 0.0 else 1.0
        odds[1] = 1.0 if log_odds[i] > 0.0 else smaller
        decisions[i] = _choose(odds, starts, classes, values)


@kernel
def _decide_by_odds(first, last, odds, starts, classes, values, decisions):
    for i in range(first * BLOCK, min(last * BLOCK, decisions.size)):
        decisions[i] = _choose(odds[i], starts, classes, values)


@kernel
def _decide(first, last, logits, starts, classes, values, decisions):
    odds = np.empty(logits.shape[1])
    for i in range(first * BLOCK, min(last * BLOCK, decisions.size)):
        top = np.float64(largest(logits[i]))
        for k in range(odds.size):
            odds[k] = _odds(np.float64(logits[i, k]) - top)
        decisions[i] = _choose(odds, starts, classes, values)
