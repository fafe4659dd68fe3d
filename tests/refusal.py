"""Expect an error by its fields, not by its sentence."""

from contextlib import contextmanager

import pytest

import fastpsr as fp


@contextmanager
def refuses(argument, **fields):
    """Expect an `ArgumentError` of an argument, with these values of `index`, `value`, ..."""
    with pytest.raises(fp.ArgumentError) as caught:
        yield caught
    actual = {name: getattr(caught.value, name) for name in ("argument", *fields)}
    assert actual == {"argument": argument, **fields}, str(caught.value)
