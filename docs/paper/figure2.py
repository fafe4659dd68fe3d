"""Figure 2 of Ferrer and Ramos (2024): metrics of four systems on 400 samples of two classes.

    python docs/paper/figure2.py [--seeds 20] [--out DIR] [--json FILE]

Values on the paper's draw, and their range over simulations with seeds 0, 1, ...
"""

import common
import synthetic
from matplotlib.figure import Figure

import fastpsr as fp

BRIER, DP, H = fp.rules.Brier(), fp.DirectionPreserving(), fp.HistogramBinning()
ZERO_ONE = fp.CostMatrix.zero_one(2)
OVERALL = {
    "NRisk-01": fp.BayesRisk(ZERO_ONE),
    "NRisk-01r": fp.BayesRisk(fp.CostMatrix.zero_one(2, reject=0.1)),
    "NRisk-imb": fp.BayesRisk(fp.CostMatrix([[0, 1], [10, 0]])),
    "NCE": fp.CrossEntropy(),
    "NBS": fp.BrierScore(),
}
CALIBRATION = {  # in percent
    "ECE": lambda data: 100 * fp.ECE()(data),
    "ECEmc": lambda data: 100 * fp.ECE(on="confidence")(data),
    "RCL-BS-Dxv": fp.CalibrationLoss(BRIER, DP, fp.CrossFit(5)),
    "RCL-BS-Dtt": fp.CalibrationLoss(BRIER, DP, fp.TrainOnTest()),
    "RCL-BS-Hxv": fp.CalibrationLoss(BRIER, H, fp.CrossFit(5)),
    "RCL-BS-Htt": fp.CalibrationLoss(BRIER, H, fp.TrainOnTest()),
}


def main() -> None:
    options = common.parser(__doc__, seeds=20).parse_args()
    draws = [synthetic.simulated(400, seed) for seed in [None, *range(options.seeds)]]
    overall = synthetic.measured(draws, OVERALL)
    calibration = synthetic.measured(draws, CALIBRATION)
    synthetic.print_numbers(overall, 3)
    synthetic.print_numbers(calibration, 1)
    figure = Figure(figsize=(12, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    ax = fp.plotting.metric_bars(synthetic.bars(overall), reference=1.0, ax=left)
    ax.set_ylabel("Normalized")
    fp.plotting.metric_bars(synthetic.bars(calibration), ax=right).set_ylabel("Percent")
    common.write(options, "figure2", {**overall, **calibration}, figure)


if __name__ == "__main__":
    main()
