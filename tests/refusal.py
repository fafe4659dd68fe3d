"""Expect an error by its fields, not by its sentence."""

from contextlib import contextmanager

import pytest

import fastpsr as fp


@contextmanager
def refuses(argument, **fields):
    """Expect an `ArgumentError` of an argument, with these values of `index`, `name`, ...

    An argument is known by its own name, or by that which the message begins with.
    """
    with pytest.raises(fp.ArgumentError) as caught:
        yield caught
    error = caught.value
    assert argument in (error.argument, error.name), str(error)
    assert {name: getattr(error, name) for name in fields} == fields, str(error)
