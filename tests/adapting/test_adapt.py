"""`adapt`: candidates judged alike, the best one written as a model that certifies."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.adapting import Budget
from dsrs.classifiers.onnx_graph import GraphBuilder, bytes_of

onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

SHAPE = (1, 16, 16)
QUICK = Budget(votes=128, n=500, reach=0.5, workers=1)


def fragile_model() -> bytes:
    """Class 1 where the bright half is the right one, which fine noise hides.

    The score is the difference of the halves less the sum of squares of neighbours' differences,
    which is nearly 0 on smooth images and large under noise.
    """
    builder = GraphBuilder(SHAPE)
    sides = np.ones((1, 1, 16, 16), np.float32)
    sides[..., :8] = -1
    halves = builder.add("Conv", "rows", builder.constant(sides / 128))
    steps = np.zeros((1, 1, 1, 2), np.float32)
    steps[..., 0], steps[..., 1] = -1, 1
    slopes = builder.add("Conv", "rows", builder.constant(steps))
    rough = builder.add("GlobalAveragePool", builder.add("Mul", slopes, slopes))
    score = builder.add("Sub", halves, builder.add("Mul", rough, builder.scalar(4.0)))
    flat = builder.reshape(score, 1)
    both = builder.add("Concat", builder.add("Neg", flat), flat, axis=1)
    model = builder.model(both)
    dims = model.graph.output[0].type.tensor_type.shape
    del dims.dim[1:]
    dims.dim.add().dim_value = 2
    del imported_onnx
    return bytes_of(model)
