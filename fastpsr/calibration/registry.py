"""Registry of the calibrators; the classes are exported."""

from fastpsr.calibration.affine import DirectionPreserving, TemperatureScaling
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.beta import BetaCalibration
from fastpsr.calibration.histogram_binning import HistogramBinning
from fastpsr.calibration.pav import PAV
from fastpsr.calibration.spline import Spline

__all__ = [
    "PAV",
    "BetaCalibration",
    "DirectionPreserving",
    "HistogramBinning",
    "Spline",
    "TemperatureScaling",
]

#: Calibrators by their name on the command line.
CALIBRATORS: dict[str, type[Calibrator]] = {
    "dp": DirectionPreserving,
    "temperature": TemperatureScaling,
    "beta": BetaCalibration,
    "spline": Spline,
    "pav": PAV,
    "histogram": HistogramBinning,
}
