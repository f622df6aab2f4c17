"""The page in a real browser: it draws, sorts, filters, shows values, and asks for nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest

from dsrs.laws import GeneralizedGaussian
from dsrs.reports import Resampling, RunSummary, html_page, make_report
from dsrs.store import RunResult
from reports.headless_chromium import HeadlessChromium, needs_chromium

FAST = Resampling(100)


@pytest.fixture
def page(browser: HeadlessChromium, hand_run: RunSummary, tmp_path: Path) -> HeadlessChromium:
    path = tmp_path / "report.html"
    path.write_text(html_page(make_report([hand_run], [0.5, 1.0], FAST), "A <title>"))
    browser.open(path)
    return browser


def column(page: HeadlessChromium, head: str) -> list[str]:
    """The cells of a column of the input table, from top to bottom; the last one of that name."""
    script = """(() => {
      const table = document.getElementById("input-table");
      const heads = [...table.tHead.rows[1].cells].map((cell) => cell.textContent);
      const place = heads.lastIndexOf(HEAD);
      return [...table.tBodies[0].rows].map((row) => row.cells[place].textContent);
    })()"""
    cells = page.evaluate(script.replace("HEAD", json.dumps(head)))
    return [str(cell) for cell in cells]


def sort_by(page: HeadlessChromium, head: str) -> None:
    find = "[...document.querySelectorAll('#input-table thead button')]"
    page.evaluate(f"{find}.findLast((b) => b.textContent === {json.dumps(head)}).click()")


def choose(page: HeadlessChromium, field: str, value: str) -> None:
    page.evaluate(
        f"(() => {{ const f = document.getElementById('filters').elements[{json.dumps(field)}];"
        f" f.value = {json.dumps(value)};"
        " f.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


@needs_chromium
def test_it_renders_without_complaints_or_requests(page: HeadlessChromium) -> None:
    assert page.evaluate("document.title") == "A <title>"
    assert page.evaluate("document.querySelectorAll('#figure-grid figure').length") == 6
    assert page.evaluate("document.querySelectorAll('svg .curve').length") >= 4
    decoded = "Promise.all([...document.images].map((image) => image.decode().then(() => 1)))"
    assert page.evaluate(decoded) == [1] * 8
    assert column(page, "Index") == [str(i) for i in range(8)]
    assert page.complaints() == []
    assert {url.partition(":")[0] for url in page.requests()} <= {"file", "data"}


@needs_chromium
def test_text_of_the_run_is_never_markup(page: HeadlessChromium) -> None:
    assert column(page, "Label")[0] == "1 <b>boot</b>"
    assert "<script>boom()" in page.evaluate("document.getElementById('settings').textContent")
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.evaluate("document.querySelector('td b')") is None


@needs_chromium
def test_a_script_that_is_not_ours_does_not_run(page: HeadlessChromium) -> None:
    page.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.bad = 1';"
        " document.body.append(s); })()"
    )
    assert page.evaluate("window.bad") is None


@needs_chromium
def test_it_sorts_both_ways(page: HeadlessChromium) -> None:
    sort_by(page, "Radius")  # of the last method
    rising = column(page, "Radius")
    assert rising[-5:] == ["0.299", "0.699", "1.000", "1.600", "2.500"]
    assert rising[:2] == ["abstained", "abstained"]
    sort_by(page, "Radius")
    assert (
        column(page, "Radius")
        == ["2.500", "1.600", "1.000", "0.699", "0.299", "0.200"] + ["abstained"] * 2
    )
    selector = "document.querySelector('[aria-sort=descending]').textContent"
    assert page.evaluate(selector) == "Radius"
    assert page.complaints() == []


@needs_chromium
@pytest.mark.parametrize(
    ("field", "value", "left"),
    [
        ("prediction", "right", "012356"),
        ("prediction", "wrong", "47"),
        ("status", "abstained", "57"),
        ("status", "undecided", "6"),
        ("status", "certified", "012346"),
        ("gain", "up", "0346"),
        ("gain", "down", "2"),
        ("label", "1", "01234567"),
        ("index", "3", "3"),
        ("index", "33", ""),
    ],
)
def test_it_filters(page: HeadlessChromium, field: str, value: str, left: str) -> None:
    choose(page, field, value)
    assert column(page, "Index") == list(left)
    shown = page.evaluate("document.getElementById('shown').textContent")
    assert shown == f"{len(left)} of 8 inputs"


@needs_chromium
def test_filters_combine_and_clear(page: HeadlessChromium) -> None:
    choose(page, "prediction", "right")
    choose(page, "gain", "up")
    assert column(page, "Index") == list("036")
    page.evaluate("document.querySelector('#filters button').click()")
    page.evaluate("new Promise((resolve) => setTimeout(resolve))")
    assert len(column(page, "Index")) == 8


@needs_chromium
def test_intervals_are_rounded_outward(page: HeadlessChromium) -> None:
    assert column(page, "P interval")[0] == "[0.7000, 0.8001]"
    assert column(page, "Q interval")[0] == "[0.9000, 1.0000]"
    assert column(page, "Gain")[:3] == ["+0.200", "0.000", "-0.050"]


def hover(page: HeadlessChromium, figure: str, x: float, y: float) -> str:
    """Point at a place of a chart, given in the units of its drawing; the tooltip's text."""
    script = f"""(() => {{
      const svg = document.querySelector("#{figure} > svg");
      svg.scrollIntoView({{ block: "center", behavior: "instant" }});
      const box = svg.getBoundingClientRect();
      return [box.left + ({x} / 560) * box.width, box.top + ({y} / 330) * box.height];
    }})()"""
    left, top = page.evaluate(script)
    page.send("Input.dispatchMouseEvent", type="mouseMoved", x=left, y=top)
    # Two frames, after which the browser has delivered the movement.
    frames = "new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))"
    page.evaluate(frames)
    tip = "document.getElementById('tooltip')"
    return str(page.evaluate(f"{tip}.hidden ? '' : {tip}.innerText"))


@needs_chromium
def test_pointing_at_a_curve_shows_the_accuracy_there(page: HeadlessChromium) -> None:
    # Radius 1.5 of 2.575: 58 + (1.5 / 2.575) * 488 = 342.3. One of 8 inputs reaches it.
    tip = hover(page, "figure-certified-accuracy", 342.3, 150)
    assert re.fullmatch(r"radius 1\.\d{3}\s+Neyman-Pearson: 12\.5%\s+DSRS truncated: 12\.5%", tip)
    assert hover(page, "figure-certified-accuracy", -40, -40) == ""


@needs_chromium
def test_pointing_at_an_input_shows_both_radii(page: HeadlessChromium) -> None:
    # Input 3 at (2, 2.5) of 2.6: x = 58 + 2/2.6 * 488, y = 286 - 2.5/2.6 * 274.
    tip = hover(page, "figure-radius-comparison", 433.4, 22.5)
    assert "input 3" in tip
    assert "Neyman-Pearson: 2.000" in tip
    assert "DSRS truncated: 2.500 (+0.500)" in tip


@needs_chromium
def test_a_legend_entry_hides_its_curve(page: HeadlessChromium) -> None:
    figure = "document.getElementById('figure-certified-accuracy')"
    count = f"{figure}.querySelectorAll('.curve').length"
    assert page.evaluate(count) == 2
    page.evaluate(f"{figure}.querySelector('.legend button').click()")
    assert page.evaluate(count) == 1
    assert "Neyman-Pearson" not in hover(page, "figure-certified-accuracy", 300, 150)


@needs_chromium
def test_several_runs_and_many_inputs(
    browser: HeadlessChromium,
    make_result: Callable[..., RunResult],
    tmp_path: Path,
) -> None:
    runs = [
        RunSummary.from_results(
            f"s{sigma}",
            [
                make_result(
                    i, {"np": sigma, "truncated": sigma}, law=GeneralizedGaussian(16, sigma)
                )
                for i in range(150)
            ],
        )
        for sigma in (0.25, 0.5)
    ]
    path = tmp_path / "many.html"
    path.write_text(html_page(make_report(runs, [0.25], FAST)))
    browser.open(path)
    assert browser.evaluate("document.getElementById('figure-envelope') !== null")
    assert len(column(browser, "Index")) == 100
    browser.evaluate("document.getElementById('more').click()")
    assert len(column(browser, "Index")) == 150
    assert browser.evaluate("document.getElementById('more').hidden")
    choose(browser, "run", "1")
    assert set(column(browser, "Radius")) == {"0.500"}
    assert browser.complaints() == []


@needs_chromium
def test_a_run_that_certifies_nothing_is_still_shown(
    browser: HeadlessChromium,
    make_result: Callable[..., RunResult],
    tmp_path: Path,
) -> None:
    lost = {"np": "abstained", "truncated": "undecided"}
    run = RunSummary.from_results("lost", [make_result(i, lost) for i in range(3)])
    path = tmp_path / "lost.html"
    path.write_text(html_page(make_report([run], None, FAST)))
    browser.open(path)
    assert column(browser, "Radius") == ["undecided"] * 3
    assert hover(browser, "figure-certified-accuracy", 300, 150).count("0.0%") == 2
    assert browser.complaints() == []


def test_the_summary_can_be_read_without_scripts(hand_run: RunSummary) -> None:
    page = html_page(make_report([hand_run], [0.5, 1.0], FAST))
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    cells = [
        unescape(re.sub("<small>.*", "", cell)) for cell in re.findall("<td.*?>(.*?)</td>", body)
    ]
    assert " ".join(cells).split() == [
        *("75.0", "50.0", "25.0", "0.468", "37.5", "25.0"),
        *("75.0", "62.5", "25.0", "0.587", "37.5", "25.0"),
        *("+12.5", "0.0", "+0.119", "0.0", "0.0"),  # a gain has no clean accuracy
    ]


@needs_chromium
def test_a_printed_page_has_all_inputs_and_all_settings(page: HeadlessChromium) -> None:
    choose(page, "index", "3")
    folded = "document.querySelectorAll('details:not([open])').length"
    assert page.evaluate(folded) > 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    rows = "document.querySelectorAll('#printed-inputs tbody tr').length"
    assert page.evaluate(rows) == 8
    assert page.evaluate(folded) == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(rows) == 0
    assert page.evaluate(folded) > 0


@needs_chromium
@pytest.mark.parametrize("width", [1280, 768])
def test_a_summary_of_ten_radii_is_seen_without_scrolling(
    browser: HeadlessChromium, hand_run: RunSummary, tmp_path: Path, width: int
) -> None:
    path = tmp_path / "wide.html"
    radii = [round(0.2 * step, 1) for step in range(1, 11)]
    path.write_text(html_page(make_report([hand_run], radii, FAST)))
    browser.send(
        "Emulation.setDeviceMetricsOverride",
        **{"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        browser.open(path)
        table = "document.querySelector('.scroll')"
        assert browser.evaluate(f"{table}.scrollWidth <= {table}.clientWidth")
    finally:
        browser.send("Emulation.clearDeviceMetricsOverride")


@needs_chromium
def test_columns_of_a_wide_summary_stay_on_the_paper_and_rows_on_one_sheet(
    browser: HeadlessChromium, hand_run: RunSummary, tmp_path: Path
) -> None:
    path = tmp_path / "wide.html"
    radii = [round(0.25 * step, 2) for step in range(1, 11)]
    path.write_text(html_page(make_report([hand_run], radii, FAST)))
    browser.open(path)
    browser.send("Emulation.setEmulatedMedia", media="print")
    # A4 across, without its margins of 10 mm, at 96 pixels an inch.
    browser.send(
        "Emulation.setDeviceMetricsOverride",
        **{"width": 1047, "height": 718, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        right = "[...document.querySelectorAll('td')].map((c) => c.getBoundingClientRect().right)"
        assert 500 < max(browser.evaluate(right)) <= 1047
        row = "getComputedStyle(document.querySelector('.summary tbody tr')).breakInside"
        assert browser.evaluate(row) == "avoid"
    finally:
        browser.send("Emulation.setEmulatedMedia", media="")
        browser.send("Emulation.clearDeviceMetricsOverride")


def test_pictures_can_be_left_out(hand_run: RunSummary) -> None:
    report = make_report([hand_run], [0.5], FAST)
    assert "data:image/png" in html_page(report)
    assert "data:image/png" not in html_page(report, images=False)


def test_the_page_names_no_other_place(hand_run: RunSummary) -> None:
    page = html_page(make_report([hand_run], [0.5], FAST))
    outside = set(re.findall(r"https?://[^\"'\s<]+", page))
    assert outside == {"http://www.w3.org/2000/svg"}  # a namespace, not an address


PHONE = 375  # CSS pixels: the narrowest phones that people still use
LEAST_LETTERS = 10.5  # pixels on the screen; smaller text cannot be read without zooming


@pytest.fixture
def phone(browser: HeadlessChromium) -> Iterator[HeadlessChromium]:
    browser.send(
        "Emulation.setDeviceMetricsOverride",
        width=PHONE,
        height=700,
        deviceScaleFactor=2,
        mobile=True,
    )
    yield browser
    browser.send("Emulation.clearDeviceMetricsOverride")


SIZES = """[...document.querySelectorAll("body *")]
  .filter((one) => one.checkVisibility() && [...one.childNodes].some(
    (child) => child.nodeType === 3 && child.textContent.trim()))
  .filter((one) => !["SCRIPT", "STYLE"].includes(one.tagName))
  .map((one) => {
    const svg = one.ownerSVGElement;
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    return [scale * parseFloat(getComputedStyle(one).fontSize), one.textContent.slice(0, 30)];
  })"""


@needs_chromium
@pytest.mark.parametrize("kind", ["hand", "long", "unlabelled"])
def test_it_can_be_read_on_a_phone(
    phone: HeadlessChromium,
    hand_run: RunSummary,
    make_result: Callable[..., RunResult],
    tmp_path: Path,
    kind: str,
) -> None:
    runs = {
        "hand": [hand_run],
        "long": [
            RunSummary.from_results(
                f"a-long-name-of-a-run-without-any-space-in-it-{sigma}",
                [
                    make_result(
                        i,
                        {"np": sigma, "weighted:" + "1:0,2:-1," * 30: 1.5 * sigma},
                        law=GeneralizedGaussian(16, sigma),
                    )
                    for i in range(9)
                ],
                settings={"model": {"fingerprint": "f" * 200}},
            )
            for sigma in (0.25, 0.5, 1.0)
        ],
        "unlabelled": [
            RunSummary.from_results(
                "u", [make_result(i, {"np": 1.0}, label=None) for i in range(3)]
            )
        ],
    }[kind]
    path = tmp_path / "phone.html"
    path.write_text(html_page(make_report(runs, [0.25 * i for i in range(1, 13)], FAST), "T" * 60))
    phone.open(path)
    phone.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for place in ("document.documentElement", "document.body"):
        assert phone.evaluate(f"{place}.scrollWidth") <= PHONE
    small = [seen for seen in phone.evaluate(SIZES) if seen[0] < LEAST_LETTERS]
    assert not small
    # Names at the axes do not run into each other, nor out of the picture.
    overlaps = """[...document.querySelectorAll("#figure-grid figure > svg")].flatMap((svg) => {
      const boxes = [...svg.querySelectorAll("text")].map((one) => one.getBoundingClientRect());
      const all = svg.getBoundingClientRect();
      const out = boxes.filter((b) => b.left < all.left - 1 || b.right > all.right + 1);
      const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 1 && b.top < a.bottom - 1;
      const hit = boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => meet(a, b)));
      return [...out, ...hit].map((b) => [svg.parentNode.id, b.left - all.left, b.top - all.top]);
    })"""
    assert phone.evaluate(overlaps) == []
    assert phone.complaints() == []
