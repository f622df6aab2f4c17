"""Operators of ONNX that have weights or windows: convolutions, pools, normalisations, resizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dsrs.classifiers.onnx_operators import Call, Operator, operator

CONVOLUTIONS = (functional.conv1d, functional.conv2d, functional.conv3d)
TRANSPOSED = (
    functional.conv_transpose1d,
    functional.conv_transpose2d,
    functional.conv_transpose3d,
)
MAX_POOLS = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)
MEAN_POOLS = (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d)
LINEAR_MODES = ("linear", "bilinear", "trilinear")
PLACED_RESIZE = 11  # since this opset `Resize` says how pixels are placed
WINDOW_ATTRIBUTES = "auto_pad dilations kernel_shape pads strides"


def _pads(call: Call, sides: Sequence[int], kernel: Sequence[int]) -> list[tuple[int, int]]:
    """What is added before and after each axis of the image."""
    count, how = len(kernel), call.get("auto_pad", "NOTSET")
    if how == "VALID":
        return [(0, 0)] * count
    if how == "NOTSET":
        flat = call.get("pads", [0] * 2 * count)
        return list(zip(flat[:count], flat[count:], strict=True))
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        raise call.refusal(f"with auto_pad {how}")
    steps, spaces = call.get("strides", [1] * count), call.get("dilations", [1] * count)
    pads = []
    for side, size, step, space in zip(sides, kernel, steps, spaces, strict=True):
        missing = max((-(-side // step) - 1) * step + (size - 1) * space + 1 - side, 0)
        less, more = missing // 2, missing - missing // 2
        pads.append((less, more) if how == "SAME_UPPER" else (more, less))
    return pads


def _padded(x: Tensor, pads: Sequence[tuple[int, int]], value: float = 0.0) -> Tensor:
    flat = [end for pair in reversed(pads) for end in pair]
    return functional.pad(x, flat, value=value) if any(flat) else x


def _even(pads: Sequence[tuple[int, int]]) -> bool:
    return all(before == after for before, after in pads)


def _conv(call: Call) -> Tensor:
    x, weight = call.tensor(0), call.tensor(1)
    count = weight.dim() - 2
    pads = _pads(call, x.shape[2:], weight.shape[2:])
    added = [before for before, _ in pads]
    if not _even(pads):
        x, added = _padded(x, pads), [0] * count
    return CONVOLUTIONS[count - 1](
        x,
        weight,
        call.optional(2),
        call.get("strides", [1] * count),
        added,
        call.get("dilations", [1] * count),
        call.get("group", 1),
    )


def _conv_transpose(call: Call) -> Tensor:
    x, weight = call.tensor(0), call.tensor(1)
    count = weight.dim() - 2
    if call.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise call.refusal(f"with auto_pad {call.get('auto_pad', '')}")
    pads = _pads(call, x.shape[2:], weight.shape[2:])
    cut = [0] * count if not _even(pads) else [before for before, _ in pads]
    made = TRANSPOSED[count - 1](
        x,
        weight,
        call.optional(2),
        call.get("strides", [1] * count),
        cut,
        call.get("output_padding", [0] * count),
        call.get("group", 1),
        call.get("dilations", [1] * count),
    )
    return made if _even(pads) else _padded(made, [(-before, -after) for before, after in pads])


def _max_pool(call: Call) -> Tensor:
    x, kernel = call.tensor(0), call.get("kernel_shape", [])
    if call.get("storage_order", 0) or call.outputs > 1:
        raise call.refusal("with indices")
    count, pads = len(kernel), _pads(call, x.shape[2:], kernel)
    added = [before for before, _ in pads]
    if not _even(pads) or any(2 * each > size for each, size in zip(added, kernel, strict=True)):
        x, added = _padded(x, pads, float("-inf")), [0] * count
    return MAX_POOLS[count - 1](
        x,
        kernel,
        call.get("strides", [1] * count),
        added,
        call.get("dilations", [1] * count),
        bool(call.get("ceil_mode", 0)),
    )


def _mean_pool(call: Call) -> Tensor:
    x, kernel = call.tensor(0), call.get("kernel_shape", [])
    count, pads = len(kernel), _pads(call, x.shape[2:], kernel)
    if any(space != 1 for space in call.get("dilations", [])):
        raise call.refusal("with dilations")
    pool, steps = MEAN_POOLS[count - 1], call.get("strides", [1] * count)
    added, whole = [before for before, _ in pads], bool(call.get("count_include_pad", 0))
    ceiling = bool(call.get("ceil_mode", 0))
    if _even(pads) and all(2 * each <= size for each, size in zip(added, kernel, strict=True)):
        return pool(x, kernel, steps, added, ceiling, whole)
    if ceiling:
        raise call.refusal("with ceil_mode and uneven pads")
    mean = pool(_padded(x, pads), kernel, steps)
    if whole:
        return mean
    return mean / pool(_padded(torch.ones_like(x[:1, :1]), pads), kernel, steps)


def _global_pool(call: Call) -> Tensor:
    x = call.tensor(0)
    every = list(range(2, x.dim()))
    mean = call.operator == "GlobalAveragePool"
    return x.mean(dim=every, keepdim=True) if mean else x.amax(dim=every, keepdim=True)


def _gemm(call: Call) -> Tensor:
    left, right = call.tensor(0), call.tensor(1)
    left = left.t() if call.get("transA", 0) else left
    alpha, beta, added = call.get("alpha", 1.0), call.get("beta", 1.0), call.optional(2)
    right = right if call.get("transB", 0) else right.t()
    if alpha == beta == 1.0 and (added is None or added.dim() == 1):
        return functional.linear(left, right, added)
    product: Tensor = alpha * functional.linear(left, right)
    return product if added is None else torch.add(product, added, alpha=beta)


def _batch_norm(call: Call) -> Tensor:
    if call.get("training_mode", 0) or not call.get("spatial", 1):
        raise call.refusal("in training mode, or for each pixel,")
    scale, shift, mean, variance = (call.tensor(place) for place in range(1, 5))
    return functional.batch_norm(
        call.tensor(0),
        mean,
        variance,
        scale,
        shift,
        call.training,
        1.0 - call.get("momentum", 0.9),
        call.get("epsilon", 1e-5),
    )


def _instance_norm(call: Call) -> Tensor:
    scale, shift, epsilon = call.tensor(1), call.tensor(2), call.get("epsilon", 1e-5)
    return functional.instance_norm(call.tensor(0), weight=scale, bias=shift, eps=epsilon)


def _layer_norm(call: Call) -> Tensor:
    if call.outputs > 1:
        raise call.refusal("with the mean as a result")
    x = call.tensor(0)
    shape = list(x.shape)[call.get("axis", -1) % x.dim() :]
    scale = call.tensor(1).expand(shape)
    shift = call.tensor(2).expand(shape) if call.has(2) else None
    return functional.layer_norm(x, shape, scale, shift, call.get("epsilon", 1e-5))


def _group_norm(call: Call) -> Tensor:
    x, groups = call.tensor(0), call.get("num_groups", 1)
    each = x.shape[1] // groups
    scale, shift = call.tensor(1), call.tensor(2)
    if scale.numel() == groups:  # opset 18: one for each group
        scale, shift = scale.repeat_interleave(each), shift.repeat_interleave(each)
    return functional.group_norm(x, groups, scale, shift, call.get("epsilon", 1e-5))


def _resize(call: Call) -> Tensor:
    x, mode = call.tensor(0), call.get("mode", "nearest")
    old = call.operator == "Upsample" or call.opset < PLACED_RESIZE
    place = call.get("coordinate_transformation_mode", "asymmetric" if old else "half_pixel")
    nearest = call.get("nearest_mode", "floor" if old else "round_prefer_floor")
    options: dict[str, Any] = {}
    if mode == "linear" and place in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        options = {"mode": LINEAR_MODES[x.dim() - 3], "align_corners": place == "align_corners"}
    elif mode == "nearest" and (place, nearest) == ("asymmetric", "floor"):
        options = {"mode": "nearest"}
    elif mode == "nearest" and (place, nearest) == ("half_pixel", "round_prefer_floor"):
        options = {"mode": "nearest-exact"}
    if not options or call.get("antialias", 0) or call.get("exclude_outside", 0):
        raise call.refusal(f"with {call.attributes}")
    if call.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise call.refusal("that keeps the aspect ratio")
    sides = call.numbers(3)
    if not sides:
        scales = call.numbers(1 if old else 2, "scales") or []
        sides = [int(side * scale) for side, scale in zip(x.shape, scales, strict=True)]
    return functional.interpolate(x, size=[int(side) for side in sides[2:]], **options)


LAYERS: dict[str, Operator] = {
    "Conv": operator(_conv, f"{WINDOW_ATTRIBUTES} group"),
    "ConvTranspose": operator(_conv_transpose, f"{WINDOW_ATTRIBUTES} group output_padding"),
    "MaxPool": operator(_max_pool, f"{WINDOW_ATTRIBUTES} ceil_mode storage_order"),
    "AveragePool": operator(_mean_pool, f"{WINDOW_ATTRIBUTES} ceil_mode count_include_pad"),
    "GlobalAveragePool": operator(_global_pool),
    "GlobalMaxPool": operator(_global_pool),
    "Gemm": operator(_gemm, "alpha beta transA transB"),
    "MatMul": operator(lambda call: torch.matmul(call.tensor(0), call.tensor(1))),
    "BatchNormalization": operator(_batch_norm, "epsilon momentum spatial training_mode"),
    "InstanceNormalization": operator(_instance_norm, "epsilon"),
    "LayerNormalization": operator(_layer_norm, "axis epsilon stash_type"),
    "GroupNormalization": operator(_group_norm, "epsilon num_groups stash_type"),
    "Resize": operator(
        _resize,
        "mode coordinate_transformation_mode nearest_mode cubic_coeff_a exclude_outside antialias "
        "extrapolation_value keep_aspect_ratio_policy",
    ),
    "Upsample": operator(_resize, "mode scales"),
}
