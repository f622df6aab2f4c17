"""Whole tables: columns, errors by field, order, workers, memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dsrs
from dsrs.errors import InvalidInput
from dsrs.proofs import RESULT_COLUMNS, certify_row

ROW = {"d": 3072, "k": 1530, "sigma": 0.5, "p_lower": 0.97, "p_upper": 0.98}
SECOND = {"q_shape": "truncated", "q_value": 0.8, "q_lower": 0.995, "q_upper": 1.0}


def test_columns_give_the_same_as_single_certificates() -> None:
    rows = [ROW | SECOND | {"p_lower": p} for p in (0.9, 0.95, 0.97)]
    found = dsrs.certify_table({name: [row[name] for row in rows] for name in rows[0]})
    assert set(found) == set(RESULT_COLUMNS)
    for i, row in enumerate(rows):
        single = certify_row(row)
        assert found["certified_radius"][i] == single.radius
        assert found["np_radius"][i] == single.np_radius
        assert single.proof is not None
        step = single.proof.outermost
        assert step is not None
        assert found["lambda_q"][i] == step.multipliers[1]
    assert list(found["status"]) == ["certified"] * 3


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    rows = [ROW | SECOND | {"q_lower": q} for q in np.linspace(0.9, 0.999, 70)]
    one, three = ([o.certificate for o in dsrs.certify_rows(rows, n)] for n in (1, 3))
    assert one == three


def test_rows_are_read_as_results_are_taken() -> None:
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for _ in itertools.count():
            taken += 1
            yield ROW | {"k": 0}

    outcomes = dsrs.certify_rows(endless(), workers=2)
    assert len(list(itertools.islice(outcomes, 40))) == 40
    assert taken < 1000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p_lower": 0.99}, "`p_lower` must not exceed `p_upper`"),
        ({"p_upper": 1.5}, "`p_upper` must be a probability"),
        ({"p_lower": "nan"}, "`p_lower` must be a number, got NaN"),
        ({"p_lower": "high"}, "`p_lower` must be a number, got 'high'"),
        ({"sigma": ""}, "`sigma` must be a number"),
        ({"k": 1536}, "`k` must be in"),
        ({"d": 3072.5}, "`d` must be a whole number"),
        ({"eta": 9}, "`eta` must be from 0.5 to 8"),
        ({"q_law": "cauchy:1"}, "a law is written KIND:VALUE"),
        ({"q_shape": "cauchy"}, "`q_shape` must be one of"),
        ({"q_value": 0}, "`percentile`"),
        ({"q_lower": 0.5, "q_upper": 0.6}, "no classifier"),
        ({"q_upper": 0.5}, "`q_lower` must not exceed `q_upper`"),
    ],
)
def test_a_bad_row_is_named_and_does_not_stop_the_others(
    change: dict[str, object], message: str
) -> None:
    good = ROW | SECOND
    outcomes = list(dsrs.certify_rows([good, good | change, good], 1))
    assert outcomes[1].certificate is None
    assert message in (outcomes[1].error or "")
    assert outcomes[0].certificate == outcomes[2].certificate is not None
    assert str(outcomes[1].fields()["status"]).startswith("error: ")


def test_a_law_in_words_is_the_law_in_two_columns() -> None:
    words = {"eta": "", "q_law": "truncated:0.8", "q_lower": 0.995, "q_upper": 1.0}
    assert certify_row(ROW | words) == certify_row(ROW | SECOND)
    assert certify_row(ROW | words | {"eta": 2}) == certify_row(ROW | SECOND)
    other = certify_row(ROW | words | {"eta": 1})
    assert other.law.eta == 1
    assert other.radius != certify_row(ROW | SECOND).radius
    columns = {name: [value] for name, value in (ROW | words).items()}
    found = dsrs.certify_table(columns)
    assert found["certified_radius"][0] == certify_row(ROW | SECOND).radius


def test_an_empty_second_value_means_that_p_was_sampled_again() -> None:
    again = certify_row(
        ROW | {"q_shape": "truncated", "q_value": "", "q_lower": 0.975, "q_upper": 1}
    )
    assert again.radius == certify_row(ROW | {"p_lower": 0.975}).radius


def test_a_table_without_a_needed_column_is_refused() -> None:
    with pytest.raises(InvalidInput, match="p_upper"):
        dsrs.certify_table({"d": [2], "k": [0], "sigma": [1], "p_lower": [0.9]})
    with pytest.raises(InvalidInput, match="differ in length"):
        dsrs.certify_table({**{name: [1] for name in ROW}, "d": [2, 3]})
