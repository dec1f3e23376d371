"""How the gallery finds figures: ordinate's are free of pyplot, and only pyplot's are found."""

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """A block's last value, if it is a figure, as an image."""
    names = block_vars["example_globals"]
    value, names["___"] = names.get("___"), None  # so that no later block shows it again
    if not isinstance(value, Figure):
        return ""
    path = next(block_vars["image_path_iterator"])
    value.savefig(path, dpi=160, bbox_inches="tight")
    return figure_rst([path], gallery_conf["src_dir"])
