"""Calibrators, and how to train them without cheating."""

from fastpsr.calibration.affine import DirectionPreserving, TemperatureScaling
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.files import load_calibrator, save_calibrator
from fastpsr.calibration.histogram_binning import HistogramBinning
from fastpsr.calibration.pav import PAV
from fastpsr.calibration.registry import CALIBRATORS
from fastpsr.calibration.training import CrossFit, HeldOut, Training, TrainOnTest, cross_fit

__all__ = [
    "CALIBRATORS",
    "PAV",
    "Calibrator",
    "CrossFit",
    "DirectionPreserving",
    "HeldOut",
    "HistogramBinning",
    "TemperatureScaling",
    "TrainOnTest",
    "Training",
    "cross_fit",
    "load_calibrator",
    "save_calibrator",
]
