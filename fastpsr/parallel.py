"""The number of threads of the calls in a block."""

from contextlib import AbstractContextManager

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.kernels.blocks import most_threads, on_threads

__all__ = ["threads"]


def threads(n: int) -> AbstractContextManager[None]:
    """Set the number of threads of the fastpsr calls in a ``with`` block.

    For programs that call fastpsr from several threads or processes of their own, such as joblib,
    so that these do not compete for processors.

    Parameters
    ----------
    n : int
        From 1 to the number of threads that calls have otherwise: FASTPSR_NUM_THREADS if this
        environment variable is set, else the number of processors that the process may use. With 1
        the kernels run on the calling thread.

    Raises
    ------
    ValueError
        If `n` is out of this range.

    Notes
    -----
    The number holds for the thread of Python that entered the block (for the task, in asyncio),
    until the block ends, also by an error: other threads keep theirs, and threads that are started
    in the block do not inherit it. Blocks may be nested; the inner number holds. Results have the
    same bits for any number.

    It holds for kernels. It does not hold for the libraries that read files, polars and pyarrow:
    polars fixes its number of threads when it is imported (environment variable
    POLARS_MAX_THREADS), and pyarrow's is ``pyarrow.set_cpu_count``. Data in parts are read ahead by
    one more thread. On Dask, kernels run on the thread of their task.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> with fp.threads(1):
    ...     fp.AUC()(data)
    0.75
    """
    checks.check_integer("n", n, 1)
    most = most_threads()
    if n > most:
        raise ArgumentError(
            "n",
            f"must be at most {most}, the number of threads that calls may have here, not {n!r}",
            remedy="set the environment variable FASTPSR_NUM_THREADS for more",
        )
    return on_threads(int(n))
