# SPDX-License-Identifier: Apache-2.0
# The look of all figures: readable in print, with colours that stay apart for colour-blind readers.
# %%
import itertools
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

try:
    import schedlab as sl  # its docs/python.md
except ImportError:
    sl = None
    print("The package schedlab is not on the path of this kernel: its cells say so and do nothing.")

# Okabe and Ito, Color Universal Design (2008); lines also differ in dash and marker, bars in hatching, for grey prints.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999"]
DASHES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 2)), (0, (3, 3))]
HATCHES = ["", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo", "----"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
plt.rcParams.update({
    "figure.figsize": (7.0, 3.8), "figure.dpi": 120, "savefig.dpi": 200, "savefig.bbox": "tight",
    "figure.constrained_layout.use": True, "font.size": 9, "axes.titlesize": 10, "legend.fontsize": 8,
    "legend.frameon": False, "axes.grid": True, "grid.color": "#DDDDDD", "grid.linewidth": 0.5,
    "hatch.linewidth": 0.6, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
})


def style(index):
    """Colour, dash and marker of the line `index`."""
    return {"color": COLORS[index % len(COLORS)], "linestyle": DASHES[index % len(DASHES)],
            "marker": MARKERS[(index + index // len(COLORS)) % len(MARKERS)], "markersize": 4}


def filling(index):
    """Colour and hatching of the bars `index`."""
    turns = index // len(COLORS)
    return {"facecolor": COLORS[index % len(COLORS)], "hatch": HATCHES[(index + turns) % len(HATCHES)],
            "edgecolor": "white", "linewidth": 0}


def plain_ticks(axis):
    """1, 2, 4 and not 10^0 on a logarithmic axis."""
    axis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(plt.NullFormatter())


def show(figure, name):
    """Shows the figure, and writes it as PDF where `figures` names a folder."""
    if figures is not None:
        Path(figures).mkdir(parents=True, exist_ok=True)
        figure.savefig(Path(figures) / f"{name}.pdf")
    plt.show()
