"""Out of memory: fewer rows at a time and the same votes, or an error that says what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.certifying import sample_input
from dsrs.classifiers import (
    CallableClassifier,
    from_callable,
    from_onnx,
    from_torch,
    in_fixed_batches,
    normalised,
)
from dsrs.errors import ClassifierError, OutOfMemory
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan
from dsrs.votes import VoteCollector, Votes

D, BATCH = 12, 32
FITS = 4  # rows, of the models that really run out of memory
GRID = Grid.of_bounds((0.0, 1.0))
PLAN = Plan(GeneralizedGaussian(D, 0.5, 3.0), ("np", "tailored"), n=1200, batch=BATCH, grid=GRID)
X = np.random.default_rng(1).random(D, dtype=np.float32)
BATCH_OF_X = np.repeat(X[None], BATCH, axis=0)


def votes(model: CallableClassifier) -> tuple[Votes, ...]:
    with VoteCollector(3) as workers:
        return sample_input(model, X, PLAN, 4, collector=workers).votes


def logits(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of sums in the same order, whatever the shape."""
    return np.stack([batch[:, 0] + batch[:, 1], batch[:, 2] * 2, batch[:, 3] + 0.5], axis=1)


def hungry(most: int) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    def forward(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        if len(batch) > most:
            raise MemoryError
        return logits(batch)

    return forward


def numbers(rows: int) -> int:
    """4,096 for 4 rows, and 2^48 for 8 and more, which is more than there is anywhere."""
    return int(2 ** (0.75 * min(rows, 8) ** 2))


def of_numpy() -> CallableClassifier:
    def forward(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        np.empty(numbers(len(batch)), np.float32)
        return logits(batch)

    return from_callable(forward, (D,), 3, fingerprint="hungry")


def of_torch(noise: bool = False) -> CallableClassifier:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")

    class Hungry(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, batch: object) -> object:
            torch.empty(numbers(len(batch)))  # type: ignore[arg-type]
            return torch.from_numpy(logits(batch.numpy()))  # type: ignore[attr-defined]

    return from_torch(Hungry().eval(), (D,), device="cpu:0" if noise else "cpu", engine="eager")


def of_onnx() -> CallableClassifier:
    pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")
    helper = pytest.importorskip("onnx.helper", reason="needs the extra `torch`")
    pick = np.zeros((D, 3), np.float32)
    pick[[0, 2, 3], [0, 1, 2]] = 1
    node, vector = helper.make_node, np.array
    nodes = [
        node("MatMul", ["x", "pick"], ["logits"]),
        node("Shape", ["x"], ["rows"], end=1),
        node("Cast", ["rows"], ["real"], to=11),
        node("Min", ["real", "eight"], ["n"]),
        node("Mul", ["n", "n"], ["square"]),
        node("Pow", ["base", "square"], ["many"]),
        node("Cast", ["many"], ["length"], to=7),
        node("ConstantOfShape", ["length"], ["zeros"]),
        node("ReduceSum", ["zeros"], ["zero"], keepdims=0),
        node("Add", ["logits", "zero"], ["answer"]),
    ]
    from onnx import numpy_helper

    graph = helper.make_graph(
        nodes,
        "hungry",
        [helper.make_tensor_value_info("x", 1, ["n_rows", D])],
        [helper.make_tensor_value_info("answer", 1, ["n_rows", 3])],
        [
            numpy_helper.from_array(pick, "pick"),
            numpy_helper.from_array(vector([8.0]), "eight"),
            numpy_helper.from_array(vector([2**0.75]), "base"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return from_onnx(model.SerializeToString())


def modest(model: CallableClassifier) -> CallableClassifier:
    """What the same answers are without a lack of memory: given a few rows at a time."""

    def forward(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.concatenate([model.forward(row[None]) for row in batch])

    return from_callable(forward, (D,), 3, fingerprint="modest")


@pytest.mark.parametrize("make", [of_numpy, of_torch, lambda: of_torch(True), of_onnx])
def test_allocations_that_fail_give_the_same_votes(
    make: Callable[[], CallableClassifier], caplog: pytest.LogCaptureFixture
) -> None:
    model = make()
    with caplog.at_level(logging.WARNING, "dsrs"):
        found = votes(model)
    assert found == votes(modest(model))
    assert model.rows_at_once == FITS
    (told,) = [record.getMessage() for record in caplog.records]
    assert f"ran out of memory with {BATCH} rows: it is given {FITS} at a time" in told


@pytest.mark.parametrize("most", [3, 8, 31])
def test_any_number_of_rows_that_fits_will_do(most: int) -> None:
    plain = from_callable(logits, (D,))
    model = from_callable(hungry(most), (D,), 3, fingerprint="hungry")
    assert votes(model) == votes(plain)
    assert model.rows_at_once == 1 << (most.bit_length() - 1)
    assert plain.rows_at_once is None


def test_memory_that_shrinks_further_is_followed() -> None:
    limit = [8]
    model = from_callable(lambda batch: hungry(limit[0])(batch), (D,), 3, fingerprint="hungry")
    first = model.classify(BATCH_OF_X)
    limit[0] = 2
    np.testing.assert_array_equal(model.classify(BATCH_OF_X), first)
    assert model.rows_at_once == 2


def test_a_model_that_normalises_remembers_as_well() -> None:
    inner = from_callable(hungry(8), (D,), 3, fingerprint="hungry")
    model = normalised(inner, (0.5,), (0.25,), (0.0, 1.0))
    expected = normalised(from_callable(logits, (D,)), (0.5,), (0.25,), (0.0, 1.0))
    assert votes(model) == votes(expected)
    assert model.rows_at_once == inner.rows_at_once == 8


@pytest.mark.parametrize("shape", [4, 2, 1])
def test_answers_that_depend_on_the_shape_are_refused(shape: int) -> None:
    """Also where the shapes next to the one that fits do not show it."""

    def forward(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        found = hungry(8)(batch)
        return np.nextafter(found, np.float32(9)) if len(batch) <= shape else found

    model = from_callable(forward, (D,), 3, fingerprint="rounding")
    expected = rf"with 32 rows; use `batch` = 8 or less.*rounds {shape} rows otherwise than 8"
    with pytest.raises(ClassifierError, match=expected):
        model.classify(BATCH_OF_X)
    assert model.rows_at_once is None
    assert len(model.classify(BATCH_OF_X[:8])) == 8


def test_one_row_at_a_time_cannot_be_compared() -> None:
    single: list[int] = []
    model = from_callable(
        lambda batch: hungry(single[0] if single else 9)(batch), (D,), 3, fingerprint="hungry"
    )
    single.append(1)
    with pytest.raises(ClassifierError, match=r"use `batch` = 1 or less.*cannot be seen"):
        model.classify(BATCH_OF_X)
    single[0] = 0
    with pytest.raises(ClassifierError, match=r"even a single row.*shape \(1, 12\): MemoryError"):
        model.classify(BATCH_OF_X)


def test_a_model_of_fixed_rows_cannot_have_fewer() -> None:
    def forward(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        raise OutOfMemory("the model ran out of memory")

    with pytest.raises(ClassifierError, match="exported for 16 rows and takes no fewer") as told:
        in_fixed_batches(forward, 16)(BATCH_OF_X)
    assert not isinstance(told.value, OutOfMemory)


def test_functions_are_fingerprinted_in_the_memory_that_there_is() -> None:
    small, plain = (
        from_callable(forward, (D,), name="the same") for forward in (hungry(8), logits)
    )
    assert small.fingerprint == plain.fingerprint
