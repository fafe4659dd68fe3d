"""The directive ``api``: the docstrings of public names, of which no list is typed again.

Its arguments are modules below ``fastpsr``, of which everything public is shown; lines below them
are further names. A public name that is on no page is a warning.
"""

import importlib
import inspect
import pkgutil

from docutils.statemachine import StringList
from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from fastpsr import compat
from fastpsr.exports import MODULE_OF, SUBPACKAGES, WITH_EXTRAS

logger = logging.getLogger(__name__)

#: Modules for other tools, which need not be installed to describe them.
FOR_TOOLS = ("sklearn", "torchmetrics")
#: Modules of names of ``fastpsr``, by which users do not import.
_HIDDEN = {*MODULE_OF.values()} - {*SUBPACKAGES}
#: What these bases define is described with them, and not repeated.
_BASES = "Metric, Calibrator, ScoringRule"


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.autosummary")
    app.add_directive("api", Api)
    app.connect("autodoc-skip-member", skip_of_others)
    app.connect("missing-reference", as_written)
    app.connect("env-check-consistency", check_all_are_shown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def names(mocked=("torch", "torchmetrics")):
    """Return the public names by module below ``fastpsr``, as users write them."""
    found = {}
    for name, module in MODULE_OF.items():
        found.setdefault(module, []).append(f"fastpsr.{name}")
    of_compat = [f"compat.{each.name}" for each in pkgutil.iter_modules(compat.__path__)]
    modules = {*SUBPACKAGES, *WITH_EXTRAS, *of_compat, *FOR_TOOLS} - {"compat", "compat.inputs"}
    with mock(list(mocked)):
        for module in sorted(modules):
            listed = importlib.import_module(f"fastpsr.{module}").__all__
            own = [name for name in listed if MODULE_OF.get(name) != module]
            found.setdefault(module, []).extend(f"fastpsr.{module}.{name}" for name in own)
    return found


class Api(SphinxDirective):
    """A table of names with what they are, and the docstring of each."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        public = names(self.config.autodoc_mock_imports)
        modules = self.arguments[0].split()
        listed = [name for module in modules for name in public[module]]
        lines = [f".. module:: fastpsr.{each}" for each in modules if each not in _HIDDEN]
        listed += [line.strip() for line in self.content if line.strip()]
        for module in dict.fromkeys(name.rpartition(".")[0] for name in listed):
            own = [name for name in listed if name.rpartition(".")[0] == module]
            lines += ["", f".. currentmodule:: {module}", "", ".. autosummary::", "   :nosignatures:"]
            lines += ["", *(f"   {name.rpartition('.')[2]}" for name in own)]
            for name in own:
                lines += ["", *described(name, self.config.autodoc_mock_imports)]
        source = f"{self.env.docname} (api)"
        return self.parse_text_to_nodes(StringList(lines, source))


def described(name, mocked):
    """Return the lines of the directive that shows a name."""
    module, _, last = name.rpartition(".")
    with mock(list(mocked)):
        thing = getattr(importlib.import_module(module), last)
    if inspect.isclass(thing):
        options = [":members:", f":inherited-members: {_BASES}", ":special-members: __call__"]
        kind = "exception" if issubclass(thing, BaseException) else "class"
        return [f".. auto{kind}:: {name}", *(f"   {option}" for option in options)]
    return [f".. auto{'function' if callable(thing) else 'data'}:: {name}"]


def skip_of_others(app, kind, name, thing, skip, options):
    """Skip what a class has from another package, and types; None leaves it to the options."""
    of_another = not getattr(thing, "__module__", "fastpsr").startswith("fastpsr")
    return True if of_another or inspect.isclass(thing) else None


def as_written(app, env, node, contnode):
    """Leave what stands in single backquotes as it is if it is no public name."""
    return contnode if node["reftype"] == "obj" else None


def check_all_are_shown(app, env):
    shown = env.domains["py"].objects
    for each in names(app.config.autodoc_mock_imports).values():
        for name in each:
            if name not in shown:
                logger.warning("%s is public, but on no page", name)
