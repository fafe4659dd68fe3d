"""Seeds of named random streams."""

import hashlib

import numpy as np


def seed_of(seed: int, stream: tuple[str | int, ...]) -> int:
    """Return a 64-bit seed for a stream, so that different streams are independent.

    It is the same in every process, since streams are named by strings and integers only.
    """
    text = "".join(f"{_kind(part)}{len(str(part))}:{part}" for part in stream)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), "<u4")
    state = np.random.SeedSequence([seed, *words.tolist()])
    return int(state.generate_state(1, np.uint64)[0])


def _kind(part: object) -> str:
    if isinstance(part, str):
        return "s"
    if isinstance(part, (int, np.integer)):
        return "i"
    raise TypeError(f"streams are named by strings and integers, not {part!r}")
