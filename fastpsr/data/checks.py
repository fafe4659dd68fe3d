"""Checks of data arguments, and of their ids."""

from typing import Any

from fastpsr import checks
from fastpsr.data.partitioned import Data, PartitionedPredictions
from fastpsr.data.predictions import Predictions
from fastpsr.errors import ArgumentError
from fastpsr.ids import as_ids
from fastpsr.options import CALL_TO_MAKE


def check_data(data: object, name: str = "predictions") -> None:
    """Raise unless these are predictions, in memory or in parts."""
    wanted = (Predictions, PartitionedPredictions)
    try:
        checks.check_instance(name, data, wanted, "Predictions, or predictions in parts")
    except ArgumentError as error:
        remedy = CALL_TO_MAKE
        if callable(getattr(data, "predictions", None)):  # of trials
            remedy = "pass what its method predictions(...) returns"
        elif isinstance(data, (list, tuple)) and data and isinstance(data[0], wanted):
            remedy = (
                "several systems are a dict of names for fp.evaluate, {'a': data[0], 'b': data[1]},"
                " and parts of one are for fp.from_parts"
            )
        raise error.renamed(name, remedy=remedy) from None


def check_column_of(argument: str, values: Any, data: Data) -> None:
    """Raise if a name is no column, or ids of data in parts are not one per sample."""
    if isinstance(values, str):
        data.check_column(argument, values)
    elif isinstance(data, PartitionedPredictions):
        n_values = checks.as_array(argument, values, "ids").size
        checks.check_length(argument, n_values, len(data.root))


def check_ids(argument: str, ids: Any, data: Data) -> Any:
    """Return ids, for data in parts as an array; raise where they are not of the data.

    They are the name of a column, or an id per sample, which data in memory check where they are
    used.
    """
    if isinstance(ids, str):
        data.check_column(argument, ids)
    elif isinstance(data, PartitionedPredictions):
        return as_ids(argument, ids, len(data.root))
    return ids


def picked_ids(argument: str, ids: Any, data: Data, rows: Any) -> Any:
    """Return the ids of some rows; names stay, and parts know their rows in the whole."""
    ids = check_ids(argument, ids, data)
    if isinstance(ids, str) or isinstance(data, PartitionedPredictions):
        return ids
    return data.ids(argument, ids)[rows]
