"""Trial lists and score files of speaker verification: formats, joining, conditions, speakers."""

from fastpsr.trials.coded import Coded
from fastpsr.trials.evaluate import evaluate
from fastpsr.trials.formats import FORMATS
from fastpsr.trials.joining.joined_file import JoinedFile, join
from fastpsr.trials.read import Reading, read, read_key, read_scores
from fastpsr.trials.trial_set import Source, TrialSet
from fastpsr.trials.write import write_scores

__all__ = [
    "FORMATS",
    "Coded",
    "JoinedFile",
    "Reading",
    "Source",
    "TrialSet",
    "evaluate",
    "join",
    "read",
    "read_key",
    "read_scores",
    "write_scores",
]
