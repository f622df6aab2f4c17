"""Every number of docs/method.md that comes from the theory, computed again."""

from __future__ import annotations

import ast
import csv
import re

import pytest

from dsrs.measures.rounding import floor_printed
from dsrs.paper.concentration import (
    first_impossible_dimension,
    gamma_table,
    theorem_2,
    theorem_2_for_every_m,
)
from dsrs.paper.dimension import paper_dimensions
from dsrs.paper.multiclass import check_multiclass
from dsrs.paper.nested_classes import check_nested_classes
from dsrs.paper.opt_truncation import PAPER_WEIGHTS, OptSettings
from dsrs.paper.theory_checks import EXPONENTS, RATES
from dsrs.paper.tightness import check_theorem_1, regions
from paper.documentation import DOCS, row, stated


def test_the_code_of_the_method_page_says_what_it_shows() -> None:
    """A line `expression  # value` must have this value."""
    text = (DOCS / "method.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    claims = 0
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S):
        exec(compile(block, "method.md", "exec"), names)
        for line in block.splitlines():
            expression, _, value = line.partition("  # ")
            if value:
                assert eval(expression, names) == ast.literal_eval(value), line
                claims += 1
    assert claims >= 3


@pytest.mark.parametrize("name", tuple(regions()))
def test_theorem_1(name: str) -> None:
    found = check_theorem_1(name)
    radii = (
        found.neyman_pearson,
        found.truncated,
        found.on_region,
        found.true_radius,
    )
    line = row(name, f"{found.p_a:.4f}", *(floor_printed(radius, 5) for radius in radii))
    assert line in stated("method")


def test_the_corollary() -> None:
    found = check_multiclass()
    page = stated("method")
    assert f"certify the true radius, {floor_printed(found.laws_on_the_rivals, 5)}." in page
    assert f"prove {floor_printed(found.laws_on_a_and_b, 5)}, the radius of Theorem 1" in page


@pytest.mark.slow
def test_the_corollary_from_votes() -> None:
    found, page = check_nested_classes(), stated("method")
    shown = {
        pair: {votes: floor_printed(radius, 5) for votes, radius in radii.items()}
        for pair, radii in found.certified.items()
    }
    assert f"radius is {floor_printed(found.true_radius, 5)}, and that" in page
    assert f"of Theorem 1 {floor_printed(found.theorem_1, 5)}." in page
    assert f"give {shown['AB'][1_000_000]}, and {shown['AB'][10_000]} from 10,000" in page
    assert f"laws on B and C {shown['BC'][1_000_000]} and {shown['BC'][10_000]}" in page


def test_theorem_2() -> None:
    page = stated("method")
    for growth in theorem_2((20, 98, 1098, 12_492, 142_280, 3_646_460)):
        radii = floor_printed(growth.radius, 4), floor_printed(growth.theorem_2, 4)
        assert row(f"{growth.d:,}", *radii, floor_printed(growth.rate, 5)) in page
    last = theorem_2((3_646_460,))[0]
    assert f"comes to {floor_printed(last.rate, 5)} sigma sqrt(d) for m = 5" in page
    rows = theorem_2_for_every_m(paper_dimensions())
    assert f"the {len(rows)} values of m" in page
    assert f"from d = {max(row.holds_from for row in rows)} on" in page
    ends = floor_printed(rows[0].last_rate, 5), floor_printed(rows[-1].last_rate, 5)
    assert f"d = 3,646,460 from {ends[0]} (m = 0.5) to {ends[1]} (m = 15) times" in page


def test_theorem_6() -> None:
    page = stated("method")
    assert row("k", *(f"c = {rate:g}" for rate in RATES)) in page
    for k in EXPONENTS:
        limits = (first_impossible_dimension(rate, k=float(k)) for rate in RATES)
        assert row(k, *(f"{limit:,}" for limit in limits)) in page


def test_the_proof_of_theorem_2() -> None:
    page = stated("differences")
    assert f"0.5 / 0.999 = {0.5 / 0.999:.5f}" in page
    assert f"smallest entry of the table is {min(r.cdf for r in gamma_table()):.4f}" in page


def test_the_settings_of_opt() -> None:
    page = stated("differences")
    settings = OptSettings()
    weights = sorted(PAPER_WEIGHTS.values())
    assert f"with lambda from {weights[0]:.0e} to {weights[-1]:.0e}".replace("e-0", "e-") in page
    scaled = [weight * settings.samples for weight in weights]
    assert f"lambda is {scaled[0]:.3g} to {scaled[-1]:.2g}" in page
    assert settings.learning_rate * 0.001 == 2.0
    assert "a mean gradient of 0.001 already moves P_con by 2" in page


def test_the_measurement_of_opt() -> None:
    """The summary belongs to the inputs that `dsrs paper opt --inputs 100` printed."""
    rows, of_share = (
        measured_inputs(name) for name in ("opt-mnist-1.00.csv", "opt-mnist-1.00-share.csv")
    )
    page = stated("method")
    assert f"Measured on {len(rows)} test inputs" in page
    means = {
        name: f"{sum(r[name] for r in rows) / len(rows):.4f}"
        for name in ("np_radius", "heuristic_radius", "opt_radius")
    }
    assert (
        f"the mean radius is {means['np_radius']} with Neyman-Pearson, "
        f"{means['heuristic_radius']} with the heuristic and {means['opt_radius']} with Opt"
    ) in page
    certified = [r for r in rows if r["np_radius"] > 0]
    better = sum(r["heuristic_radius"] > r["opt_radius"] for r in certified)
    assert f"Of the {len(certified)} inputs that are certified at all" in page
    assert f"proves more for {better} and Opt for {len(certified) - better}." in page
    share = f"{sum(r['opt_radius'] for r in of_share) / len(of_share):.4f}"
    other = stated("differences")
    assert f"On the {len(of_share)} inputs" in other
    assert f"a mean radius of {share}" in other
    assert f"instead of {means['opt_radius']}." in other


def test_the_measurement_of_opt_on_cifar10() -> None:
    """The rows belong to the inputs that `dsrs paper opt --inputs 20` printed."""
    rows, page = measured_inputs("opt-cifar10-0.25.csv"), stated("differences")
    assert f"Gaussian training, {len(rows)} inputs" in page
    for title, name in (("Neyman-Pearson", "np"), ("heuristic", "heuristic"), ("Opt", "opt")):
        radii = [row[f"{name}_radius"] for row in rows]
        cells = [f"{sum(r >= at / 10 for r in radii) / len(radii):.0%}"[:-1] for at in range(1, 8)]
        assert f"{title} | {' | '.join(cells)} | {sum(radii) / len(radii):.4f} |" in page
    certified = [row for row in rows if row["np_radius"] > 0]
    better = sum(row["heuristic_radius"] > row["opt_radius"] for row in certified)
    assert f"of {len(certified)} inputs that are certified at all" in page
    assert f"more for {better} and Opt for {len(certified) - better}" in page


def measured_inputs(name: str) -> list[dict[str, float]]:
    with (DOCS / "measurements" / name).open(encoding="utf-8") as lines:
        return [{head: float(text) for head, text in r.items()} for r in csv.DictReader(lines)]
