"""What records show of themselves: a line in a terminal, a small table in a notebook.

They show what a person wants to know first, and never pixels, histograms or proofs.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from dsrs.files.foreign_text import one_line


class Readable:
    """A record that says what it is by its `facts`; a dataclass of it needs `repr=False`."""

    __slots__ = ()

    def facts(self) -> Mapping[str, object]:
        """What to show, by name, the most important first; a value that is None is left out."""
        raise NotImplementedError

    def __repr__(self) -> str:
        told = (f"{name}: {text}" for name, text in _texts(self.facts()))
        return f"{type(self).__name__}({', '.join(told)})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in _texts(self.facts())
        )
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>"


def _texts(facts: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(name, one_line(str(value))) for name, value in facts.items() if value is not None]
