"""`fastpsr fuse`."""

from pathlib import Path

import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.options.files import check_files, named_files
from fastpsr.cli.options.fusion import FusionOptions
from fastpsr.cli.options.sources import MoreScores, Scores, given, refuse

#: Options that are of use with a saved fusion.
_WITH_LOAD = {
    "--load", "--apply", "--output", "--scores-are", "--quality", "--metadata", "--format",
    "--allow", "--base",
}  # fmt: skip


@in_groups
def fuse(
    context: typer.Context,
    *,
    scores: Scores = None,
    files: MoreScores = None,
    options: FusionOptions,
) -> None:
    """Fuse the scores of several systems into one LLR, and show what each of them adds.

    Prints the weights, and metrics of each system, of the cross-fitted fusion, and of the fusion
    without each system. If the speakers are given, cross-fitting keeps those of both sides apart.
    """
    from fastpsr.cli.fusion import apply_fusion, train_fusion

    trials, systems = options.trials, named_files([*(scores or []), *(files or [])])
    if options.apply and options.output is None:
        raise ValueError("--apply needs --output FILE for the fused scores")
    if options.load is not None:
        if not options.apply or systems:
            raise ValueError("--load needs --apply with the scores of each system, and no others")
        trained = {*given(context)} - _WITH_LOAD
        refuse(context, trained, "has no use with --load: the fusion is trained")
    elif not systems:
        raise ValueError("give --scores FILE, once for each system, or --load with --apply")
    if not options.quality:
        refuse(context, ["--quality-terms"], "is for --quality")
    # scores that hold their labels may lack trials that others have
    trials.check(context, of_trials=True, has_scores=True, of_keys=["extra"])
    intervals = options.drawn.settings(context, trials, of_trials=True, always=True)
    sources = [measure.source for measure in options.quality.values()]
    inputs = [
        *systems, *trials.inputs_beside, *options.apply, options.load,
        *(source for source in sources if isinstance(source, Path)),
    ]  # fmt: skip
    check_files(inputs, options.written)
    if options.load is None:
        train_fusion(options, systems, intervals, inputs)
    else:
        apply_fusion(options, options.load)
