"""Formulas as MathML, which browsers draw without a script."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError

_THIN = '<mspace width="0.17em"/>'


def setup(app):
    app.add_html_math_renderer("mathml", (in_a_line, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def in_a_line(translator, node):
    translator.body.append(made(node, as_block=False))
    raise nodes.SkipNode


def displayed(translator, node):
    translator.body.append(f'<div class="formula">{made(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def made(node, as_block):
    text = node.astext()
    try:
        math = tex2mathml(text, as_block=as_block)
    except MathError as error:
        raise ExtensionError(f"{node.source}: formula {text!r}: {error}") from error
    # thin spaces around names of functions: a log q, but log(q)
    math = re.sub(r"(</m(?!o>)\w+>\s*)(<mi[^>]*>\w\w+</mi>\s*<mo>&Apply)", rf"\1{_THIN}\2", math)
    return re.sub(r"(&ApplyFunction;</mo>)(?!\s*<mo[^>]*>\()", rf"\1{_THIN}", math)
