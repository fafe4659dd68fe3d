"""Registry of the calibrators; the classes are exported."""

from fastpsr.calibration.affine import DirectionPreserving, TemperatureScaling
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.beta import BetaCalibration
from fastpsr.calibration.histogram_binning import HistogramBinning
from fastpsr.calibration.pav import PAV

__all__ = [
    "PAV",
    "BetaCalibration",
    "DirectionPreserving",
    "HistogramBinning",
    "TemperatureScaling",
]

#: Calibrators by their name on the command line.
CALIBRATORS: dict[str, type[Calibrator]] = {
    "dp": DirectionPreserving,
    "temperature": TemperatureScaling,
    "beta": BetaCalibration,
    "pav": PAV,
    "histogram": HistogramBinning,
}
