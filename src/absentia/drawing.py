"""Figures as SVG text: one look, and the same bytes on every run."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GREY", "INK", "STYLE", "svg"]

INK, GREY = "#222222", "#8A8A8A"
STYLE = {
    "svg.hashsalt": "absentia",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}
METADATA = {"Date": None, "Creator": "absentia"}


def svg(figure: Figure) -> str:
    """The figure as SVG; call it within `matplotlib.rc_context(STYLE)`.

    The layout solver orders its variables by memory address, so its last bits differ between runs: places are rounded.
    """
    out = io.StringIO()
    with warnings.catch_warnings():  # a letter that no font holds is drawn as a box, which says enough
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for ax in figure.axes:
            place = ax.get_position(original=True)
            ax.set_position((round(place.x0, 5), round(place.y0, 5), round(place.width, 5), round(place.height, 5)))
        figure.savefig(out, format="svg", metadata=METADATA)
    return out.getvalue()
