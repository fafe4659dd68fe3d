"""The paper's figure of confidence intervals: NBS and RCL on 400 samples, from 100 replicates.

    python docs/paper/appendix_e.py [--replicates 100] [--seed 0] [--json FILE]

RCL is of the Brier score, for direction-preserving calibration (D) and histogram binning (H),
cross-fitted (xv) or trained on the test data (tt); calibrators are trained anew in each replicate.
"""

import argparse
import json
from pathlib import Path

import fastpsr as fp

SYSTEMS = ["cal", "mcs", "mcp", "mcps"]
BRIER = fp.rules.Brier()
METRICS = {
    "NBS": fp.BrierScore(),
    "RCL-BS-Dxv": fp.CalibrationLoss(BRIER, fp.DirectionPreserving(), fp.CrossFit(5)),
    "RCL-BS-Dtt": fp.CalibrationLoss(BRIER, fp.DirectionPreserving(), fp.TrainOnTest()),
    "RCL-BS-Hxv": fp.CalibrationLoss(BRIER, fp.HistogramBinning(), fp.CrossFit(5)),
    "RCL-BS-Htt": fp.CalibrationLoss(BRIER, fp.HistogramBinning(), fp.TrainOnTest()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Intervals as in the paper's appendix.")
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the samples and of the replicates")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    made = fp.simulate.gaussian_classes(400, seed=options.seed)
    print(f"{'system':<7}{'metric':<12}{'value':>8}{'low':>8}{'high':>8}{'bias':>8}  undefined")
    rows = []
    for system in SYSTEMS:
        data = fp.Predictions.from_logits(made.y_true, getattr(made, system))
        results = fp.bootstrap(
            list(METRICS.values()), data, n_resamples=options.replicates, seed=options.seed
        )
        for name, found in zip(METRICS, results, strict=True):
            low, high = found.interval
            print(
                f"{system:<7}{name:<12}{found.value:8.3f}{low:8.3f}{high:8.3f}{found.bias:8.3f}"
                f"{found.n_undefined:11}"
            )
            rows.append({"system": system, "metric": name, "value": found.value, "low": low,
                         "high": high, "bias": found.bias})  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
