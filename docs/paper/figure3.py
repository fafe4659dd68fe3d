"""Figure 3 of Ferrer and Ramos (2024): metrics of four systems on 2,000 samples of ten classes.

    python docs/paper/figure3.py [--seeds 20] [--out DIR] [--json FILE]

Values on the paper's draw, and their range over simulations with seeds 0, 1, ...
"""

import common
import synthetic
from matplotlib.figure import Figure

import fastpsr as fp

K = 10
IMBALANCED = fp.CostMatrix.zero_one(K).values.copy()
IMBALANCED[-1, :-1] = 10.0
CE, BRIER = fp.rules.Log(), fp.rules.Brier()
OVERALL = {
    "NRisk-01": fp.BayesRisk(fp.CostMatrix.zero_one(K)),
    "NRisk-01r": fp.BayesRisk(fp.CostMatrix.zero_one(K, reject=0.1)),
    "NRisk-imb": fp.BayesRisk(IMBALANCED),
    "NCE": fp.CrossEntropy(),
    "NBS": fp.BrierScore(),
}
CALIBRATION = {  # in percent
    "ECEmc": lambda data: 100 * fp.ECE(on="confidence")(data),
    "RCL-BS-Dxv": fp.CalibrationLoss(BRIER, fp.DirectionPreserving(), fp.CrossFit(5)),
    "RCL-BS-Txv": fp.CalibrationLoss(BRIER, fp.TemperatureScaling(), fp.CrossFit(5)),
    "RCL-CE-Dxv": fp.CalibrationLoss(CE, fp.DirectionPreserving(), fp.CrossFit(5)),
    "RCL-CE-Txv": fp.CalibrationLoss(CE, fp.TemperatureScaling(), fp.CrossFit(5)),
}


def main() -> None:
    options = common.parser(__doc__, seeds=20).parse_args()
    draws = [
        synthetic.simulated(2_000, seed, n_classes=K, variance=0.08)
        for seed in [None, *range(options.seeds)]
    ]
    overall = synthetic.measured(draws, OVERALL)
    calibration = synthetic.measured(draws, CALIBRATION)
    synthetic.print_numbers(overall, 3)
    synthetic.print_numbers(calibration, 1)
    figure = Figure(figsize=(12, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    ax = fp.plotting.metric_bars(synthetic.bars(overall), reference=1.0, ax=left)
    ax.set_ylabel("Normalized")
    fp.plotting.metric_bars(synthetic.bars(calibration), ax=right).set_ylabel("Percent")
    common.write(options, "figure3", {**overall, **calibration}, figure)


if __name__ == "__main__":
    main()
