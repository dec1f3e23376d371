"""The site: ``make docs`` makes it of the Markdown beside this file and of ``examples/``."""

import os
import sys

from sphinx_gallery.sorting import ExplicitOrder

from ordinate import __version__

sys.path.insert(0, os.path.dirname(__file__))  # for gallery_figures.py

project = "ordinate"
author = "The ordinate developers"
copyright = author  # noqa: A001 (Sphinx's word)
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

autodoc_typehints = "none"  # the docstrings have them in words
numpydoc_show_class_members = False  # methods are listed by the templates
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

GALLERY = [
    "plot_capitals.py",
    "plot_letters.py",
    "plot_dishes.py",
    "plot_colours.py",
    "plot_dimensions.py",
    "plot_error_bars.py",
    "plot_groups.py",
    "plot_new_items.py",
    "plot_active_questions.py",
    "plot_warm_starts.py",
    "plot_digits.py",
    "plot_million.py",
]
sphinx_gallery_conf = {
    "image_scrapers": ("gallery_figures.figures",),
    "capture_repr": (),
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": ExplicitOrder([*GALLERY, "*"]),
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    # A build without the gallery, to read while writing: GALLERY=none make docs
    "filename_pattern": "none" if os.environ.get("GALLERY") == "none" else r"plot_",
}

html_theme = "pydata_sphinx_theme"
html_title = "ordinate"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}
