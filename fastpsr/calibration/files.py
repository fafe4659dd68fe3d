"""Fitted calibrators as JSON files."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastpsr import checks
from fastpsr.calibration.base import Fittable
from fastpsr.calibration.by_condition import ByCondition
from fastpsr.calibration.fusion import LinearFusion
from fastpsr.calibration.registry import CALIBRATORS
from fastpsr.errors import ArgumentError
from fastpsr.files import write_text
from fastpsr.results import strict

_FORMAT = "fastpsr calibrator 1"
_CLASSES: dict[str, type[Fittable]] = {
    each.__name__: each for each in (*CALIBRATORS.values(), LinearFusion, ByCondition)
}


def save_calibrator(calibrator: Fittable, path: str | os.PathLike[str]) -> None:
    """Write a fitted calibrator, fusion or ``ByCondition`` to a JSON file, whole or not at all.

    Numbers are restored exactly; infinite ones are written as strings. The scoring rule that a
    direction-preserving calibrator was fitted with is not saved, since transforming does not use
    it.

    Raises
    ------
    ValueError
        If the calibrator is not fitted.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib, fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pav.json"
    ...     fp.save_calibrator(fp.PAV().fit(data), path)
    ...     fp.load_calibrator(path).posterior_.tolist()
    [0.0, 0.5, 1.0]
    """
    write_calibrator(calibrator, path)


def write_calibrator(
    calibrator: Fittable, path: str | os.PathLike[str], scales: Sequence[str] = ()
) -> None:
    """Write a fitted calibrator, with the kind of each system's scores in the files."""
    checks.check_instance("calibrator", calibrator, Fittable, "a calibrator, such as PAV()")
    if not hasattr(calibrator, "domain_"):
        name = type(calibrator).__name__
        raise ArgumentError("calibrator", "must be fitted before it is saved", name=name)
    content = {"format": _FORMAT, **_content(calibrator)}
    if scales:
        content["scores_are"] = [*scales]
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def load_calibrator(path: str | os.PathLike[str]) -> Any:
    """Read a fitted calibrator from a JSON file that ``save_calibrator`` wrote.

    Raises
    ------
    ValueError
        If the file does not contain a saved calibrator.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib, fastpsr as fp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "costs.json"
    ...     _ = path.write_text("[[0, 1], [1, 0]]")
    ...     try:
    ...         fp.load_calibrator(path)
    ...     except ValueError as error:
    ...         print("refused:", str(error).split(": ")[1])
    refused: it is no object of names and values
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(content, dict) and content["format"] != _FORMAT:
            raise ValueError(f"format is {content['format']!r}")
        return _calibrator(content)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} must be a calibrator saved by fastpsr: {reason}") from None


def scales_in(path: Path) -> list[str]:
    """Return the kind of each system's scores in the files, if a saved calibrator has it."""
    scales = json.loads(path.read_text(encoding="utf-8")).get("scores_are", [])
    are_texts = isinstance(scales, list) and all(isinstance(scale, str) for scale in scales)
    return scales if are_texts else []


def _content(calibrator: Fittable) -> dict[str, Any]:
    names = calibrator.class_names_
    return {
        "calibrator": type(calibrator).__name__,
        "domain": calibrator.domain_,
        **({} if names is None else {"classes": [*names]}),
        "options": _options(calibrator),
        "fitted": {key: _entry(getattr(calibrator, key)) for key in calibrator.fitted_names},
    }


def _options(calibrator: Fittable) -> dict[str, Any]:
    """Return the options that are numbers, text or calibrators of this package."""
    options = {key: strict(getattr(calibrator, key)) for key in calibrator.option_names()}
    for key, value in calibrator.options.items():
        if isinstance(value, Fittable) and type(value).__name__ in _CLASSES:
            options[key] = {"calibrator": type(value).__name__, "options": _options(value)}
    return options


def _made(content: dict[str, Any]) -> Fittable:
    """Return the calibrator with the options of a file, not fitted."""
    checks.check_choice("calibrator", content["calibrator"], tuple(_CLASSES))
    options = {
        key: _made(value) if isinstance(value, dict) else value
        for key, value in content["options"].items()
    }
    return _CLASSES[content["calibrator"]](**options)


def _entry(value: Any) -> Any:
    if isinstance(value, Fittable):
        if type(value).__name__ not in _CLASSES:
            rule = f"must be of this package to be saved, not {value.name}"
            raise ArgumentError("calibrator", rule)
        return _content(value)
    return [_entry(item) for item in value] if isinstance(value, tuple) else strict(value)


def _calibrator(content: Any) -> Fittable:
    if not isinstance(content, dict):
        raise ValueError("it is no object of names and values")
    calibrator = _made(content)
    for key in calibrator.fitted_names:
        entry = content["fitted"][key]
        is_text = key in calibrator.fitted_texts
        if is_text and not (isinstance(entry, list) and all(isinstance(s, str) for s in entry)):
            raise ValueError(f"{key} is not a valid fitted value")
        if key in calibrator.fitted_nested:
            value = _nested(entry)
        else:
            value = tuple(entry) if is_text else _value(entry)
        object.__setattr__(calibrator, key, value)
    checks.check_choice("domain", content["domain"], ("posteriors", "likelihoods", "raw scores"))
    object.__setattr__(calibrator, "domain_", content["domain"])
    if content.get("classes"):
        object.__setattr__(calibrator, "class_names_", tuple(map(str, content["classes"])))
    calibrator.check_fitted()
    return calibrator


def _nested(entry: Any) -> Any:
    if entry is None or isinstance(entry, dict):
        return entry and _calibrator(entry)
    return tuple(map(_nested, entry)) if isinstance(entry, list) else _value(entry)


def _value(entry: Any) -> Any:
    return np.array([_value(item) for item in entry]) if isinstance(entry, list) else float(entry)
