"""The directive ``gallery``: scripts of this folder, each with the figure that it draws.

A script begins with a docstring, of which the first line is the title, and leaves its axes as `ax`.
"""

import ast
import os
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
from docutils import nodes
from sphinx.util.docutils import SphinxDirective


def setup(app):
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Gallery(SphinxDirective):
    """Thumbnails, and for each script a section with its text, figure and code."""

    def run(self):
        folder = Path(self.env.doc2path(self.env.docname)).parent
        figures = Path(self.env.doctreedir) / "gallery"
        figures.mkdir(parents=True, exist_ok=True)
        thumbnails, sections = nodes.container(classes=["gallery"]), []
        for path in sorted(folder.glob("*.py")):
            self.env.note_dependency(path)
            title, text, code = parts(path.read_text("utf-8"))
            picture = figures / f"{path.stem}.png"
            runpy.run_path(str(path))["ax"].figure.savefig(picture, dpi=150)
            plt.close("all")
            uri = os.path.relpath(picture, folder)
            link = nodes.reference("", title, nodes.image(uri=uri, alt=""), refid=path.stem)
            thumbnails += nodes.paragraph("", "", link)
            section = nodes.section(ids=[path.stem], names=[path.stem])
            section += [nodes.title(text=title), *self.parse_text_to_nodes(text)]
            section += nodes.image(uri=uri, alt=title)
            section += nodes.literal_block(code, code, language="python")
            sections.append(section)
        return [thumbnails, *sections]


def parts(script):
    """Return the title, the text and the code of a script."""
    (docstring, *rest) = ast.parse(script).body
    title, _, text = ast.get_docstring(ast.Module([docstring], [])).partition("\n")
    code = "\n".join(script.splitlines()[rest[0].lineno - 1 :])
    return title.rstrip("."), text.strip(), code
