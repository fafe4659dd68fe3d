"""The body of `fuse`: fits a fusion and shows what each system adds, or applies a saved one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastpsr.bootstrap.settings import Intervals
from fastpsr.calibration import (
    ByCondition,
    CrossFit,
    LinearFusion,
    Quality,
    cross_fit,
    load_calibrator,
)
from fastpsr.calibration.files import scales_in
from fastpsr.cli.options.files import Base, OutputOptions, to_stdout, write_fitted
from fastpsr.cli.options.fusion import FusionOptions
from fastpsr.cli.options.intervals import arguments, drawn_name
from fastpsr.cli.options.measures import FOLDS, MetricOptions
from fastpsr.cli.options.sources import kinds_by_name
from fastpsr.cli.results import shown_names, write_evaluation, write_report
from fastpsr.cli.show import (
    console,
    off_the_bar,
    print_line,
    print_written,
    recorded_lines,
    steps,
    warnings_as_lines,
)
from fastpsr.cli.trial_files import TrialReader, format_of
from fastpsr.cli.wording import in_words, worded
from fastpsr.data import Predictions
from fastpsr.evaluation import evaluate_fusion
from fastpsr.evaluation.fusion_gains import cross_fitted_rows, metrics_of_fusion
from fastpsr.evaluation.specification import named_metrics
from fastpsr.metrics.defaults import operating_points
from fastpsr.trials import TrialSet, write_scores
from fastpsr.trials.common import common_trials, lacking_trial
from fastpsr.trials.evaluate import metrics_of
from fastpsr.trials.trial_set import predictions_of, units_of

_FIXED = "intervals hold the fits fixed: --refits adds what other training data would change"


def apply_fusion(options: FusionOptions, load: Path) -> None:
    """Fuse the scores of --apply by a saved fusion."""
    fitted = load_calibrator(load)
    fusion = _of_all(fitted)
    if not isinstance(fusion, LinearFusion):
        kind = type(fusion).__name__
        raise ValueError(f"{load} is {kind}, of one system: use fastpsr calibrate --load")
    needed = [name for name in fusion.systems_ if name not in fusion.columns_]
    if {*needed} != {*options.quality}:
        raise ValueError(
            f"--quality must be as in training: {', '.join(needed) or 'none'}, not "
            f"{', '.join(options.quality) or 'none'}"
        )
    systems = [name for name in fusion.systems_ if name in fusion.columns_]
    names, trained = options.names_of_applied(systems), scales_in(load)
    scales = _scales(options, [*names.values()])
    if options.scores_are is None and len(trained) == len(systems):  # as in training
        scales = dict(zip(systems, trained, strict=True))
    conditions = fitted.columns_ if isinstance(fitted, ByCondition) else ()
    with worded(by=f"conditions of {load}"):
        systems_applied = _read(
            TrialReader(options.trials), options, names, scales, conditions, labeled=False
        )
    _print_fusion(fitted)
    fused = fitted.transform(systems_applied.fused, **systems_applied.conditions)
    systems_applied.write(options.output, fused)


def train_fusion(
    options: FusionOptions,
    systems: Mapping[Path, str | None],
    intervals: Intervals | None,
    inputs: Sequence[Path | None],
) -> None:
    """Fit a fusion, print it with the gain of each system, and write the requested files."""
    names = {Path(path): name for path, name in shown_names(systems).items()}
    applied = options.names_of_applied([*names.values()]) if options.apply else {}
    fusion, metrics = options.fusion, _metrics(options.metrics, options.tables)
    scales, conditions = _scales(options, [*names.values()]), options.conditions.by.columns
    with steps() as begin, recorded_lines() as lines:
        reader = TrialReader(options.trials, progress=begin)
        training = _read(reader, options, names, scales, conditions, labeled=True)
        others = None
        if applied:  # read before fitting
            with worded(by="--apply: --by"):
                others = _read(reader, options, applied, scales, conditions, labeled=False)
        trials, cases = training.first, training.conditions
        groups = trials.speakers if trials.has_speakers else None
        train = CrossFit(options.folds or FOLDS, groups=groups)
        units = units_of(trials, options.drawn.resample)
        with warnings_as_lines(), worded(systems="--scores"):
            fitted = fusion.fit(training.fused, **cases)
            _print_fusion(fitted)
            evaluation = evaluate_fusion(
                training.fused, fusion, metrics_of(trials, metrics, ["likelihoods"]), train=train,
                progress=begin, refits=options.refits, **cases, **arguments(intervals, units),
            )  # fmt: skip
        evaluation = in_words(evaluation, drawn_name(units))
        with off_the_bar():
            console.print(evaluation.to_text(console.width), soft_wrap=True)
            if not options.refits:
                console.print(_FIXED)
        options.drawn.print_caution(intervals, options.trials)
        kinds = ", ".join(dict.fromkeys(scales.values()))
        write_evaluation(evaluation, kinds, options.tables.files, inputs, fusion=_content(fitted))
        for path in options.tables.reports:
            write_report(
                path, evaluation, begin, read=lines, fusion=_of_all(fitted),
                title=f"Fusion of {', '.join(scales)}",
                text=[] if options.refits else [f"The {_FIXED}."],
                predictions=cross_fitted_rows(training.fused, fusion, train, **cases),
                operating_points=options.metrics.detection or operating_points(2, "likelihoods"),
                base=options.base.number,
            )  # fmt: skip
    if others is not None:
        others.write(options.output, fitted.transform(others.fused, **others.conditions))
    elif options.output is not None:
        fused = cross_fit(fusion, training.fused, train, **cases)
        how = ", cross-fitted" + ", speakers apart" * trials.has_speakers
        training.write(options.output, fused, how)
    if options.save is not None:
        write_fitted(fitted, options.save, [*scales.values()])
    print_written(options.tables.files)


# The systems


@dataclass(frozen=True, eq=False)
class _Systems:
    """The same trials as several systems score them.

    Attributes
    ----------
    first : TrialSet
        The trials of the first system.
    fused : dict of str to Predictions or Quality
        What is fused.
    format : str
        In which fused scores are written.
    conditions : dict
        The argument of conditions, where there are any.
    base : Base
        Of the logarithms that are written.
    """

    first: TrialSet
    fused: Mapping[str, Predictions | Quality]
    format: str
    conditions: dict[str, Any]
    base: Base

    def write(self, path: Path | None, fused: Any, how: str = "") -> None:
        """Write fused scores, and print so."""
        assert path is not None
        with to_stdout(path) as target:
            write_scores(target, self.first, fused.llrs / self.base.unit, format=self.format)
        console.print(
            f"{path}: {len(fused):,} trials with fused LLRs ({self.base.logarithm}s){how}"
        )


def _read(
    reader: TrialReader,
    options: FusionOptions,
    paths: Mapping[Path, str],
    scales: Mapping[str, Any],
    conditions: Sequence[str],
    *,
    labeled: bool,
) -> _Systems:
    """Read the files of systems by name, and quality measures and conditions of their trials.

    Raises
    ------
    ValueError
        For trials that a system lacks, unless these are dropped; for infinite scores and unlike
        labels, with a trial in the message; for an output of another format.
    """
    sets: dict[str, TrialSet] = {}
    for path, name in paths.items():
        sets[name] = reader.read(path) if labeled else reader.read_unlabeled(path)
        print_line(f"{path}: scores of {name}, taken as {scales[name]}")
    format = format_of(options.trials, next(iter(sets.values())), options.output)
    if len(sets) > 1:
        common, left_out = common_trials(sets)
        if left_out and "missing" not in options.trials.allow:
            lacking = lacking_trial(sets)
            raise ValueError(f"{lacking}: pass --allow missing to fuse the trials that all have")
        if left_out:
            print_line(left_out)
        sets = common
    first = next(iter(sets.values()))
    fused: dict[str, Predictions | Quality] = {}
    for name, trials in sets.items():
        _check(name, trials, first)
        fused[name] = predictions_of(trials, name, scales[name])
    for name, measure in options.quality.items():
        if name in fused:
            raise ValueError(f"--quality must have a name that no system has, not {name}")
        fused[name] = measure.of(first)
    first.check_columns("by", conditions)
    return _Systems(first, fused, format, {"by": [*conditions]} if conditions else {}, options.base)


def _check(name: str, trials: TrialSet, first: TrialSet) -> None:
    """Raise if scores are infinite, or labels unlike those of the first system."""
    infinite = np.flatnonzero(np.isinf(trials.score))
    if infinite.size:
        row = int(infinite[0])
        raise ValueError(
            f"{name}: scores that are fused must be finite, but that of {trials.trial_at(row)} is "
            f"{trials.score[row]}"
        )
    if trials.y_true is None or first.y_true is None:
        return
    differ = np.flatnonzero(trials.y_true != first.y_true)
    if differ.size:
        trial = trials.trial_at(int(differ[0]))
        raise ValueError(f"{name}: must have the labels of the first system, but {trial} differs")


def _metrics(options: MetricOptions, outputs: OutputOptions) -> Mapping[str, Any]:
    """Return the requested metrics, by default the metrics of a fusion."""
    costs: Any = {
        "detection": options.detection,
        "spoofing": options.spoofing(has_spoof=False),  # which may be refused
    }
    if options.metrics is None:
        return metrics_of_fusion(2, **costs)
    metrics = named_metrics(options.metrics, 2, ["likelihoods"], **costs)
    options.check_effects(metrics, outputs, {})
    return metrics


def _scales(options: FusionOptions, names: Sequence[str]) -> dict[str, Any]:
    """Return the kinds of the scores of systems by name."""
    scales = kinds_by_name(options.scores_are, names, of_trials=True)
    if "posteriors" in scales.values():
        raise ValueError("--scores-are must be llr, log10-llr or raw for a fusion, not posteriors")
    return scales


# The fusion


def _of_all(fitted: Any) -> Any:
    """Return the fusion that does not depend on conditions."""
    return fitted.pooled_ if isinstance(fitted, ByCondition) else fitted


def _print_fusion(fitted: LinearFusion | ByCondition) -> None:
    """Print the weight of each column, and the bias; of a fusion by condition also the others."""
    content = _content(fitted)
    fusions = {"": content}
    with off_the_bar():
        if isinstance(fitted, ByCondition):
            console.print(str(fitted), soft_wrap=True)
            fusions = {**content["conditions"], "all": content}
        for name, fusion in fusions.items():
            if fusion is None:  # that of all
                continue
            weights = fusion["weights"] | {"bias": fusion["bias"]}
            width = max(map(len, weights))
            console.print(
                f"fusion{' of ' * bool(name)}{name} at a prior of {fusion['prior']:g}, in natural "
                f"logarithms: rank {fusion['rank']} of {len(fusion['weights'])} columns",
                soft_wrap=True,
            )
            for column, value in weights.items():
                console.print(f"  {column:<{width}}  {value:>11.5g}")


def _content(fitted: LinearFusion | ByCondition) -> dict[str, Any]:
    """Return a fusion as it is written to files, with its conditions if there are any."""
    fusion = _of_all(fitted)
    content = {
        "prior": fusion.prior,
        "weights": dict(zip(fusion.columns_, fusion.weights_.tolist(), strict=True)),
        "bias": float(fusion.bias_[1] - fusion.bias_[0]),
        "rank": fusion.rank_,
    }
    if isinstance(fitted, ByCondition):
        own = zip(fitted.groups_, fitted.own_, strict=True)
        content["conditions"] = {name: each and _content(each) for name, each in own}
    return content
