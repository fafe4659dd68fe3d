"""The directive ``api``: the docstrings of public names, of which no list is typed again.

Its arguments are modules below ``fastpsr``, of which everything public is shown. Lines below them
are further names, or groups of names for the summary, ``Title: Name Name``. A public name that is
on no page is a warning.
"""

import importlib
import inspect
import pkgutil
import re
from importlib.util import find_spec

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.inspect import stringify_signature

from fastpsr import MODULE_OF, compat
from fastpsr.caching import cached_property
from fastpsr.exports import SUBPACKAGES, WITH_EXTRAS

logger = logging.getLogger(__name__)

#: Modules that are imported by their own name.
OTHERS = ("report", "sklearn", "torchmetrics")
#: What need not be installed to describe what is for it.
MOCKED = [name for name in ("torch", "torchmetrics") if find_spec(name) is None]
#: What these define is described with them, and not repeated for what derives from them.
BASES = {
    "Metric": "fastpsr.metrics.Metric",
    "Calibrator": "fastpsr.calibration.Calibrator",
    "ScoringRule": "fastpsr.rules.ScoringRule",
}


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.autosummary")
    app.add_directive("api", Api)
    app.connect("autodoc-process-signature", with_options)
    app.connect("doctree-read", link_code)
    app.connect("doctree-read", without_blank_end)
    app.connect("missing-reference", as_written)
    app.connect("env-check-consistency", check_all_are_shown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def names():
    """Return the public names by module below ``fastpsr``, as users write them."""
    found = {}
    for name, module in MODULE_OF.items():
        found.setdefault(module, []).append(f"fastpsr.{name}")
    of_compat = [f"compat.{each.name}" for each in pkgutil.iter_modules(compat.__path__)]
    modules = {*SUBPACKAGES, *WITH_EXTRAS, *of_compat, *OTHERS} - {"compat", "compat.inputs"}
    with mock(MOCKED):
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
        public = names()
        content = [line.strip() for line in self.content if line.strip()]
        groups = dict(line.split(": ") for line in content if ": " in line)
        listed = [name for module in self.arguments[0].split() for name in public[module]]
        listed += [line for line in content if ": " not in line]
        lines = []
        for module in dict.fromkeys(name.rpartition(".")[0] for name in listed):
            own = [name for name in listed if name.rpartition(".")[0] == module]
            begin = "currentmodule" if module == "fastpsr" else "module"
            lines += ["", f".. {begin}:: {module}"]
            for title, members_of_group in grouped(own, groups, module):
                lines += ["", f".. rubric:: {title}"]
                lines += ["", ".. autosummary::", "   :nosignatures:", ""]
                lines += [f"   {name.rpartition('.')[2]}" for name in members_of_group]
            for name in own:
                lines += ["", *described(name)]
        source = f"{self.env.docname} (api)"
        return self.parse_text_to_nodes(StringList(lines, source))


def grouped(listed, groups, module):
    """Yield titles and names: the groups, then the names that are in no group by their module."""
    rest = dict.fromkeys(listed)
    for title, last_names in groups.items():
        if own := [name for last in last_names.split() if (name := f"{module}.{last}") in rest]:
            yield title, own
            rest = {name: None for name in rest if name not in own}
    if rest:
        yield module, list(rest)


def described(name):
    """Return the lines of the directive that shows a name."""
    module, _, last = name.rpartition(".")
    with mock(MOCKED):
        thing = getattr(importlib.import_module(module), last)
    if not inspect.isclass(thing):
        return [f".. auto{'function' if callable(thing) else 'data'}:: {name}"]
    kind = "exception" if issubclass(thing, BaseException) else "class"
    lines = [f".. auto{kind}:: {name}"]
    if shown := members(thing):
        lines.append(f"   :members: {', '.join(shown)}")
    if "__call__" in vars(thing):
        lines.append("   :special-members: __call__")
    if base := base_of(thing):
        lines += ["", f"   It also has what :class:`{BASES[base.__name__]}` has."]
    return lines


def base_of(thing):
    """Return the base of a class that is described by itself, or None."""
    bases = (each for each in thing.__mro__[1:] if each.__name__ in BASES)
    return next((each for each in bases if each.__module__.startswith("fastpsr")), None)


def members(thing):
    """Return the methods and properties to show of a class; of a base also what it declares."""
    is_base, base = thing.__name__ in BASES, base_of(thing) or object
    named = [name for name in dir(thing) if not name.startswith("_") and not hasattr(base, name)]
    shown = []
    for name in named:
        owner = next(each for each in thing.__mro__ if name in vars(each))
        member = inspect.getattr_static(thing, name)
        made_by = getattr(getattr(thing, name), "__module__", None) or owner.__module__
        is_ours = owner.__module__.startswith("fastpsr") and made_by.startswith("fastpsr")
        about = getattr(member, "__doc__", None) or ""
        if isinstance(member, property | cached_property) or inspect.isroutine(member):
            is_shown = about and not about.startswith("Plan:")  # of how it is computed
        else:
            is_shown = is_base and not inspect.isclass(member)
        if is_ours and is_shown:
            shown.append(name)
    return shown


def with_options(app, kind, name, thing, options, signature, returned):
    """Return the options of a class, also of one that is made by a method that takes any."""
    if kind != "class" or not signature:
        return None
    made = stringify_signature(inspect.signature(thing), False, False)
    return made.replace("<factory>", "..."), None


def link_code(app, doctree):
    """Make links of code in the text that begins with a name of `fp`."""
    for code in list(doctree.findall(nodes.literal)):
        name = re.match(r"fp\.([\w.]+)", code.astext())
        if name and not isinstance(code.parent, nodes.reference | pending_xref):
            place = {"reftarget": f"fastpsr.{name[1]}", "refdoc": app.env.docname}
            link = pending_xref("", code.deepcopy(), refdomain="py", reftype="obj", **place)
            code.replace_self(link)


def without_blank_end(app, doctree):
    """Remove the blank line that ends Python sessions for doctest."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource.endswith("\n"):
            block.rawsource = block.rawsource.rstrip("\n")
            block[:] = [nodes.Text(block.rawsource)]


def as_written(app, env, node, contnode):
    """Leave what stands in single backquotes as it is if it is no public name."""
    return contnode if node["reftype"] == "obj" else None


def check_all_are_shown(app, env):
    shown = env.domains["py"].objects
    for each in names().values():
        for name in each:
            if name not in shown:
                logger.warning("%s is public, but on no page", name)
