"""Calibrators, and ways to train them.

`CALIBRATORS` and `TRAININGS` list all of them; files, options, warm-up, fuzzing and tests iterate
over them.
"""

from fastpsr.calibration.affine import DirectionPreserving, TemperatureScaling
from fastpsr.calibration.base import Calibrator as Calibrator
from fastpsr.calibration.beta import BetaCalibration
from fastpsr.calibration.files import load_calibrator, save_calibrator
from fastpsr.calibration.histogram_binning import HistogramBinning
from fastpsr.calibration.pav import PAV
from fastpsr.calibration.registry import CALIBRATORS as CALIBRATORS
from fastpsr.calibration.training import CrossFit, HeldOut, TrainOnTest, cross_fit
from fastpsr.calibration.training import Training as Training

TRAININGS: tuple[type[Training], ...] = (CrossFit, TrainOnTest, HeldOut)

__all__ = [
    "PAV",
    "BetaCalibration",
    "CrossFit",
    "DirectionPreserving",
    "HeldOut",
    "HistogramBinning",
    "TemperatureScaling",
    "TrainOnTest",
    "cross_fit",
    "load_calibrator",
    "save_calibrator",
]
