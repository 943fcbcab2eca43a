# SPDX-License-Identifier: Apache-2.0
"""Tables of NumPy columns, and pictures that notebooks show."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path

import numpy as np

SHOWN_ROWS = 20


def cell_text(value):
    """A cell as people read it."""
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else f"{value:,.6g}"
    return "" if value is None else str(value)


def html_table(columns, rows):
    """An HTML table of equally long columns, its first ``SHOWN_ROWS`` rows."""
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in columns)
    body = ""
    for row in range(min(rows, SHOWN_ROWS)):
        cells = (html.escape(cell_text(column[row])) for column in columns.values())
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    more = f"<p>{rows} rows</p>" if rows > SHOWN_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


class Columns(Mapping):
    """A table: column names to NumPy arrays of equal length, in the order of the files."""

    def __init__(self, columns):
        self._columns = dict(columns)

    def __getitem__(self, name):
        return self._columns[name]

    def __getattr__(self, name):
        try:
            return self.__dict__["_columns"][name]
        except KeyError:
            raise AttributeError(f"no column {name!r}; there are {', '.join(self.__dict__.get('_columns', {}))}") from None

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return len(self._columns)

    @property
    def rows(self):
        """Number of rows."""
        return len(next(iter(self._columns.values()), ()))

    def to_pandas(self):
        """A pandas DataFrame (needs pandas)."""
        import pandas

        return pandas.DataFrame(self._columns)

    def __repr__(self):
        return f"<{self.rows} rows of {', '.join(self._columns)}>"

    def _repr_html_(self):
        return html_table(self._columns, self.rows)


class Picture:
    """What a notebook shows as its timeline(). As HTML too: nbconvert takes apart what is SVG alone."""

    def _repr_mimebundle_(self, include=None, exclude=None):
        picture = str(self.timeline())
        return {"image/svg+xml": picture, "text/html": picture}


class FileText(str):
    """The text of a file."""

    def save(self, path):
        """Writes the file; returns its path."""
        path = Path(path)
        path.write_text(self, encoding="utf-8")
        return path


class Page(FileText):
    """A page with a script, which a notebook shows in a frame of its own."""

    def _repr_html_(self):
        return f'<iframe srcdoc="{html.escape(self)}" sandbox="allow-scripts" style="width: 100%; height: 560px; border: 1px solid #ccc"></iframe>'

    def __repr__(self):
        return f"<page of {len(self)} characters>"


class Svg(FileText, Picture):
    """A picture: the text of an SVG file, which a notebook shows."""

    def timeline(self):
        """The picture itself."""
        return self

    def __repr__(self):
        return f"<SVG of {len(self)} characters>"
