"""Settings of the documentation site. `python tools/build_site.py` builds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = str(HERE.parent / "src")
sys.path[:0] = [SOURCE, str(HERE / "_extensions")]

# Kernels of notebooks run this tree, too, and draw in one style.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")

from wengert import __version__  # noqa: E402

project = "Wengert"
author = "The Wengert developers"
version = release = __version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "explored_pages",
    "mathml",
    "navigation",
    "notebooks_apart",
    "project_pages",
    "reference",
    "repository_links",
    "search_lines",
]
exclude_patterns = ["_extensions", "README.md"]
nitpicky = False

# Markdown is the dialect of GitHub, so that pages read well in the repository, too.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_number_code_blocks = []

# Notebooks run anew in each build, and an error in one fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 90
nb_execution_in_temp = True
nb_merge_streams = True
nb_output_stderr = "remove"  # notes on slow compilation depend on the machine

default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Returns", "Yields"]  # sentences with colons, not a type and a text

html_theme = "furo"
html_title = f"Wengert {version}"
html_static_path = ["_static"]
html_logo = html_favicon = "_static/logo.svg"
html_css_files = ["site.css"]
html_js_files = ["../../versions.js", "versions_menu.js"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_search_summary = False  # a page from a disk may not fetch others
html_show_sphinx = False
html_show_copyright = False
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options = {
    "source_repository": "https://github.com/wengert-ad/wengert/",
    "source_branch": "main",
    "source_directory": "docs/",
}
copybutton_exclude = ".linenos, .gp, .go"
pygments_style = "friendly"
