"""Figure 4 of Ferrer and Ramos (2024): expected divergences of posteriors from a constant.

    python docs/paper/figure4.py [--samples 100000] [--out DIR] [--json FILE]

For score divergences the minimum is at the mean of the posteriors; for L1 distances it is not.
"""

import common
import numpy as np
import synthetic
from matplotlib.figure import Figure

import fastpsr as fp

DIVERGENCES = {
    "L1, class 2 only": lambda r, q: np.abs(r[:, 1] - q[:, 1]),
    "L1": fp.rules.l1_distance,
    "L2 (Brier)": fp.rules.Brier(),
    "Kullback-Leibler (log)": fp.rules.Log(),
}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--samples", type=int, default=100_000)
    options = parser.parse_args()
    data = synthetic.simulated(options.samples, prior_first=0.6)["cal"]
    median = float(np.median(data.posteriors[:, 0]))
    figure = Figure(figsize=(13, 3.4), layout="constrained")
    numbers = {}
    print(f"{'divergence':<24}{'minimum at':>11}{'mean':>8}{'median':>8}{'least':>8}{'at mean':>9}")
    for ax, (name, divergence) in zip(figure.subplots(1, 4), DIVERGENCES.items(), strict=True):
        curve = fp.divergence_curve(data, divergence)
        least = int(np.argmin(curve.divergence))
        at_mean = fp.divergence_curve(data, divergence, [curve.mean_posterior]).divergence[0]
        ax.plot(curve.points, curve.divergence)
        ax.plot([curve.mean_posterior], [at_mean], "*", markersize=11)
        ax.set(title=name, xlabel="$q_{01}$", ylabel="Expected divergence", ylim=(0, None))
        numbers[name] = {
            "minimum at": float(curve.points[least]), "mean": curve.mean_posterior,
            "median": median, "least": float(curve.divergence[least]), "at mean": float(at_mean),
        }  # fmt: skip
        place, mean, median, low, high = numbers[name].values()
        print(f"{name:<24}{place:>11.2f}{mean:>8.3f}{median:>8.3f}{low:>8.4f}{high:>9.4f}")
    common.write(options, "figure4", numbers, figure)


if __name__ == "__main__":
    main()
