"""The candidates of `dsrs adapt` side by side, as one HTML file without network and script."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from dsrs import __version__
from dsrs.errors import DataError
from dsrs.files.whole import write_whole
from dsrs.measures.rounding import floor_text
from dsrs.reports.page import GENERATOR
from dsrs.reports.sets_page import POLICY
from dsrs.reports.style import DASHES, run_color, run_dash
from dsrs.reports.writing import check_page_path

ADAPTED_RECORD, PICTURES_FOLDER, CANDIDATES_PAGE = "adapted.json", "pictures", "candidates.html"
CURVES_WIDTH, CURVES_HEIGHT, CURVES_MARGIN = 520, 260, 40  # of the figure
CANDIDATES_STYLE = """
.strip { display: inline-block; margin: .4rem 1rem .8rem 0; }
.strip img { image-rendering: pixelated; }
tr.best th, tr.best td { font-weight: 600; }
"""


def write_candidates_page(folder: str | Path) -> Path:
    """Write candidates.html into a folder of `dsrs adapt`, from its record and pictures."""
    place = Path(folder)
    try:
        record = json.loads((place / ADAPTED_RECORD).read_text("utf-8"))
        pictures = {
            name: (place / PICTURES_FOLDER / name).read_bytes() for name in record["pictures"]
        }
        content = candidates_page(record, pictures)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"expected {ADAPTED_RECORD} of `dsrs adapt` in {place}: {error}") from None
    check_page_path(place / CANDIDATES_PAGE)
    write_whole(place / CANDIDATES_PAGE, content.encode())
    return place / CANDIDATES_PAGE


def candidates_page(record: Mapping[str, Any], pictures: Mapping[str, bytes]) -> str:
    """The page of a record: the table, the predicted curves, the pictures."""
    css = resources.files("dsrs.reports").joinpath("assets", "page.css").read_text("utf-8")
    tried, gain = record["candidates"], record["gain"]
    heads = ("", "sigma", "k", "Certification", escape(record["objective"]), "95% interval")
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    rows = "".join(_row(each, each["name"] == record["best"]) for each in tried)
    left = "".join(
        f"<p>{escape(name)} was left out: {escape(text)}</p>"
        for name, text in record["failed"].items()
    )
    low, high = gain["interval"]
    title = f"Adapted: {record['best']}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="{GENERATOR} {__version__}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>{css}{CANDIDATES_STYLE}</style>
</head>
<body>
<header><h1>{escape(title)}</h1></header>
<main>
<p>Predicted for {record["n"]:,} votes and alpha = {record["alpha"]:g} from {len(record["inputs"])}
inputs, which chose and must not be reported: certify others. The best adds {gain["value"]:.4f} to
the model as it is, with a paired 95% interval of {low:.4f} to {high:.4f}.</p>
<table class="summary"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>
{left}
<h2>Certified accuracy against radius, as predicted</h2>
{_figure(tried)}
{_pictures(record, pictures)}
</main>
</body>
</html>
"""


def _row(one: Mapping[str, Any], best: bool) -> str:
    predicted, law = one["predicted"], one["law"]
    low, high = predicted["interval"]
    cells = (
        f"{law['sigma']:.4g}",
        f"{law['k']:g}",
        escape(one["method"]),
        floor_text(predicted["value"], 4),
        f"{low:.4f} to {high:.4f}",
    )
    body = "".join(f"<td>{text}</td>" for text in cells)
    mark = ' class="best"' if best else ""
    return f'<tr{mark}><th scope="row">{escape(one["name"])}</th>{body}</tr>'


def _figure(tried: Sequence[Mapping[str, Any]]) -> str:
    """The predicted curve of each candidate."""
    right = max((_reach(each) for each in tried), default=0.0) or 1.0
    edge = CURVES_MARGIN
    wide, high = CURVES_WIDTH - 2 * edge, CURVES_HEIGHT - 2 * edge
    lines = []
    for place, one in enumerate(tried):
        points = " ".join(
            f"{edge + wide * radius / right:.1f},{edge + high * (1 - share):.1f}"
            for radius, share in zip(
                one["radii"], one["predicted"]["certified_accuracy"], strict=True
            )
            if radius <= right
        )
        dash = run_dash(place) if place >= len(DASHES) else ()
        y = edge + 14 * place
        lines.append(
            f'<polyline fill="none" stroke="{run_color(place)}" stroke-width="1.6" '
            f'stroke-dasharray="{" ".join(f"{part:g}" for part in dash)}" points="{points}"/>'
            f'<text x="{CURVES_WIDTH - 130}" y="{y}" font-size="11" fill="{run_color(place)}">'
            f"{escape(one['name'])}</text>"
        )
    base = edge + high
    axes = (
        f'<path d="M{edge} {edge}V{base}H{edge + wide}" fill="none" stroke="currentColor"/>'
        f'<text x="4" y="{edge - 10}" font-size="11" fill="currentColor">100 %</text>'
        f'<text x="{edge + wide - 30}" y="{base + 16}" font-size="11" fill="currentColor">'
        f"r = {right:.3g}</text>"
    )
    return (
        f'<figure><svg viewBox="0 0 {CURVES_WIDTH} {CURVES_HEIGHT}" role="img" '
        f'width="{CURVES_WIDTH}" aria-label="predicted certified accuracy of each candidate">'
        f"{axes}{''.join(lines)}</svg></figure>"
    )


def _reach(one: Mapping[str, Any]) -> float:
    """The largest radius of the curve at which anything is certified."""
    shares = one["predicted"]["certified_accuracy"]
    return max((r for r, share in zip(one["radii"], shares, strict=True) if share > 0), default=0.0)


def _pictures(record: Mapping[str, Any], pictures: Mapping[str, bytes]) -> str:
    if not pictures:
        return ""
    denoise = record["denoise"]
    seen = "" if denoise is None else ", and what the model sees behind its denoiser"
    images = "".join(
        f'<div class="strip"><img alt="{escape(name)}" src="data:image/png;base64,'
        f'{base64.b64encode(content).decode("ascii")}"></div>'
        for name, content in pictures.items()
    )
    return f"<h2>Pictures</h2>\n<p>An image, a noisy copy{seen}.</p>\n{images}"
