"""The transcribed tables: complete, and consistent with each other as the paper's are."""

from __future__ import annotations

from collections import Counter

import pytest

from dsrs.paper.published import (
    TITLES,
    published_accuracy,
    published_acr,
    published_gamma_cdf,
)


def test_every_row_of_the_paper_is_there() -> None:
    rows = Counter(row.table for row in published_accuracy())
    assert rows == {
        "best-over-sigma": 18,
        "per-sigma": 54,
        "variants": 9,
        "truncation-choice": 18,
    }
    assert set(TITLES) == {*rows, "acr"}
    assert len(published_acr()) == 18
    assert [m for m, _ in published_gamma_cdf()] == [step / 2 for step in range(1, 31)]


def test_radii_are_decimals() -> None:
    for row in published_accuracy():
        step = {"truncation-choice": 0.2 if row.dataset == "mnist" else 0.1}.get(row.table, 0.25)
        assert row.radii == tuple(round(step * n, 2) for n in range(1, len(row.radii) + 1))


def test_accuracy_falls_with_the_radius() -> None:
    for row in published_accuracy():
        assert list(row.percents) == sorted(row.percents, reverse=True), row


@pytest.mark.parametrize("certification", ["neyman-pearson", "dsrs"])
def test_the_main_table_is_the_best_of_the_separate_ones(certification: str) -> None:
    rows = published_accuracy()
    for best in rows:
        if best.table != "best-over-sigma" or best.certification != certification:
            continue
        separate = [
            row
            for row in rows
            if row.table == "per-sigma"
            and (row.dataset, row.training, row.certification)
            == (best.dataset, best.training, best.certification)
        ]
        assert [row.sigma for row in separate] == [0.25, 0.5, 1.0]
        for place, percent in enumerate(best.percents):
            printed = [row.percents[place] for row in separate if place < len(row.percents)]
            # The separate tables leave out large radii of the small sigmas.
            complete = len(printed) == 3 or place >= 7
            assert percent == max(printed) if complete else percent >= max(printed)


def test_variants_repeat_the_rows_of_sigma_one() -> None:
    separate = {
        (row.dataset, row.certification): row.percents
        for row in published_accuracy()
        if row.table == "per-sigma" and row.training == "gaussian" and row.sigma == 1.0
    }
    for row in published_accuracy():
        if row.table == "variants":
            same = {"mnist": "dsrs-rescaled", "cifar10": "dsrs-rescaled"}.get(
                row.dataset, "dsrs-truncated"
            )
            if row.certification == "neyman-pearson":
                assert row.percents == separate[row.dataset, "neyman-pearson"]
            elif row.certification == same:
                assert row.percents == separate[row.dataset, "dsrs"]
