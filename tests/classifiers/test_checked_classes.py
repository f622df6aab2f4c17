"""What a plug-in may answer, and what it may be given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from dsrs.classifiers import Classifier, checked_classes, from_callable
from dsrs.errors import ClassifierError, InvalidInput

LOGITS = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 20), st.integers(2, 12)),
    elements=st.floats(-1e6, 1e6, width=32),
)


@given(LOGITS)
def test_the_greatest_logit_wins_and_the_first_of_equals(logits: NDArray[np.float32]) -> None:
    classes = checked_classes(logits, len(logits), logits.shape[1], "net")
    expected = [max(range(len(row)), key=lambda k: (row[k], -k)) for row in logits.tolist()]
    assert classes.dtype == np.int64
    assert classes.tolist() == expected


@given(LOGITS, st.data())
def test_nan_anywhere_is_refused(logits: NDArray[np.float32], data: st.DataObject) -> None:
    row = data.draw(st.integers(0, logits.shape[0] - 1))
    column = data.draw(st.integers(0, logits.shape[1] - 1))
    logits[row, column] = np.nan
    with pytest.raises(ClassifierError, match=f"finite logits, got nan in row {row}"):
        checked_classes(logits, len(logits), logits.shape[1], "net")


def test_the_logarithm_of_zero_may_lose_but_infinity_may_not_win() -> None:
    assert checked_classes(np.array([[-np.inf, -1.0]]), 1, 2, "net").tolist() == [1]
    assert checked_classes(np.full((4, 2), 1e308), 4, 2, "net").tolist() == [0] * 4
    for row in ([np.inf, 0.0], [-np.inf, -np.inf]):
        with pytest.raises(ClassifierError, match="finite"):
            checked_classes(np.array([row]), 1, 2, "net")


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros((3, 4)),  # a class too many
        np.zeros((2, 3)),  # a row too few
        np.zeros(3),  # class ids must be integers
        np.zeros((3, 3), np.int64),  # logits must be floats
        np.zeros((3, 1), np.int64),
        np.zeros((3, 3, 1)),
        np.zeros((3, 3), object),
        np.zeros((3, 3), complex),
        [[0.0, 1.0, 2.0]] * 3,
        None,
    ],
)
def test_answers_of_another_shape_or_type_are_refused(answer: Any) -> None:
    with pytest.raises(ClassifierError, match="net must return"):
        checked_classes(answer, 3, 3, "net")


def test_class_ids_pass_in_range_only() -> None:
    ids = np.array([0, 2, 1], np.uint8)
    assert checked_classes(ids, 3, 3, "net").tolist() == [0, 2, 1]
    for bad in (np.array([0, 3, 1]), np.array([0, -1, 1])):
        with pytest.raises(ClassifierError, match="class ids from 0 to 2"):
            checked_classes(bad, 3, 3, "net")


def sums(batch: NDArray[np.float32]) -> NDArray[Any]:
    total = batch.sum(axis=1)
    return np.stack([total, -total], axis=1)


def test_a_callable_becomes_a_classifier_that_says_its_units() -> None:
    classifier = from_callable(sums, (4,), bounds=(-1.0, 1.0), name="sums")
    assert isinstance(classifier, Classifier)
    assert classifier.num_classes == 2
    assert classifier.fingerprint.startswith("name:sums answers:")
    assert "[-1, 1]" in classifier.description
    batch = np.array([[1, 1, 1, 1], [-1, -1, -1, -1]], np.float32)
    assert classifier.classify(batch).tolist() == [0, 1]


def test_a_callable_without_a_name_is_named_by_its_code() -> None:
    fingerprint = from_callable(sums, (4,)).fingerprint
    assert fingerprint.startswith(f"name:{__name__}.sums answers:")


def test_class_ids_need_the_number_of_classes() -> None:
    def ids(batch: NDArray[np.float32]) -> NDArray[Any]:
        return np.zeros(len(batch), np.int64)

    with pytest.raises(InvalidInput, match="num_classes"):
        from_callable(ids, (4,))
    assert from_callable(ids, (4,), 7).num_classes == 7


@pytest.mark.parametrize(
    "batch",
    [
        np.zeros((2, 4)),
        np.zeros((2, 5), np.float32),
        np.zeros(4, np.float32),
        np.zeros((0, 4), np.float32),
    ],
)
def test_batches_of_another_shape_or_type_are_refused(batch: NDArray[Any]) -> None:
    with pytest.raises(InvalidInput, match="a batch must"):
        from_callable(sums, (4,)).classify(batch)


@pytest.mark.parametrize(
    ("shape", "classes", "bounds"),
    [
        ((), 2, (0.0, 1.0)),
        ((0, 4), 2, (0.0, 1.0)),
        ((4,), 1, (0.0, 1.0)),
        ((4,), 2, (1.0, 0.0)),
        ((4,), 2, (0.0, float("nan"))),
    ],
)
def test_impossible_declarations_are_refused(
    shape: tuple[int, ...], classes: int, bounds: tuple[float, float]
) -> None:
    with pytest.raises(InvalidInput):
        from_callable(sums, shape, classes, bounds=bounds)


def test_a_wrong_number_of_classes_is_found_at_once() -> None:
    with pytest.raises(ClassifierError, match=r"\(3, 10\)"):
        from_callable(sums, (4,), 10)
