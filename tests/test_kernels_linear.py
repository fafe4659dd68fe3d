"""Cholesky without BLAS, against NumPy."""

import numpy as np
import pytest

from fastpsr import kernels


@pytest.mark.parametrize("n", [1, 3, 101])
def test_solutions_are_those_of_numpy(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix, vector = root @ root.T + n * np.eye(n), rng.normal(size=n)
    kept = matrix.copy(), vector.copy()
    solution = kernels.fitting.solve_positive_definite(matrix, vector)
    # the condition number is below 10: rounding of n terms remains
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, vector), rtol=0.0, atol=1e-13)
    np.testing.assert_array_equal(matrix, kept[0])
    np.testing.assert_array_equal(vector, kept[1])


@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 2)), np.ones((3, 3)), np.diag([1.0, -1.0]), np.full((2, 2), np.nan)]
)
def test_what_is_not_positive_definite_has_no_solution(matrix):
    assert kernels.fitting.solve_positive_definite(matrix, np.ones(len(matrix))) is None
