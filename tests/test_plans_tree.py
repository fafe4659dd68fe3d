"""The tree that joins runs of parts."""

import numpy as np
import pytest

from fastpsr.plans.tree import Tree


def shape_of(runs):
    tree = Tree(lambda a, b: f"({a} {b})")
    for run in runs:
        tree.add(run, str(run))
    return tree.total()


def reference(runs, low, high):
    """The complete binary tree over `low` to `high`, without what is missing."""
    inside = [run for run in runs if low <= run < high]
    if len(inside) < 2:
        return str(inside[0]) if inside else None
    middle = (low + high) // 2
    one, other = reference(runs, low, middle), reference(runs, middle, high)
    return other if one is None else one if other is None else f"({one} {other})"


@pytest.mark.parametrize("seed", range(40))
def test_the_tree_depends_on_the_runs_alone(seed):
    rng = np.random.default_rng(seed)
    runs = np.flatnonzero(rng.random(rng.integers(1, 40)) < rng.choice([0.2, 0.6, 1.0])).tolist()
    assert shape_of(runs) == reference(runs, 0, 64)


def test_few_accumulators_wait():
    tree = Tree(lambda a, b: a + b)
    for run in range(1000):
        tree.add(run, 1)
        assert len(tree.waiting) <= 10
    assert tree.total() == 1000
    assert tree.total() is None
