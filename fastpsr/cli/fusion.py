"""The body of `fuse`: fits a fusion and shows what each system adds, or applies a saved one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fastpsr.bootstrap.settings import Intervals
from fastpsr.calibration import (
    ByCondition,
    CrossFit,
    LinearFusion,
    cross_fit,
    load_calibrator,
)
from fastpsr.calibration.files import scales_in, write_calibrator
from fastpsr.cli.options.files import check_inputs, to_stdout, written
from fastpsr.cli.options.fusion import FusionOptions, Measure
from fastpsr.cli.options.intervals import arguments, drawn_name
from fastpsr.cli.options.sources import kinds_of, trial_scale
from fastpsr.cli.results import (
    print_evaluation,
    shown_names,
    write_evaluation,
    write_report,
)
from fastpsr.cli.show import (
    console,
    off_the_bar,
    print_error,
    print_written,
    recorded_lines,
    steps,
    warnings_as_lines,
)
from fastpsr.cli.systems import Systems, read_systems
from fastpsr.cli.trial_files import TrialReader
from fastpsr.cli.wording import in_words, worded
from fastpsr.data import Scale
from fastpsr.evaluation import Evaluation, evaluate_fusion
from fastpsr.evaluation.fusion_gains import cross_fitted_rows, metrics_of_fusion
from fastpsr.evaluation.specification import named_metrics
from fastpsr.metrics.defaults import operating_points
from fastpsr.trials import TrialSet
from fastpsr.trials.evaluate import metrics_of, units_of

_FIXED = "intervals hold the fits fixed: --refits adds what other training data would change"


def apply_fusion(
    options: FusionOptions,
    load: Path,
    measures: Mapping[str, Measure],
    inputs: Sequence[Path | None],
) -> None:
    """Fuse the scores of --apply by a saved fusion."""
    reader = _reader(options)
    check_inputs(inputs)
    fitted = load_calibrator(load)
    one = _of_all(fitted)
    if not isinstance(one, LinearFusion):
        kind = type(one).__name__
        raise ValueError(f"{load} is {kind}, of one system: use fastpsr calibrate --load")
    systems = [n for n in one.systems_ if n in one.columns_]
    names, trained = options.names_of_applied(systems), scales_in(load)
    scales = _scales(options, [*names.values()])
    if options.scores_are is None and len(trained) == len(systems):  # as in training
        scales = {name: cast("Scale", each) for name, each in zip(systems, trained, strict=True)}
    _check_measures(one, measures)
    conditions = fitted.columns_ if isinstance(fitted, ByCondition) else ()
    with worded(by=f"conditions of {load}"):
        others = read_systems(
            reader, names, scales, measures, options.output, conditions, labeled=False
        )  # fmt: skip
    _print_fusion(fitted)
    _write(options, fitted, others)


def _reader(options: FusionOptions) -> TrialReader:
    return TrialReader(options.keys, options.trials, options.allowed, options.speakers)


def _check_measures(fitted: LinearFusion, measures: Mapping[str, Measure]) -> None:
    """Raise unless the quality measures are those of a saved fusion."""
    needed = [name for name in fitted.systems_ if name not in fitted.columns_]
    if {*needed} != {*measures}:
        has = (
            f"has the quality measures {', '.join(needed)}" if needed else "has no quality measures"
        )
        options = " ".join(f"--quality {'=FILE:'.join(name.split(':', 1))}" for name in needed)
        remedy = f": give {options}" if needed else ""
        found = ", ".join(measures) or "none"
        rule = "--quality must be as in training"
        raise ValueError(f"{rule}: the fusion {has}, not {found}{remedy}")


def train_fusion(
    options: FusionOptions,
    systems: Mapping[Path, str | None],
    measures: Mapping[str, Measure],
    intervals: Intervals | None,
    inputs: Sequence[Path | None],
) -> None:
    """Fit a fusion, print it and what each system adds, and write what is asked for."""
    shown, reader = shown_names(systems), _reader(options)
    fusion, metrics = options.fusion, _metrics(options)
    names = {Path(path): name for path, name in shown.items()}
    scales, others = _scales(options, [*shown.values()]), None
    applied = options.names_of_applied([*shown.values()]) if options.apply else {}
    check_inputs(inputs)
    with steps() as begin, recorded_lines() as lines:
        reader.progress = begin
        conditions = options.conditions.columns
        where: Any = (scales, measures, options.output, conditions)
        with worded(by="--by"):
            read = read_systems(reader, names, *where, labeled=True)
        if applied:  # read before fitting
            with worded(by="--apply: --by"):
                others = read_systems(reader, applied, *where, labeled=False)
        made = read.first
        train = CrossFit(options.folds, groups=made.speakers if made.has_speakers else None)
        with warnings_as_lines(), worded(systems="--scores"):
            fitted = fusion.fit(read.given, **read.conditions)
            _print_fusion(fitted)
            evaluation = evaluate_fusion(
                read.given, fusion, metrics_of(made, metrics, ["likelihoods"]), train=train,
                progress=begin, refits=options.refits, **read.conditions,
                **_settings(options, intervals, made),
            )  # fmt: skip
        evaluation = _show(options, evaluation, fitted, scales, inputs)
        for path in options.tables.reports:
            write_report(
                path, evaluation, begin, read=lines, fusion=_of_all(fitted),
                title=f"Fusion of {', '.join(scales)}",
                text=[] if options.refits else [f"The {_FIXED}."],
                predictions=cross_fitted_rows(read.given, fusion, train, **read.conditions),
                operating_points=options.detection or operating_points(2, "likelihoods"),
            )  # fmt: skip
    if others is not None:
        _write(options, fitted, others)
    elif options.output is not None:
        how = ", cross-fitted" + ", speakers apart" * made.has_speakers
        fused: Any = cross_fit(fusion, read.given, train, **read.conditions)
        read.write(options.output, fused, how)
    if options.save is not None:
        with to_stdout(options.save) as target:
            write_calibrator(fitted, target, [*scales.values()])
    print_written(written([file for file in options.written if file[1] != options.output]))


def _metrics(options: FusionOptions) -> Mapping[str, Any]:
    """Return the metrics that are asked for, by default those of a fusion."""
    if options.metrics is None:
        return metrics_of_fusion(2, detection=options.detection)
    names = options.metrics.split(",")
    return named_metrics(names, 2, ["likelihoods"], detection=options.detection)


def _scales(options: FusionOptions, names: Sequence[str]) -> dict[str, Scale]:
    """Return the kinds of the scores of systems by name."""
    kinds = [trial_scale(kind) for kind in kinds_of(options.scores_are, len(names))]
    if "posteriors" in kinds:
        raise ValueError("--scores-are must be llr, log10-llr or raw for a fusion, not posteriors")
    return dict(zip(names, kinds, strict=True))


def _settings(
    options: FusionOptions, intervals: Intervals | None, made: TrialSet
) -> dict[str, Any]:
    """Return the settings of intervals, which draw the speakers if they are known."""
    found = arguments(intervals, options.drawn, made)
    return found and {**found, "resampling": units_of(made, found["resampling"])}


def _of_all(fitted: Any) -> Any:
    """Return the fusion of all conditions, of a fusion by condition."""
    return fitted.pooled_ if isinstance(fitted, ByCondition) else fitted


def _print_fusion(fitted: LinearFusion | ByCondition) -> None:
    """Print the weight of each column, and the bias; of a fusion by condition also the others."""
    if isinstance(fitted, ByCondition):
        with off_the_bar():
            console.print(str(fitted), soft_wrap=True)
        for name, own in zip(fitted.groups_, fitted.own_, strict=True):
            if own is not None:
                _print_weights(own, f" of {name}")
        _print_weights(fitted.pooled_, " of all")
    else:
        _print_weights(fitted, "")


def _print_weights(fitted: LinearFusion, of: str) -> None:
    bias = float(fitted.bias_[1] - fitted.bias_[0])
    values = [*zip(fitted.columns_, fitted.weights_.tolist(), strict=True), ("bias", bias)]
    width = max(len(name) for name, _ in values)
    rank = f"rank {fitted.rank_} of {len(fitted.columns_)} columns"
    with off_the_bar():
        what = f"fusion{of} at a prior of {fitted.prior:g}, in natural logarithms"
        console.print(f"{what}: {rank}", soft_wrap=True)
        for name, value in values:
            console.print(f"  {name:<{width}}  {value:>11.5g}")


def _show(
    options: FusionOptions,
    evaluation: Evaluation,
    fitted: LinearFusion | ByCondition,
    scales: Mapping[str, Scale],
    inputs: Sequence[Path | None],
) -> Evaluation:
    """Print the tables and write them to files; return the evaluation in the command's words."""
    drawn = drawn_name(options.drawn.scheme, has_speakers=options.speakers.are_known)
    evaluation = in_words(evaluation, drawn)
    with off_the_bar():
        print_evaluation(evaluation)
        if evaluation.intervals is not None and not options.refits:
            console.print(_FIXED)
    if caution := options.drawn.caution(evaluation.intervals, options.speakers):
        print_error(caution)
    content = _content(_of_all(fitted))
    if isinstance(fitted, ByCondition):
        own = zip(fitted.groups_, fitted.own_, strict=True)
        content["conditions"] = {name: each and _content(each) for name, each in own}
    kinds = ", ".join(dict.fromkeys(scales.values()))
    write_evaluation(evaluation, kinds, options.tables.tables, inputs, fusion=content)
    return evaluation


def _content(fitted: LinearFusion) -> dict[str, Any]:
    """Return what a fusion is in files."""
    return {
        "prior": fitted.prior,
        "weights": dict(zip(fitted.columns_, fitted.weights_.tolist(), strict=True)),
        "bias": float(fitted.bias_[1] - fitted.bias_[0]),
        "rank": fitted.rank_,
    }


def _write(options: FusionOptions, fitted: Any, others: Systems) -> None:
    """Write the fused scores of other trials."""
    assert options.output is not None
    others.write(options.output, fitted.transform(others.given, **others.conditions))
