"""Registry of the calibrators; the classes are exported."""

from fastpsr.calibration.affine import DirectionPreserving, TemperatureScaling
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.beta import BetaCalibration
from fastpsr.calibration.histogram_binning import HistogramBinning
from fastpsr.calibration.one_versus_rest import OneVersusRest
from fastpsr.calibration.pav import PAV
from fastpsr.calibration.spline import Spline
from fastpsr.calibration.structured import MatrixScaling, VectorScaling
from fastpsr.calibration.venn_abers import VennAbers

__all__ = [
    "PAV",
    "BetaCalibration",
    "DirectionPreserving",
    "HistogramBinning",
    "MatrixScaling",
    "OneVersusRest",
    "Spline",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
]

#: The kinds of calibrators.
CALIBRATORS: dict[str, type[Calibrator]] = {
    "dp": DirectionPreserving,
    "temperature": TemperatureScaling,
    "vector": VectorScaling,
    "matrix": MatrixScaling,
    "beta": BetaCalibration,
    "spline": Spline,
    "pav": PAV,
    "venn-abers": VennAbers,
    "histogram": HistogramBinning,
    "pav-ovr": OneVersusRest,
}

#: What calibrators are also called.
OTHER_NAMES = {"logistic": "dp", "platt": "dp", "isotonic": "pav"}

#: Calibrators by their name on the command line.
NAMED: dict[str, Calibrator] = {name: kind() for name, kind in CALIBRATORS.items()} | {
    "pav-laplace": PAV(laplace=True),
    "histogram-ovr": OneVersusRest(HistogramBinning()),
    "beta-ovr": OneVersusRest(BetaCalibration()),
}
