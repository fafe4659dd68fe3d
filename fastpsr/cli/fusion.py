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
from fastpsr.calibration.files import scales_in
from fastpsr.cli.options.files import write_fitted, written
from fastpsr.cli.options.fusion import FusionOptions, Measure
from fastpsr.cli.options.intervals import arguments, drawn_name
from fastpsr.cli.options.measures import MetricOptions
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
from fastpsr.trials.evaluate import metrics_of, units_of

_FIXED = "intervals hold the fits fixed: --refits adds what other training data would change"


def apply_fusion(options: FusionOptions, load: Path, measures: Mapping[str, Measure]) -> None:
    """Fuse the scores of --apply by a saved fusion."""
    fitted = load_calibrator(load)
    fusion = _of_all(fitted)
    if not isinstance(fusion, LinearFusion):
        kind = type(fusion).__name__
        raise ValueError(f"{load} is {kind}, of one system: use fastpsr calibrate --load")
    needed = [name for name in fusion.systems_ if name not in fusion.columns_]
    if {*needed} != {*measures}:
        raise ValueError(
            f"--quality must be as in training: {', '.join(needed) or 'none'}, not "
            f"{', '.join(measures) or 'none'}"
        )
    systems = [name for name in fusion.systems_ if name in fusion.columns_]
    names, trained = options.names_of_applied(systems), scales_in(load)
    scales = _scales(options, [*names.values()])
    if options.scores_are is None and len(trained) == len(systems):  # as in training
        scales = {name: cast("Scale", scale) for name, scale in zip(systems, trained, strict=True)}
    conditions = fitted.columns_ if isinstance(fitted, ByCondition) else ()
    where: Any = (names, scales, measures, options.output, conditions)
    with worded(by=f"conditions of {load}"):
        applied_scores = read_systems(_reader(options), *where, labeled=False)
    _print_fusion(fitted)
    _write(options, fitted, applied_scores)


def train_fusion(
    options: FusionOptions,
    systems: Mapping[Path, str | None],
    measures: Mapping[str, Measure],
    intervals: Intervals | None,
    inputs: Sequence[Path | None],
) -> None:
    """Fit a fusion, print it and what each system adds, and write what is asked for."""
    names = {Path(path): name for path, name in shown_names(systems).items()}
    applied = options.names_of_applied([*names.values()]) if options.apply else {}
    fusion, metrics, reader = options.fusion, _metrics(options.metrics), _reader(options)
    scales, applied_scores = _scales(options, [*names.values()]), None
    with steps() as begin, recorded_lines() as lines:
        reader.progress = begin
        where: Any = (scales, measures, options.output, options.conditions.columns)
        read = read_systems(reader, names, *where, labeled=True)
        if applied:  # read before fitting
            with worded(by="--apply: --by"):
                applied_scores = read_systems(reader, applied, *where, labeled=False)
        trials, cases = read.first, read.conditions
        train = CrossFit(options.folds, groups=trials.speakers if trials.has_speakers else None)
        with warnings_as_lines(), worded(systems="--scores"):
            fitted = fusion.fit(read.given, **cases)
            _print_fusion(fitted)
            units = units_of(trials, options.drawn.of_trials(trials))
            evaluation = evaluate_fusion(
                read.given, fusion, metrics_of(trials, metrics, ["likelihoods"]), train=train,
                progress=begin, refits=options.refits, **cases, **arguments(intervals, units),
            )  # fmt: skip
        evaluation = _show(options, evaluation, fitted, scales, inputs)
        for path in options.tables.reports:
            write_report(
                path, evaluation, begin, read=lines, fusion=_of_all(fitted),
                title=f"Fusion of {', '.join(scales)}",
                text=[] if options.refits else [f"The {_FIXED}."],
                predictions=cross_fitted_rows(read.given, fusion, train, **cases),
                operating_points=options.metrics.detection or operating_points(2, "likelihoods"),
            )  # fmt: skip
    if applied_scores is not None:
        _write(options, fitted, applied_scores)
    elif options.output is not None:
        how = ", cross-fitted" + ", speakers apart" * trials.has_speakers
        fused: Any = cross_fit(fusion, read.given, train, **cases)
        read.write(options.output, fused, how)
    if options.save is not None:
        write_fitted(fitted, options.save, [*scales.values()])
    print_written(written(options.tables.files))


def _reader(options: FusionOptions) -> TrialReader:
    return TrialReader(options.keys, options.trials, options.allowed, options.speakers)


def _metrics(options: MetricOptions) -> Mapping[str, Any]:
    """Return the metrics that are asked for, by default those of a fusion."""
    options.spoofing(has_spoof=False)  # which may be refused
    if options.names is None:
        return metrics_of_fusion(2, detection=options.detection)
    return named_metrics(options.names, 2, ["likelihoods"], detection=options.detection)


def _scales(options: FusionOptions, names: Sequence[str]) -> dict[str, Scale]:
    """Return the kinds of the scores of systems by name."""
    kinds = [trial_scale(kind) for kind in kinds_of(options.scores_are, len(names))]
    if "posteriors" in kinds:
        raise ValueError("--scores-are must be llr, log10-llr or raw for a fusion, not posteriors")
    return dict(zip(names, kinds, strict=True))


def _of_all(fitted: Any) -> Any:
    """Return the fusion of all conditions, of a fusion by condition."""
    return fitted.pooled_ if isinstance(fitted, ByCondition) else fitted


def _of_conditions(fitted: Any) -> dict[str, LinearFusion | None]:
    """Return the fusion of each condition, None where it is that of all."""
    by_condition = isinstance(fitted, ByCondition)
    return dict(zip(fitted.groups_, fitted.own_, strict=True)) if by_condition else {}


def _print_fusion(fitted: LinearFusion | ByCondition) -> None:
    """Print the weight of each column, and the bias; of a fusion by condition also the others."""
    with off_the_bar():
        if isinstance(fitted, ByCondition):
            console.print(str(fitted), soft_wrap=True)
        fusions = {
            f" of {name}": fusion for name, fusion in _of_conditions(fitted).items() if fusion
        }
        of_all = " of all" * isinstance(fitted, ByCondition)
        for which, fusion in (fusions | {of_all: _of_all(fitted)}).items():
            content = _content(fusion)
            weights = content["weights"] | {"bias": content["bias"]}
            width = max(map(len, weights))
            console.print(
                f"fusion{which} at a prior of {fusion.prior:g}, in natural logarithms: "
                f"rank {fusion.rank_} of {len(fusion.columns_)} columns",
                soft_wrap=True,
            )
            for name, value in weights.items():
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
        fusions = _of_conditions(fitted).items()
        content["conditions"] = {name: fusion and _content(fusion) for name, fusion in fusions}
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


def _write(options: FusionOptions, fitted: Any, systems: Systems) -> None:
    """Write the fused scores of other trials."""
    assert options.output is not None
    systems.write(options.output, fitted.transform(systems.given, **systems.conditions))
