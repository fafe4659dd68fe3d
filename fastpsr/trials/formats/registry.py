"""Every format that is known: the one place where they are listed.

A new format of text without names of columns is a line here, with any separator. Any other is a
class in a module of its own, and a line here; text that is not columns, or columns with names, is
also recognized in `detect.py`. `python -m tools.exports` and `tools.interface` list the names.
"""

from pathlib import Path

from fastpsr.trials.formats.columns import Npz, Parquet
from fastpsr.trials.formats.format import Format
from fastpsr.trials.formats.matrices import Matrices
from fastpsr.trials.formats.text import Nist, Text
from fastpsr.trials.labels import WITH_SPOOF
from fastpsr.trials.roles import NORM_COLUMNS

_ANY_TEXT = (".txt", ".tsv")
_COMMAS = (".csv", ".txt")
_HDF5 = (".h5", ".hdf5")

_ASVSPOOF_2021 = "enroll test codec transmission attack label trim phase"
_ASVSPOOF_5 = "enroll test gender codec codec_q codec_seed attack_tag attack label tmp"

_LINES = tuple(
    Text(name, _ANY_TEXT, tuple(roles.split()), words)
    for name, roles, words in (
        ("kaldi-trials", "enroll test label", "target/nontarget"),
        ("sitw", "enroll test label", "tgt/imp"),
        ("voxceleb", "label enroll test", "1/0"),
        ("kaldi-scores", "enroll test score", ""),
        ("voxsrc", "score enroll test", ""),
        ("wespeaker", "enroll test score label", "target/nontarget"),
        ("wespeaker", f"enroll test score label {' '.join(NORM_COLUMNS)}", "target/nontarget"),
        ("3dspeaker", "enroll test label score", "1/0"),
        ("kaldi-eer", "score label", "target/nontarget"),
        ("bob", "label score", "1/-1"),
        ("sasv", "enroll test attack label", WITH_SPOOF),
        ("asvspoof", "enroll test environment attack label", "bonafide/spoof"),
        ("asvspoof", _ASVSPOOF_2021, "bonafide/spoof"),
        ("asvspoof", _ASVSPOOF_5, "bonafide/spoof"),
        ("numbers", "score", ""),
        ("pairs", "enroll test", ""),
    )
)

#: All formats.
REGISTRY: tuple[Format, ...] = (
    *_LINES,
    Nist("nist", _ANY_TEXT, separator="\t"),
    Text("csv", _COMMAS, separator=","),
    *(Text("bare-csv", _COMMAS, lines.roles, lines.words, ",") for lines in _LINES),
    Parquet("parquet", (".parquet", ".pq")),
    Npz("npz", (".npz",)),
    Matrices("bosaris", _HDF5, ids=("ID/row_ids", "ID/column_ids")),
    Matrices("sidekit", _HDF5, ids=("modelset", "segset")),
    Matrices(
        "dca-plda",
        _HDF5,
        ids=("enroll_ids", "test_ids"),
        key_masks=("trial_mask", "mask"),
        score_masks=("mask", "score_mask", ""),
    ),
)

#: Their names.
FORMATS = tuple(dict.fromkeys(format.name for format in REGISTRY))

_ENDINGS_OF_OTHERS = (".npy", ".json")


def endings_of(name: str) -> tuple[str, ...]:
    """Return the endings of files that promise a format."""
    return next(format.endings for format in REGISTRY if format.name == name)


def may_end_in(name: str, path: Path) -> bool:
    """Whether the ending of a file promises no other format than `name`."""
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    known = {*_ENDINGS_OF_OTHERS, *(each for format in REGISTRY for each in format.endings)}
    return ending in endings_of(name) or ending not in known
