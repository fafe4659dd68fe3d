"""Dealing samples to folds at random."""

import numpy as np

from fastpsr.kernels.blocks import writable
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.random import STEP, mixed, stream_of, unit_of


def deal_hands(y, hands, seed):
    """Deal each class's samples to folds, any way as likely as another; `hands` (K, F) are sizes.

    A fold comes next with the chance of one of its cards lying on top of a shuffled stack.
    """
    folds = np.empty(y.size, np.uint16)
    _deal_hands(writable(y), hands.copy(), hands.sum(axis=1), np.uint64(seed), folds)
    return folds


def count_pairs(codes, y, n_codes, n_classes):
    """Count the samples of each code and class, (n_codes, n_classes)."""
    counts = np.zeros((n_codes, n_classes), np.int64)
    _count_pairs(writable(codes), writable(y), counts)
    return counts


def pair_folds(one, other, folds):
    """Return (N,) numbers of the unordered pairs of folds of two sides, and how often each occurs.

    The pair of folds f <= g has the number f x F + g, for F folds; `folds` are those of the codes.
    """
    n_folds = int(folds.max()) + 1
    pairs = np.empty(one.size, np.uint16)
    counts = np.zeros(n_folds**2, np.int64)
    _pair_folds(writable(one), writable(other), folds.astype(np.int64), n_folds, pairs, counts)
    return pairs, counts


@kernel
def _count_pairs(codes, y, counts):
    for i in range(codes.size):
        counts[codes[i], y[i]] += 1


@kernel
def _pair_folds(one, other, folds, n_folds, pairs, counts):
    for i in range(one.size):
        f = folds[one[i]]
        g = folds[other[i]]
        pair = min(f, g) * n_folds + max(f, g)
        pairs[i] = pair
        counts[pair] += 1


@kernel
def _deal_hands(y, hands, left, seed, folds):
    state = stream_of(seed, 0, 0)
    for i in range(y.size):
        hand = hands[y[i]]
        state += STEP
        card = np.int64(unit_of(mixed(state)) * left[y[i]])
        fold = 0
        while card >= hand[fold]:
            card -= hand[fold]
            fold += 1
        hand[fold] -= 1
        left[y[i]] -= 1
        folds[i] = fold
