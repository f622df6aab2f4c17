"""What was chosen among: the candidates of `dsrs adapt` on a page, the curves of `dsrs tune`."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.errors import DataError
from dsrs.files import whole_file, write_whole
from dsrs.measures import floor_text
from dsrs.reports.figures import checked_formats, place_legend
from dsrs.reports.sets import plain_page
from dsrs.reports.style import NEUTRAL, accuracy_steps, dash, method_color, print_style
from dsrs.reports.summary import method_name
from dsrs.reports.writing import check_page_path

if TYPE_CHECKING:
    from dsrs.tuning import Forecast, Tuned

# ---- The candidates of `dsrs adapt` side by side, as one HTML file without network and script

ADAPTED_RECORD, PICTURES_FOLDER, CANDIDATES_PAGE = "adapted.json", "pictures", "candidates.html"
CURVES_WIDTH, CURVES_HEIGHT, CURVES_MARGIN, NAMES_WIDTH = 700, 270, 40, 180  # of the figure
CANDIDATES_STYLE = """
.summary thead th:nth-child(2) { text-align: right; }
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
    tried, gain = record["candidates"], record["gain"]
    heads = ("", "sigma", "k", "Certification", escape(record["objective"]), "95% interval")
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    rows = "".join(_row(each, each["name"] == record["best"]) for each in tried)
    left = "".join(
        f"<p>{escape(name)} was left out: {escape(text)}</p>"
        for name, text in record["failed"].items()
    )
    learned = "".join(f"<p>{escape(line)}.</p>\n" for line in learned_lines(record))
    titles = {each["name"]: _title(each) for each in tried}
    low, high = gain["interval"]
    body = f"""<p>Predicted for {record["n"]:,} votes and alpha = {record["alpha"]:g} from
{len(record["inputs"])} inputs, which chose and must not be reported: certify others.
The best adds {gain["value"]:.4f} to the model as it is, with a paired 95% interval of
{low:.4f} to {high:.4f}.</p>
<table class="summary"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>
{learned}{left}
<h2>Certified accuracy against radius, as predicted</h2>
{_figure(tried)}
{_pictures(record, pictures)}
"""
    return plain_page(f"Adapted: {titles[record['best']]}", CANDIDATES_STYLE, body)


def learned_lines(record: Mapping[str, Any]) -> list[str]:
    """What each candidate learned from that learned, for people."""
    lines = []
    for one in record["candidates"]:
        learned = one.get("learned")
        if learned is None:
            continue
        passes = learned["epochs"]
        epochs = "" if passes is None else f", {passes} epoch{'s' if passes > 1 else ''}"
        lines.append(
            f"{_title(one)} learned from {Path(record['unlabelled']['name']).name}, "
            f"{learned['inputs']:,} inputs{epochs}, under sigma = {learned['sigma']:.3g}"
        )
    return lines


def _title(one: Mapping[str, Any]) -> str:
    """The name of a candidate for people; records of 1.0.0 have one name only."""
    return str(one.get("title", one["name"]))


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
    return f'<tr{mark}><th scope="row">{escape(_title(one))}</th>{body}</tr>'


def _figure(tried: Sequence[Mapping[str, Any]]) -> str:
    """The predicted curve of each candidate."""
    right = max((_reach(each) for each in tried), default=0.0) or 1.0
    edge = CURVES_MARGIN
    wide, high = CURVES_WIDTH - 2 * edge - NAMES_WIDTH, CURVES_HEIGHT - 2 * edge
    base = edge + high
    lines = []
    for place, one in enumerate(tried):
        shares = one["predicted"]["certified_accuracy"]
        steps = [
            f"{edge + wide * radius / right:.1f} {edge + high * (1 - share):.1f}"
            for radius, share in zip(one["radii"], shares, strict=True)
            if radius <= right
        ]
        # What holds at a radius holds at all smaller ones: first down, then to the right.
        corners = "".join(f"V{point.split()[1]}H{point.split()[0]}" for point in steps[1:])
        pattern = dash(place // NEUTRAL)
        look = (
            f'stroke="var(--series-{place % NEUTRAL})" stroke-width="1.6" '
            f'stroke-dasharray="{" ".join(f"{part:g}" for part in pattern)}"'
        )
        x, y = edge + wide + 12, edge + 14 * place
        lines.append(
            f'<path fill="none" {look} d="M{"".join(steps[:1])}{corners}"/>'
            f'<path {look} d="M{x} {y - 4}h18"/><text x="{x + 24}" y="{y}">'
            f"{escape(_title(one))}</text>"
        )
    axes = f'<path class="axis" fill="none" d="M{edge} {edge}V{base}H{edge + wide}"/>'
    for part in range(5):
        up, along = high * part / 4, wide * part / 4
        axes += (
            f'<text x="{edge - 6}" y="{base - up + 4:.1f}" text-anchor="end">{25 * part}</text>'
            f'<text x="{edge + along:.1f}" y="{base + 16}" text-anchor="middle">'
            f"{right * part / 4:.3g}</text>"
        )
    axes += (
        f'<text x="{edge + wide / 2}" y="{base + 34}" text-anchor="middle">radius r</text>'
        f'<text x="4" y="{edge - 14}">predicted certified accuracy (%)</text>'
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


# ---- The predicted curves of a choice of law, and the line that no law could exceed


def draw_tuning(tuned: Tuned, path: Path) -> None:
    """Certified accuracy against radius as it is predicted: best law, current law, and limit."""
    suffix = path.suffix.removeprefix(".")
    checked_formats([suffix])
    with print_style():
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.subplots()
        limit = {"color": "#7F7F7F", "dashes": (1, 1), "label": "no law exceeds this"}
        accuracy_steps(axes, tuned.limits, **limit)
        for name, forecast in (
            ("best", tuned.best),
            *(("now", each) for each in tuned.current[:1]),
        ):
            accuracy_steps(
                axes,
                forecast.radii,
                color=method_color(forecast.method.partition(":")[0]),
                dashes=() if name == "best" else (5, 1.6),
                label=f"{name}: {_law(forecast)}",
            )
        axes.set_xlabel(r"$\ell_2$ radius $r$")
        axes.set_ylabel("predicted certified accuracy (%)")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 102)
        place_legend(figure, axes)
        with whole_file(path) as stream:
            figure.savefig(stream, format=suffix)


def _law(forecast: Forecast) -> str:
    shape = "" if forecast.law.k == 0 else f", k = {forecast.law.k:g}"
    name = method_name(forecast.method.partition(":")[0])
    return rf"$\sigma$ = {forecast.law.sigma:.3g}{shape}, {name}"
