"""Figure 1 of Ferrer and Ramos (2024): weighted Bayes risks, with areas CE and Brier score.

    python docs/paper/figure1.py [--seeds 20] [--out DIR] [--json FILE]

Values on the paper's draw, and their range over simulations with seeds 0, 1, ...
"""

from collections.abc import Callable

import common
import numpy as np
import synthetic
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fastpsr as fp

N = 100_000
LOG_ODDS = np.linspace(-25.0, 25.0, 2001)  # dense towards 0 and 1, where overconfidence is
POINTS = 1 / (1 + np.exp(-LOG_ODDS))
DRAWN = POINTS[np.abs(LOG_ODDS) <= 10]


def systems(seed: int | None = None) -> dict[str, fp.Predictions]:
    """Return the figure's systems: calibrated, under- and overconfident, and of a harder task."""
    under = synthetic.simulated(N, seed, prior_first=0.6, scale=0.48)
    over = synthetic.simulated(N, seed, prior_first=0.6, scale=2.0)
    hard = synthetic.simulated(N, seed, prior_first=0.6, variance=0.19)
    return {"cal": under["cal"], "mcs-u": under["mcs"], "mcs-o": over["mcs"], "cal-h": hard["cal"]}


def area(rule: fp.rules.ScoringRule) -> Callable[[fp.Predictions], float]:
    """Return what measures the area under a curve of the figure."""

    def measure(data: fp.Predictions) -> float:
        weight = 2 * POINTS * (1 - POINTS) if isinstance(rule, fp.rules.Brier) else 1.0
        heights = weight * fp.risk_curve(data, POINTS).risk
        return float(np.sum(np.diff(POINTS) * (heights[1:] + heights[:-1]) / 2))

    return measure


METRICS = {
    "NCE": fp.CrossEntropy(),
    "CE": fp.CrossEntropy(normalized=False),
    "area, left": area(fp.rules.Log()),
    "NBS": fp.BrierScore(),
    "BS": fp.BrierScore(normalized=False),
    "area, right": area(fp.rules.Brier()),
    "error rate": fp.BayesRisk(fp.CostMatrix.zero_one(2), normalized=False),
    **{f"risk {a}": lambda data, a=a: fp.risk_curve(data, [a]).risk[0] for a in (0.02, 0.5, 0.98)},
}


def draw(ax: Axes, label: str, risk: np.ndarray, rule: fp.rules.ScoringRule) -> None:
    """Draw a curve on the axis of log-odds, where the factor a_1 (1 - a_1) keeps areas."""
    heights = DRAWN * (1 - DRAWN) * risk
    if isinstance(rule, fp.rules.Brier):
        heights *= 2 * DRAWN * (1 - DRAWN)
    ax.plot(np.log(DRAWN / (1 - DRAWN)), heights, label=label)
    ax.set_xlabel("Log-odds of the operating point $a_1$ (natural logarithm)")
    ax.set_ylabel(r"Weighted Bayes risk $\times\,a_1(1-a_1)$")


def main() -> None:
    options = common.parser(__doc__, seeds=20).parse_args()
    draws = [systems(seed) for seed in [None, *range(options.seeds)]]
    numbers = synthetic.measured(draws, METRICS)
    synthetic.print_numbers(numbers, 3)
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for ax, score, rule in ((left, "NCE", fp.rules.Log()), (right, "NBS", fp.rules.Brier())):
        for name, data in draws[0].items():
            label = f"{name}, {score} {numbers[score][name][0]:.3f}"
            draw(ax, label, fp.risk_curve(data, DRAWN).risk, rule)
        ax.set_ylim(bottom=0)
        ax.legend()
    left.set_title("Weight 1: the area is CE")
    right.set_title("Weight $2 a_1 (1 - a_1)$: the area is BS")
    common.write(options, "figure1", numbers, figure)


if __name__ == "__main__":
    main()
