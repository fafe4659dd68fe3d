"""Figure 5 of Ferrer and Ramos (2024): NBS and RCL on 400 samples, with bootstrap intervals.

    python docs/paper/appendix_e.py [--replicates 100] [--seed 0] [--out DIR] [--json FILE]

RCL is of the Brier score, for direction-preserving calibration (D) and histogram binning (H),
cross-fitted (xv) or trained on the test data (tt); calibrators are trained anew in each replicate.
"""

import common
import synthetic
from matplotlib.figure import Figure

import fastpsr as fp

BRIER, DP, H = fp.rules.Brier(), fp.DirectionPreserving(), fp.HistogramBinning()
METRICS = {
    "NBS": fp.BrierScore(),
    "RCL-BS-Dxv": fp.CalibrationLoss(BRIER, DP, fp.CrossFit(5)),
    "RCL-BS-Dtt": fp.CalibrationLoss(BRIER, DP, fp.TrainOnTest()),
    "RCL-BS-Hxv": fp.CalibrationLoss(BRIER, H, fp.CrossFit(5)),
    "RCL-BS-Htt": fp.CalibrationLoss(BRIER, H, fp.TrainOnTest()),
}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the replicates")
    options = parser.parse_args()
    print(f"{'system':<7}{'metric':<12}{'value':>8}{'low':>8}{'high':>8}{'bias':>8}")
    found = {
        system: fp.bootstrap(
            METRICS, data, n_resamples=options.replicates, method="percentile", seed=options.seed
        )
        for system, data in synthetic.simulated(400).items()
    }
    numbers = []
    for system, results in found.items():
        for result in results:
            name, value, (low, high) = result.name, result.value, result.interval
            print(f"{system:<7}{name:<12}{value:8.3f}{low:8.3f}{high:8.3f}{result.bias:8.3f}")
            numbers.append({"system": system, "metric": name, "value": value, "low": low,
                            "high": high, "bias": result.bias})  # fmt: skip
    figure = Figure(figsize=(12, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 3])
    fp.plotting.metric_bars(found, metrics=["NBS"], reference=1.0, ax=left).set_ylabel("Normalized")
    fp.plotting.metric_bars(found, metrics=list(METRICS)[1:], ax=right).set_ylabel("Percent")
    common.write(options, "appendix_e", numbers, figure)


if __name__ == "__main__":
    main()
