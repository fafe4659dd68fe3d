"""The four simulated systems of Ferrer and Ramos (2024), and their metrics over many draws."""

from collections.abc import Callable

import numpy as np

import fastpsr as fp

SYSTEMS = ["cal", "mcs", "mcp", "mcps"]
Numbers = dict[str, dict[str, list[float]]]  # by metric and system: paper's draw, then others


def simulated(
    n: int, seed: int | None = None, *, n_classes: int = 2, prior_first: float = 0.8,
    variance: float = 0.15, scale: float = 5.0, rng: np.random.RandomState | None = None,
) -> dict[str, fp.Predictions]:  # fmt: skip
    """Return the paper's four systems: on its own draw, or on fastpsr's with a seed.

    Its own draw is of NumPy's legacy generator with seed 0, and has counts rounded down; `rng` is
    such a generator, for those who draw on.
    """
    if seed is not None:
        made = fp.simulate.gaussian_classes(n, n_classes=n_classes, prior_first=prior_first,
                                            variance=variance, scale=scale, seed=seed)  # fmt: skip
        return {s: fp.Predictions.from_logits(made.y_true, getattr(made, s)) for s in SYSTEMS}
    priors = np.array([prior_first] + [(1 - prior_first) / (n_classes - 1)] * (n_classes - 1))
    mismatched = np.array([0.1 / (n_classes - 1)] * (n_classes - 1) + [0.9])
    y = np.repeat(np.arange(n_classes), (priors * n).astype(int))
    rng = np.random.RandomState(0) if rng is None else rng
    x = np.sqrt(0.5) * np.eye(n_classes)[y] + np.sqrt(variance) * rng.standard_normal(
        (y.size, n_classes)
    )
    cal, mcp = (np.sqrt(0.5) / variance * x + np.log(p) for p in (priors, mismatched))
    logits = {"cal": cal, "mcs": scale * cal, "mcp": mcp, "mcps": scale * mcp}
    return {s: fp.Predictions.from_logits(y, z) for s, z in logits.items()}


def print_numbers(numbers: Numbers, decimals: int) -> None:
    """Print the value on the paper's draw, and the range over other draws."""
    systems = list(next(iter(numbers.values())))
    print((f"{'':<12}" + "".join(f"{s:<22}" for s in systems)).rstrip())
    for metric, row in numbers.items():
        line = f"{metric:<12}"
        for first, *others in row.values():
            ends = [min(others), max(others)] if others else []
            first, *ends = (
                f"{round(value, decimals) + 0.0:.{decimals}f}" for value in [first, *ends]
            )
            line += f"{first + (f' [{ends[0]}, {ends[1]}]' if ends else ''):<22}"
        print(line.rstrip())


def measured(
    draws: list[dict[str, fp.Predictions]], metrics: dict[str, Callable[[fp.Predictions], float]]
) -> Numbers:
    """Return the values of metrics on all draws, the paper's first."""
    return {
        name: {s: [float(metric(draw[s])) for draw in draws] for s in draws[0]}
        for name, metric in metrics.items()
    }


def bars(numbers: Numbers) -> dict[str, dict[str, float]]:
    """Return the values on the paper's draw, as metric_bars takes them."""
    systems = next(iter(numbers.values()))
    return {s: {metric: row[s][0] for metric, row in numbers.items()} for s in systems}
