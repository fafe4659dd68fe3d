"""What keeps Ctrl-C, at whatever moment it comes, from breaking threads and clean-up."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext


def both_interrupts() -> nullcontext[None]:
    """Return a block in which Ctrl-C ends, inside of one that cleans up.

    While polars works, Ctrl-C raises KeyboardInterrupt twice: in polars, and in the next line of
    Python, wherever that is. This is the end of this block, so that the clean-up is not stopped.
    """
    return nullcontext()


def started_thread() -> ThreadPoolExecutor:
    """Return a pool of one thread, which runs: if Ctrl-C stopped its start, there would be two."""
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()
    return pool
