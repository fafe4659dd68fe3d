"""Messages of the library in the words of the command line: options instead of arguments."""

import re
from dataclasses import replace

from fastpsr.evaluation import Evaluation

__all__ = ["in_options", "in_words"]

# What the library says, and what the commands say: {dash} is "--", or "--key-" about a key. A word
# that is an option already stays.
_RULES = tuple(
    (re.compile(rf"(?<![\w-]){pattern}"), words)
    for pattern, words in [
        (r"(missing|extra|duplicates|nan)='(\w+)'", r"--\1 \2"),
        (r"(?:key_|score_)?format= \((?:--key-|--)format\)", r"{dash}format"),
        (
            r"(?:key_|score_)?columns=\{'(\w+)': \.\.\.\} \((?:--key-|--)columns\)",
            r"{dash}columns \1=NAME",
        ),
        (r"(?:key_|score_)?columns (?=must name roles|is for files)", r"{dash}columns "),
        (r"transpose=False", r"{no}transpose"),
        (r"transpose=True", r"{dash}transpose"),
        (r"(?<=transpose if they are, )True\b", r"{dash}transpose"),
        (r"transposed them \(--transpose\)", "transposed them"),
        (r"transpose (?=is for )", r"{dash}transpose "),
        (r"pattern (?=must be a regular|')", r"--speaker-pattern "),
        (r"the mapping (?=has none)", "--speakers "),
        (r"every partition (?=must have)", "every partition of --equalize "),
        (
            r"predictions (?=must be (?:posteriors|likelihoods|raw scores), as)",
            "--scores-are: scores ",
        ),
        (
            r"Object arrays cannot be loaded when allow_pickle=False",
            "it holds a pickle, not numbers",
        ),
        (r"speaker_columns (?=must)", "--speaker-columns "),
        (r"scores (?=must name each file once)", "--scores "),
        (r"n_resamples (?=must)", "--resamples "),
        (r"confidence_level (?=must)", "--ci "),
        (r"seed (must be an integer of at least 0), or None", r"--seed \1"),
        (r"seed (?=must be an integer)", "--seed "),
        (r"floor (?=must (?:lie in|be 0 for raw))", "--floor "),
        (r"use PAV\(floor=\.\.\.\)", "use --calibrator pav --floor 0.001"),
        (r"from_posteriors\(\.\.\., floor=1e-6\)", "a floor"),
        (r"\w+\(floor=1e-6\)", "--floor 1e-6"),
        (r"Value error, (?='[^']*' is not one of )", ""),  # typer's, of a choice
        (
            r"(?:ids|enroll_speakers) must name (?=at least two)",
            "--resample: there must be ",
        ),
        (r"(?<=: )ids (?=must )", "--resample: ids "),
        (r"folds must be an integer of 2 to 10,000, or ids", "--folds must be 2 to 10,000"),
        (r"folds (?=must (?:not|leave|be at most) )", "--folds "),
        (r"\(fastpsr\.cross_fit\)", "(fastpsr calibrate)"),
        (r"\(from_llrs, \.\.\.\)", "(--scores-are)"),
    ]
)


def in_options(message: str, *, of_key: bool = False) -> str:
    """Return a message with the options that the arguments in it have become.

    Examples
    --------
    >>> in_options("1 trial without a score ('a b'), allow by missing='drop'")
    "1 trial without a score ('a b'), allow by --missing drop"
    >>> in_options("k: say which it is with format= (--format)", of_key=True)
    'k: say which it is with --key-format'
    """
    dash, no = ("--key-", "--no-key-") if of_key else ("--", "--no-")
    for pattern, words in _RULES:
        message = pattern.sub(words.format(dash=dash, no=no), message)
    return message


def in_words(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation whose notes name options instead of arguments."""
    rows = tuple(replace(row, note=in_options(row.note)) for row in evaluation.rows)
    return replace(evaluation, rows=rows)
