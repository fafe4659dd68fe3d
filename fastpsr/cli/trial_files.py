"""Keys and score files of trials; how their columns were interpreted is printed."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fastpsr.cli.options.sources import Layout, TrialOptions
from fastpsr.cli.show import Steps, print_line, print_line_once
from fastpsr.cli.wording import note_in_options, worded
from fastpsr.trials import Reading, TrialSet, read
from fastpsr.trials.formats import endings_of, may_end_in
from fastpsr.trials.read import read_file
from fastpsr.trials.roles import Request, Wanted
from fastpsr.trials.speakers import AS_SPEAKERS, taken_as_conditions


@dataclass(eq=False)
class TrialReader:
    """Reads score files and joins them with the key, or uses the labels that they contain."""

    options: TrialOptions
    has_scores: bool = True  # else the classes are the scores
    progress: Steps = field(default_factory=Steps)

    def read(self, path: Path) -> TrialSet:
        """Read the scores of a system, with labels; add speakers."""
        key = self._key
        if key is None:
            trials = self._read_labeled(path)
            notes = [*trials.notes]
        else:
            scores = self._read_file(path, "scores", known=key.ids)
            print_line(scores.notes)  # printed before the join, since it may explain an error
            self.progress(f"joining {path}")
            trials = read(key, scores, **self.options.joined)
            notes = [*trials.notes[2:]]
        if trials.has_speakers or taken_as_conditions(trials.columns, AS_SPEAKERS):
            _print(*notes[:-1])
            print_line_once(note_in_options(notes[-1]))  # which holds for several systems
        else:
            _print(*notes)
        return trials

    def read_unlabeled(self, path: Path) -> TrialSet:
        """Read scores without a key."""
        trials = read(None, self._read_file(path, "scores"), **self.options.policies)
        _print(*trials.notes)
        return trials

    @cached_property
    def _key(self) -> Reading | None:
        files: Any = self.options.key
        if not files or not (self.has_scores or isinstance(files, list)):
            return None
        self.progress(f"reading {' and '.join(map(str, self.options.files))}")
        turns = "--key-format transpose or no-transpose"
        with worded(labels="--key-format {}", transpose=turns):
            request = request_of(self.options.key_format, "key", "key_")
            key = read_file(files, request, self.progress)
        _print(key.notes)
        return key

    def _read_file(self, path: Path, wanted: Wanted, **more: Any) -> Reading:
        """Read a file, and show how much of it was read."""
        self.progress(f"reading {path}")
        request = request_of(self.options.format, wanted, "score_")
        with worded(labels="--format {}"):
            return read_file(path, request, self.progress, **more)

    def _read_labeled(self, path: Path) -> TrialSet:
        """Read scores that hold their labels, or those of each class."""
        joined, files = self.options.joined, self.options.key
        if isinstance(files, dict):
            self.progress(f"reading {' and '.join(map(str, files.values()))}")
            by_class: Any = files
            format = self.options.format.format
            return read(by_class, score_format=format, progress=self.progress, **joined)
        return read(self._read_file(path, "labeled scores"), **joined)


def request_of(layout: Layout, wanted: Wanted, prefix: str) -> Request:
    """Return how a file is read, by the arguments of the library with a prefix."""
    return Request(
        wanted, layout.format, layout.columns, layout.transpose, words=layout.labels, prefix=prefix
    )


def _print(*notes: str) -> None:
    for line in (line for note in notes for line in note.splitlines()):
        print_line(note_in_options(line))


def format_of(options: TrialOptions, trials: TrialSet, output: Path | None) -> str:
    """Return the format that scores are written in; raise if the output ends as another one."""
    format = options.format.format or trials.source.format
    if output is not None and not may_end_in(format, output):
        ending, usual = Path(output.name.removesuffix(".gz")).suffix, endings_of(format)
        raise ValueError(
            f"--output must not end in {ending}, as {output} does: scores of trials are written in "
            f"the format that they were read in, {format}: end it in {' or '.join(usual)}"
        )
    return format
