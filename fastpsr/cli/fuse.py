"""`fastpsr fuse`."""

from pathlib import Path
from typing import Annotated

import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.options.files import check_inputs, check_outputs, named_files
from fastpsr.cli.options.fusion import FusionOptions
from fastpsr.cli.options.modes import given, refuse
from fastpsr.cli.options.sources import Scores

#: Options that are of use with a saved fusion.
_WITH_LOAD = {
    "--load", "--apply", "--output", "--scores-are", "--quality", "--format", "--allow",
}  # fmt: skip


@in_groups
def fuse(
    context: typer.Context,
    scores: Scores = None,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Score files of further systems."),
    ] = None,
    options: FusionOptions = FusionOptions(),  # noqa: B008
) -> None:
    """Fuse the scores of several systems into one LLR, and show what each of them adds.

    Prints the weights, and metrics of each system, of the cross-fitted fusion, and of the fusion
    without each system. If the speakers are given, cross-fitting keeps those of both sides apart.
    """
    from fastpsr.cli.fusion import apply_fusion, train_fusion

    systems = named_files([*(scores or []), *(files or [])])
    if options.apply is not None and options.output is None:
        raise ValueError("--apply needs --output FILE for the fused scores")
    if options.load is not None:
        if options.apply is None or systems:
            raise ValueError("--load needs --apply with the scores of each system, and no others")
        trained = {*given(context)} - _WITH_LOAD
        refuse(context, trained, "has no use with --load: the fusion is trained")
    elif not systems:
        raise ValueError("give --scores FILE, once for each system, or --load with --apply")
    elif not options.keys.files:
        refuse(context, ["--key-format"], "needs --key")
        if options.trials.of_scores.in_order:
            raise ValueError("--format in-order needs --key")
    # scores that hold their labels may lack trials that others have
    has_key = bool(options.keys.files) or "extra" not in options.allowed.words
    options.allowed.check(of_trials=True, has_key=has_key)
    measures = options.measures.parse(context)
    intervals = options.drawn.parse(context, of_trials=True, speakers=options.speakers, always=True)
    inputs = [
        *systems, *options.keys.files, *options.applied, options.load, options.speakers.file,
        *(each.source for each in measures.values() if isinstance(each.source, Path)),
    ]  # fmt: skip
    check_outputs(options.written, inputs)
    check_inputs(inputs)
    if options.load is None:
        train_fusion(options, systems, measures, intervals, inputs)
    else:
        apply_fusion(options, options.load, measures)
