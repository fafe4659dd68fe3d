"""Whether results are the recorded ones: within a tolerance, or within their spread over seeds."""

import math
from typing import Any

import numpy as np

from tests.golden.cases import PARAMETERS, SEEDS, Case, computed

MONTE_CARLO_ERRORS = 5.0


def recorded(case: Case) -> Any:
    """Return what to record of a case: its result, or mean and spread over seeds."""
    if case.tolerance is not None:
        return computed(case)
    return _spread([computed(case, seed=seed) for seed in range(SEEDS)])


def differences(case: Case, expected: Any) -> list[str]:
    """Return what differs from the record, as lines of text."""
    actual = computed(case)
    if case.tolerance is None:
        return list(_beyond_spread(expected, actual, ""))
    return list(_beyond(case.tolerance, expected, actual, ""))


def _spread(results: list[Any]) -> Any:
    first = results[0]
    if all(isinstance(result, dict) and result.keys() == first.keys() for result in results):
        return {key: _spread([result[key] for result in results]) for key in first}
    if all(isinstance(result, list) and len(result) == len(first) for result in results):
        return [_spread(list(values)) for values in zip(*results, strict=True)]
    if all(result == first for result in results):
        return first
    if all(isinstance(result, float) for result in results):
        return {"mean": float(np.mean(results)), "sd": float(np.std(results, ddof=1))}
    return {"varies": sorted({str(result) for result in results if not isinstance(result, float)})}


def _beyond_spread(expected: Any, actual: Any, place: str):
    if isinstance(expected, dict) and expected.keys() == {"mean", "sd"}:
        error = expected["sd"] * math.sqrt(1.0 + 1.0 / SEEDS)
        allowed = MONTE_CARLO_ERRORS * error + PARAMETERS * max(1.0, abs(expected["mean"]))
        if not (isinstance(actual, float) and abs(actual - expected["mean"]) <= allowed):
            yield f"{place}: {actual}, not {expected['mean']} with error {error}"
    elif isinstance(expected, dict) and expected.keys() == {"varies"}:
        if not isinstance(actual, float) and str(actual) not in expected["varies"]:
            yield f"{place}: {actual}, not {expected['varies']}"
    else:
        yield from inside(_beyond_spread, PARAMETERS, expected, actual, place)


def _beyond(tolerance: float, expected: Any, actual: Any, place: str):
    if isinstance(expected, dict) and "size of sums" in expected and isinstance(actual, dict):
        size = max(1.0, expected["size of sums"])
        scales = {"size of sums": size, "sum": size, "sum by place": size}
        for key, scale in scales.items():
            if not abs(actual.get(key, math.nan) - expected[key]) <= tolerance * scale:
                yield f"{place} {key}: {actual.get(key)}, not {expected[key]}"
        expected = {key: value for key, value in expected.items() if key not in scales}
        actual = {key: value for key, value in actual.items() if key not in scales}

    def inner(expected, actual, place):
        return _beyond(tolerance, expected, actual, place)

    yield from inside(inner, tolerance, expected, actual, place)


def inside(compare, tolerance, expected, actual, place):
    """Compare what dicts and lists hold by `compare`, and numbers within the tolerance."""
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        for key, value in expected.items():
            yield from compare(value, actual[key], f"{place} {key}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for i, (value, other) in enumerate(zip(expected, actual, strict=True)):
            yield from compare(value, other, f"{place}[{i}]")
    elif isinstance(expected, float) and isinstance(actual, float):
        if not abs(actual - expected) <= tolerance * max(1.0, abs(expected)):
            yield f"{place}: {actual!r}, not {expected!r}"
    elif expected != actual:
        yield f"{place}: {actual!r}, not {expected!r}"
