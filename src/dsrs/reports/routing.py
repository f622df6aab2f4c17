"""Routed runs: which expert answered each input, and how far router and experts reach."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dsrs.measures.rounding import floor_text
from dsrs.measures.routing import RoutedInput
from dsrs.reports.summary import RunSummary


def routing_section(runs: Sequence[RunSummary]) -> str:
    """A table for each routed run: one row an input."""
    return "\n".join(
        f"<details><summary>{escape(run.name)}</summary>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Routing">'
        f'<table class="votes">{_table(run.routing)}</table></div></details>'
        for run in runs
        if run.routing
    )


def _table(routing: Sequence[RoutedInput]) -> str:
    experts = range(len(routing[0].expert_radii))
    heads = ["Input", "Expert", "Radius", "Router's radius", "min(expert, router)"]
    heads += [f"Radius of expert {j}" for j in experts]
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(f"<tr>{_cells(one)}</tr>" for one in routing)
    return f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"


def _cells(one: RoutedInput) -> str:
    radii = [one.radius, one.router_radius, one.published, *one.expert_radii]
    shown = ["not asked" if radius is None else floor_text(radius, 4) for radius in radii]
    cells = "".join(f"<td>{text}</td>" for text in (one.named, *shown))
    return f'<th scope="row">{one.index}</th>{cells}'
