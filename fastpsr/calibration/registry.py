"""The calibrators there are: files, the command line and the warm-up read them here."""

from fastpsr.calibration.affine import DirectionPreserving, TemperatureScaling
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.histogram_binning import HistogramBinning
from fastpsr.calibration.pav import PAV

__all__ = ["CALIBRATORS"]

#: Classes by the name that the command line gives them. What they are made with, what they are
#: fitted to and how many classes they take they say themselves.
CALIBRATORS: dict[str, type[Calibrator]] = {
    "dp": DirectionPreserving,
    "temperature": TemperatureScaling,
    "pav": PAV,
    "histogram": HistogramBinning,
}
