"""Kernels that the package calls have types."""

import inspect
import re
from pathlib import Path

import fastpsr
from fastpsr import kernels


def test_kernels_have_types():
    texts = [path.read_text("utf-8") for path in Path(fastpsr.__file__).parent.rglob("*.py")]
    called = {name for text in texts for name in re.findall(r"\bkernels\.(\w+)\.(\w+)\(", text)}
    assert len(called) > 60
    for module, name in called:
        kernel = getattr(getattr(kernels, module), name)
        methods = [kernel]
        if inspect.isclass(kernel):
            public = [method for key, method in vars(kernel).items() if not key.startswith("_")]
            methods = [kernel.__init__, *filter(inspect.isfunction, public)]
        for method in methods:
            parameters = {*inspect.signature(method).parameters, "return"} - {"self"}
            annotations = getattr(method, "py_func", method).__annotations__
            assert parameters == set(annotations), name
