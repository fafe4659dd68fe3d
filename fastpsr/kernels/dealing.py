"""Dealing samples to folds at random."""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks, writable
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.random import STEP, mixed, stream_of, unit_of

_BLOCKS_PER_PART = 16
_ROWS = _BLOCKS_PER_PART * BLOCK


def deal_hands(y, hands, seed):
    """Deal each class's samples to folds, any way as likely as another; `hands` (K, F) are sizes.

    Large sets are dealt in parts, whose own hands are drawn first.
    """
    n_classes = hands.shape[0]
    n_parts = -(-count_blocks(y.size) // _BLOCKS_PER_PART)
    held = np.zeros((n_parts, n_classes), np.int64)
    over_blocks(_count_classes, n_parts, y, held, worth_a_thread=1)
    of_parts = np.empty((n_parts, *hands.shape), np.int64)
    left = hands.copy()
    rng = np.random.default_rng(seed)
    for part in range(n_parts - 1):
        for k in range(n_classes):
            of_parts[part, k] = rng.multivariate_hypergeometric(left[k], held[part, k])
        left -= of_parts[part]
    of_parts[-1] = left
    folds = np.empty(y.size, np.uint16)
    if seed >= 1 << 64:
        seed = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    over_blocks(_deal_hands, n_parts, y, of_parts, np.uint64(seed), folds, worth_a_thread=1)
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
def _count_classes(first, last, y, held):
    for part in range(first, last):
        for i in range(part * _ROWS, min((part + 1) * _ROWS, y.size)):
            held[part, y[i]] += 1


@kernel
def _deal_hands(first, last, y, hands, seed, folds):
    """Deal as if from shuffled stacks: a fold is next with the chance of lying on top."""
    n_folds = hands.shape[2]
    for part in range(first, last):
        state = stream_of(seed, 0, part)
        left = hands[part].sum(axis=1)
        for i in range(part * _ROWS, min((part + 1) * _ROWS, y.size)):
            hand = hands[part, y[i]]
            state += STEP
            card = np.int64(unit_of(mixed(state)) * left[y[i]])
            fold = 0
            passed = hand[0]
            for f in range(1, n_folds):
                fold += 1 if card >= passed else 0  # no branch: no telling which way it goes
                passed += hand[f]
            hand[fold] -= 1
            left[y[i]] -= 1
            folds[i] = fold
