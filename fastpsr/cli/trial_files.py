"""Keys and score files of trials; how their columns were interpreted is printed."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fastpsr.cli.options.sources import TrialOptions
from fastpsr.cli.show import Steps, print_line, print_line_once
from fastpsr.cli.wording import note_in_options
from fastpsr.trials import Reading, TrialSet, read
from fastpsr.trials.formats import endings_of, may_end_in
from fastpsr.trials.read import read_file
from fastpsr.trials.roles import Request
from fastpsr.trials.speakers import taken_as_conditions


@dataclass(eq=False)
class TrialReader:
    """Reads score files and joins them with the key, or uses the labels that they contain."""

    options: TrialOptions
    has_scores: bool = True  # else the classes are the scores
    progress: Steps = field(default_factory=Steps)

    def read(self, path: Path) -> TrialSet:
        """Read the scores of a system, with labels; add speakers."""
        options, key = self.options, self._key
        self.progress(f"reading {path}")
        if key is None:
            files: Any = options.key if isinstance(options.key, dict) else path
            trials = read(files, format=options.format, progress=self.progress, **options.joined)
            notes = [*trials.notes]
        else:
            request = Request.of("scores", options.format)
            scores = read_file(path, request, self.progress, key.ids)
            print_line(scores.notes)  # printed before the join, since it may explain an error
            self.progress(f"joining {path}")
            order = "in-order" if request.in_order else None
            trials = read(key, scores, format=order, **options.joined)
            notes = [*trials.notes[2:]]
        if trials.has_speakers or taken_as_conditions(trials.columns):
            _print(*notes[:-1])
            print_line_once(note_in_options(notes[-1]))  # which holds for several systems
        else:
            _print(*notes)
        return trials

    def read_unlabeled(self, path: Path) -> TrialSet:
        """Read scores without a key."""
        self.progress(f"reading {path}")
        options = self.options
        joined = options.joined | {"speakers": None}
        trials = read(None, path, format=options.format, progress=self.progress, **joined)
        _print(*trials.notes)
        return trials

    @cached_property
    def _key(self) -> Reading | None:
        files: Any = self.options.key
        if not files or not (self.has_scores or isinstance(files, list)):
            return None
        self.progress(f"reading {' and '.join(map(str, self.options.files))}")
        request = Request.of("key", self.options.key_format, "key_format")
        key = read_file(files, request, self.progress)
        _print(key.notes)
        return key


def _print(*notes: str) -> None:
    for line in (line for note in notes for line in note.splitlines()):
        print_line(note_in_options(line))


def format_of(options: TrialOptions, trials: TrialSet, output: Path | None) -> str:
    """Return the format that scores are written in; raise if the output ends as another one."""
    format = options.format_name or trials.source.format
    if output is not None and not may_end_in(format, output):
        ending, usual = Path(output.name.removesuffix(".gz")).suffix, endings_of(format)
        raise ValueError(
            f"--output must not end in {ending}, as {output} does: scores of trials are written in "
            f"the format that they were read in, {format}: end it in {' or '.join(usual)}"
        )
    return format
