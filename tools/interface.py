"""Write `docs/public_api.txt`, the list of what a version promises: see docs/versions.md.

After a change on purpose: python -m tools.interface
"""

import ast
import importlib
import inspect
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import fastpsr as fp
from fastpsr import calibration, evaluation, results
from fastpsr.cli import app
from fastpsr.exports import CALIBRATORS, FORMATS, PRESETS, QUALITY_TERMS, SUBPACKAGES, WITH_EXTRAS
from tools import exports

FILE = Path(__file__).parents[1] / "docs" / "public_api.txt"
#: Modules that are imported by their own names.
ADAPTERS = (
    "compat.confidence_intervals", "compat.nist", "compat.speechbrain", "report", "sklearn",
)  # fmt: skip
#: What users call of the objects of a class, or define in classes of their own; so they do of
#: classes that derive from it. What else these have is for other modules of the package.
MEMBERS: Mapping[str, list[str]] = {
    "calibration.ByCondition": ["fit", "transform"],
    "calibration.Calibrator": ["fit", "transform"],
    "calibration.LinearFusion": ["fit", "transform"],
    "costs.CostMatrix": ["detection", "of", "zero_one"],
    "evaluation.Evaluation": [
        "__getitem__", "all_samples", "of", "records", "row", "settings", "to_dict", "to_frame",
        "to_report", "to_text", "write",
    ],
    "metrics.Metric": [
        "__call__", "binary_only", "finish", "higher_is_better", "label", "meaning", "merge",
        "reference_value", "summarize", "unit", "value_range",
    ],
    "metrics.operating_points.PointMetric": ["operating_point"],
    "data.PartitionedPredictions": [
        "compute", "kind", "map", "n_classes", "n_parts", "priors",
    ],
    "data.Predictions": dir(fp.Predictions.from_llrs(None, [0.0])),
    "results.Result": ["to_dict", "to_frame"],
    "rules.ScoringRule": ["divergence", "entropy", "is_strict", "label", "loss", "unit"],
    "trials.TrialSet": [
        "column", "columns", "enroll", "equalized_weights", "notes", "predictions", "quality",
        "score", "select", "speakers", "split", "test", "with_speakers", "y_true",
    ],
}  # fmt: skip


def text() -> str:
    """Return the content of the file."""
    sources = "".join(path.read_text("utf-8") for path in exports.PACKAGE.rglob("*.py"))
    sections = {
        "Classes and functions, with the defaults of their arguments": _functions(),
        "Members of classes, and of those that derive from them": _members(),
        "Attributes of results and of fitted calibrators": _attributes(),
        "Commands, with their options": _commands(),
        "Names that options and arguments take": _choices_by_name(),
        "Names in files": _names_in_files(),
        "Environment variables": sorted({*re.findall(r"\bFASTPSR_[A-Z]\w+\b", sources)}),
    }
    listed = ("\n".join(["", title, "", *lines, ""]) for title, lines in sections.items())
    return "What a version promises, written by python -m tools.interface\n" + "".join(listed)


def _functions() -> Iterator[str]:
    names = [name for name in fp.__all__ if name not in SUBPACKAGES]
    yield from (f"fp.{name}{_arguments(getattr(fp, name))}" for name in names)
    for module in (*SUBPACKAGES, *WITH_EXTRAS, *ADAPTERS):
        made = importlib.import_module(f"fastpsr.{module}")
        for name in getattr(made, "__all__", []):
            if name not in names or getattr(made, name) is not getattr(fp, name):
                yield f"fastpsr.{module}.{name}{_arguments(getattr(made, name))}"
    yield from _of_torchmetrics()


def _of_torchmetrics() -> Iterator[str]:
    """Read the source, since torchmetrics may not be installed."""
    for node in ast.walk(ast.parse((exports.PACKAGE / "torchmetrics.py").read_text("utf-8"))):
        if getattr(node, "name", "") == "__init__":
            for argument in ast.walk(node.args):
                argument.annotation = None
            yield f"fastpsr.torchmetrics.TorchMetric({ast.unparse(node.args)})"


def _members() -> Iterator[str]:
    for place, names in MEMBERS.items():
        module, _, kind = place.rpartition(".")
        cls = getattr(importlib.import_module(f"fastpsr.{module}"), kind)
        declared = {name for base in cls.__mro__ for name in getattr(base, "__annotations__", {})}
        declared |= {*re.findall(r"\w+", inspect.getdoc(cls))}  # what each object has
        for name in names:
            assert hasattr(cls, name) or name in declared, f"{place} has no {name}"
            yield f"{kind}.{name}{_arguments(getattr(cls, name, None))}"


def _attributes() -> Iterator[str]:
    found = {getattr(evaluation, name) for name in evaluation.__all__}
    found = {each for each in found if inspect.isclass(each)} | set(_derived(results.Result))
    for each in sorted(found, key=lambda each: each.__name__):
        yield f"{each.__name__}: {', '.join(inspect.signature(each).parameters)}"
    for fitted in (*calibration.CALIBRATORS.values(), fp.LinearFusion, fp.ByCondition):
        yield f"fitted {fitted.__name__}: {', '.join(fitted.fitted_names)}"


def _derived(cls: type) -> Iterator[type]:
    for each in cls.__subclasses__():
        if not each.__name__.startswith("_") and each.__module__.startswith("fastpsr."):
            yield each
        yield from _derived(each)


def _arguments(value: Any) -> str:
    """Return the arguments without their types, which are those of `__init__.pyi`."""
    if not callable(value):
        return ""
    signature = inspect.signature(value)
    plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return str(inspect.Signature(plain))


def _commands() -> Iterator[str]:
    for name in app.COMMANDS:
        command = app.load(name)
        for words, each in getattr(command, "commands", {"": command}).items():
            yield " ".join(filter(None, ["fastpsr", name, words]))
            hints = inspect.signature(each.callback).parameters
            for option in each.params:
                choices = "|".join(_choices(hints[option.name].annotation))
                yield f"  {'/'.join(option.opts)} {choices}".rstrip()


def _choices_by_name() -> Iterator[str]:
    lists = {"calibrators": CALIBRATORS, "formats": FORMATS, "operating points": PRESETS}
    lists |= {"terms of quality": QUALITY_TERMS}
    yield from (f"{what}: {', '.join(names)}" for what, names in lists.items())


def _names_in_files() -> Iterator[str]:
    systems = {
        name: fp.Predictions.from_llrs([0, 1] * 20, [0.1 * (k * step % 40) - 2 for k in range(40)])
        for name, step in {"a": 3, "b": 7}.items()
    }
    table = fp.evaluate(systems, [fp.Cllr()], differences="first", n_resamples=40, seed=0)
    values = replace(table, differences=()).records()[0]
    yield f"CSV of a table: {', '.join(values)}"
    more = [name for name in table.records()[0] if name not in values]
    yield f"CSV of a table, more columns with differences: {', '.join(more)}"
    content = table.to_dict()
    yield f"JSON of a table: {', '.join(content)}"
    for name, entry in content.items():
        first = entry[0] if isinstance(entry, list) else entry
        if isinstance(first, dict):
            yield f"JSON of a table, {name}: {', '.join(first)}"
    with tempfile.TemporaryDirectory() as folder:
        fp.save_calibrator(fp.PAV().fit(systems["a"]), f"{folder}/pav.json")
        saved = json.loads(Path(folder, "pav.json").read_text("utf-8"))
    yield f"JSON of a calibrator: {', '.join(saved)}; the format is {saved['format']!r}"


def _choices(hint: Any) -> list[str]:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [each.value for each in hint]
    if get_origin(hint) is Literal:
        return [*get_args(hint)]
    return [choice for part in get_args(hint) for choice in _choices(part)]


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
