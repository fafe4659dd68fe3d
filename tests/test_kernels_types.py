"""Kernels are imported by name, and have types."""

import importlib
import inspect

from fastpsr import kernels
from fastpsr.kernels.exports import MODULE_OF


def test_kernels_have_types():
    for name, module_name in MODULE_OF.items():
        kernel = getattr(kernels, name)
        assert kernel is getattr(importlib.import_module(f"fastpsr.kernels.{module_name}"), name)
        methods = [kernel]
        if inspect.isclass(kernel):
            public = [method for key, method in vars(kernel).items() if not key.startswith("_")]
            methods = [kernel.__init__, *filter(inspect.isfunction, public)]
        for method in methods:
            parameters = {*inspect.signature(method).parameters, "return"} - {"self"}
            annotations = getattr(method, "py_func", method).__annotations__
            assert parameters == set(annotations), name
