"""Settings of Sphinx, which docs/build_site.py calls. Nothing is fetched while the site is built or read."""

import understudy

project = "Understudy"
author = "The Understudy contributors"
copyright = author
version = release = understudy.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "Understudy"
html_show_sphinx = False
html_copy_source = False
exclude_patterns = ["conf.py"]
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "undoc-members": False}
maximum_signature_line_length = 90
add_module_names = False
python_use_unqualified_type_names = True


def setup(app):
    """Read docstrings as plain text with ``code``: a bar in a formula is no substitution of reStructuredText."""
    app.connect("autodoc-process-docstring", escape_bars)


def escape_bars(*event):
    """Escape every bar that is not within ``code``; changes the lines of the docstring, which come last, in place."""
    lines = event[-1]
    for number, line in enumerate(lines):
        parts = line.split("``")
        lines[number] = "``".join(part.replace("|", r"\|") if i % 2 == 0 else part for i, part in enumerate(parts))
