"""Keys and score files of trials; how their columns were interpreted is printed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fastpsr.cli.options.sources import AllowOptions, KeyOptions, SpeakerOptions, TrialOptions
from fastpsr.cli.show import Steps, print_line, print_line_once
from fastpsr.cli.wording import note_in_options, worded
from fastpsr.files import can_be_read_again
from fastpsr.trials import Reading, TrialSet, read, read_key
from fastpsr.trials.formats import endings_of, may_end_in
from fastpsr.trials.reading import read_file
from fastpsr.trials.roles import CLASSES, Request, Wanted
from fastpsr.trials.speakers import AS_SPEAKERS, taken_as_conditions


@dataclass(eq=False)
class TrialReader:
    """Reads score files and joins them with the key, or uses the labels that they contain."""

    keys: KeyOptions
    options: TrialOptions
    allowed: AllowOptions = field(default_factory=AllowOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    has_scores: bool = True  # else the classes are the scores
    progress: Steps = field(default_factory=Steps)

    def read(self, path: Path) -> TrialSet:
        """Read the scores of a system, with labels; add speakers."""
        key = self._key
        if key is None:
            trials, n_printed = self._read_alone(path, labeled=True), 0
        else:
            self.progress(f"reading {path}")
            scores = self._read_file(path, "scores", known=key.ids)
            print_line(scores.notes)  # printed before the join, since it may explain an error
            self.progress(f"joining {path}")
            in_order = self.options.of_scores.in_order
            trials = read(key, scores, in_order=in_order, **self.allowed.policies, **self._speakers)
            n_printed = 2
        notes = [*trials.notes[n_printed:]]
        if trials.has_speakers or taken_as_conditions(trials.columns, AS_SPEAKERS):
            notes, on_speakers = notes[:-1], notes[-1]
            self._print(notes)
            print_line_once(note_in_options(on_speakers))  # which hold for several systems
        else:
            self._print(notes)
        return trials

    def read_unlabeled(self, path: Path) -> TrialSet:
        """Read scores without a key."""
        trials = self._read_alone(path, labeled=False)
        self._print(trials.notes)
        return trials

    @cached_property
    def _key(self) -> Reading | None:
        files: Any = self.keys.keys
        if self.keys.classes is not None and self.has_scores:
            files = dict(zip(CLASSES, self.keys.classes, strict=True))
        if not files:
            return None
        self.progress(f"reading {' and '.join(map(str, self.keys.files))}")
        layout, turns = self.options.of_key, "--key-format transpose or no-transpose"
        with worded(format="--key-format {}", columns="--key-format {}", transpose=turns):
            key = read_key(
                files, format=layout.format, columns=layout.columns, labels=layout.labels,
                transpose=layout.transpose, progress=self.progress,
            )  # fmt: skip
        self._print([key.notes])
        return key

    def _read_file(self, path: Path, wanted: Wanted, **more: Any) -> Reading:
        """Read a file, and show how much of it was read."""
        layout = self.options.of_scores
        request = Request(
            wanted, layout.format, layout.columns, layout.transpose,
            words=layout.labels, prefix="score_",
        )  # fmt: skip
        return read_file(path, request, self.progress, **more)

    def _read_alone(self, path: Path, *, labeled: bool) -> TrialSet:
        policies = {name: self.allowed.policies[name] for name in ("duplicates", "nan")}
        classes = self.keys.classes
        self.progress(f"reading {path if classes is None else ' and '.join(map(str, classes))}")
        if classes is not None:
            files = dict(zip(CLASSES, classes, strict=True))
            format = self.options.of_scores.format
            options = policies | self._speakers
            return read(files, score_format=format, progress=self.progress, **options)
        if not labeled:
            return read(None, self._read_file(path, "scores"), **policies)
        try:
            return read(self._read_file(path, "labeled scores"), **policies, **self._speakers)
        except ValueError as error:
            if not can_be_read_again(path):
                raise
            try:
                has_labels = self._read_file(path, "scores").y_true is not None
            except ValueError:  # which asks for ids that labeled scores need not have
                raise error from None
            if not has_labels:
                raise ValueError(f"{path} has no labels: give a key with --key") from None
            raise

    @property
    def _speakers(self) -> dict[str, Any]:
        """The source of the speakers, as arguments of `read`."""
        source = self.speakers
        return {
            "speakers": source.file, "speaker_columns": source.pair,
            "speaker_pattern": source.pattern,
        }  # fmt: skip

    @staticmethod
    def _print(notes: Sequence[str]) -> None:
        for line in (line for note in notes for line in note.splitlines()):
            print_line(note_in_options(line))


def check_ending(option: str, path: Path, format: str) -> None:
    """Raise if the extension of an output file implies another format."""
    if not may_end_in(format, path):
        ending, usual = Path(path.name.removesuffix(".gz")).suffix, endings_of(format)
        raise ValueError(
            f"{option} must not end in {ending}, as {path} does: scores of trials are written in "
            f"the format that they were read in, {format}: end it in {' or '.join(usual)}"
        )
