"""Write what ``fastpsr.kernels`` exports: the names in ``__all__`` of the modules of kernels.

``python -m tests.kernel_exports`` writes `kernels/exports.py`, by which a kernel's module is found
without importing Numba, and `kernels/__init__.pyi`, by which type checkers find its signature.
"""

import ast
from pathlib import Path

import fastpsr

FOLDER = Path(fastpsr.__file__).parent / "kernels"
_NO_KERNELS = {"__init__", "blocks", "compiler", "exports", "notice", "sizes", "types"}


def exports() -> dict[str, str]:
    """Return the module of each public kernel."""
    modules = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in _NO_KERNELS)
    return {name: module for module in modules for name in _public_names(module)}


def texts() -> dict[Path, str]:
    """Return the content of both files."""
    head = '"""{}, written by ``python -m tests.kernel_exports``."""\n\n'
    module_of = exports()
    lines = "".join(f'    "{name}": "{module}",\n' for name, module in module_of.items())
    modules = sorted(set(module_of.values()))
    stars = "".join(f"from fastpsr.kernels.{module} import *  # noqa: F403\n" for module in modules)
    return {
        FOLDER / "exports.py": head.format("The module of each kernel")
        + f"MODULE_OF = {{\n{lines}}}\n",
        FOLDER / "__init__.pyi": head.format("Types of the kernels") + stars,
    }


def _public_names(module: str) -> list[str]:
    for node in ast.parse((FOLDER / f"{module}.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return sorted(ast.literal_eval(node.value))
    return []


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
