"""The documentation as a site: ``sphinx-build -c docs . build/site``.

The folder of the sources is the repository, so that links between pages are those of GitHub.
"""

import sys
from pathlib import Path

import matplotlib as mpl

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.insert(0, str(Path(__file__).parents[1]))
mpl.use("Agg")

from api import MOCKED

from fastpsr import __version__

project = "fastpsr"
author = "The fastpsr authors"
project_copyright = author
version = release = __version__
suppress_warnings = ["misc.highlighting_failure"]  # of shell commands over several lines
root_doc = "docs/index"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md"]
exclude_patterns = [".*", "build", "dist", "fastpsr", "tests", "tools", "benchmarks"]
extensions = [
    "api", "gallery", "mathml", "myst_parser", "numpydoc", "sphinx_copybutton", "sphinx_design",
]  # fmt: skip

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4

default_role = "obj"
toc_object_entries_show_parents = "hide"
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_mock_imports = MOCKED
autodoc_typehints = "none"  # docstrings have them, with shapes
autosummary_generate = False
numpydoc_show_class_members = False  # autodoc shows them

html_theme = "pydata_sphinx_theme"
html_title = "fastpsr"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "front.html"}
templates_path = ["_templates"]
html_sidebars = {page: [] for page in ("docs/gallery/index", "docs/paper/README")}  # nothing below
html_copy_source = False
html_show_sourcelink = False
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output
html_show_search_summary = False  # it would be fetched, which browsers refuse for files
html_context = {"default_mode": "auto"}
html_theme_options = {
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {  # none beside wide tables
        "**": ["page-toc"],
        **{f"docs/{page}": [] for page in ("speed", "backends", "from/bosaris-dca-plda")},
    },
    "show_toc_level": 2,
}
