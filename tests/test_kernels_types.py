"""Kernels are found by name, and have types."""

import importlib
import inspect

import pytest

from fastpsr import kernels
from fastpsr.kernels.exports import MODULE_OF


@pytest.mark.parametrize("name", MODULE_OF)
def test_kernels_have_types(name):
    module = importlib.import_module(f"fastpsr.kernels.{MODULE_OF[name]}")
    kernel = getattr(kernels, name)
    assert kernel is getattr(module, name)
    methods = [kernel]
    if inspect.isclass(kernel):
        public = [method for name, method in vars(kernel).items() if not name.startswith("_")]
        methods = [kernel.__init__, *filter(inspect.isfunction, public)]
    for method in methods:
        parameters = {*inspect.signature(method).parameters} - {"self"}
        assert {*parameters, "return"} == set(getattr(method, "py_func", method).__annotations__)
