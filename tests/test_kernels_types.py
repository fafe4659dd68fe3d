"""The types of kernels stand in a stub: it must name what there is, as it is."""

import ast
import inspect
from pathlib import Path

import pytest

from fastpsr import kernels

STUB = Path(kernels.__file__).with_suffix(".pyi")


def declared(source):
    """{name: parameters} of the functions and methods ("Class.name") that a stub declares."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = parameters(node)
        elif isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            found |= {f"{node.name}.{each.name}": parameters(each) for each in methods}
    return found


def parameters(function):
    """[(name, whether it has a default)] of a function in a syntax tree."""
    own = function.args
    assert [*own.posonlyargs, *own.kwonlyargs, own.kwarg] == [None]
    required = len(own.args) - len(own.defaults)
    found = [(each.arg, place >= required) for place, each in enumerate(own.args)]
    return found + ([(own.vararg.arg, False)] if own.vararg else [])


def parameters_of(function):
    each = inspect.signature(function).parameters.values()
    return [(one.name, one.default is not one.empty) for one in each]


DECLARED = declared(STUB.read_text("utf-8"))


def test_a_stub_is_read():
    source = "def f(a: int, *, b=1): ..."
    with pytest.raises(AssertionError):
        declared(source)
    source = (
        "x: int\nclass C:\n    a: int\n    def g(self, b: int = 1) -> None: ...\ndef f(*c): ..."
    )
    assert declared(source) == {"C.g": [("self", False), ("b", True)], "f": [("c", False)]}


def test_the_stub_declares_every_kernel():
    assert {name.split(".")[0] for name in DECLARED} == set(kernels._MODULE_OF)


@pytest.mark.parametrize("name", DECLARED)
def test_parameters_are_those_of_the_kernel(name):
    owner, _, method = name.partition(".")
    kernel = getattr(kernels, owner)
    assert kernel.__module__ == f"fastpsr.kernels.{kernels._MODULE_OF[owner]}"
    assert DECLARED[name] == parameters_of(getattr(kernel, method) if method else kernel)
