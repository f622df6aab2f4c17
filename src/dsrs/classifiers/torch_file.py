"""PyTorch model files: exported programs (.pt2). TorchScript and Python pickles are refused."""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

from dsrs.classifiers.adapters import Adapter, ModelOptions, by_suffix
from dsrs.classifiers.base import UNIT_BOUNDS, Classifier
from dsrs.classifiers.callable import CallableClassifier, remembered
from dsrs.classifiers.tensor_passes import imported_torch, in_precision
from dsrs.classifiers.torch_module import PlacedModule
from dsrs.errors import ClassifierError

# ---- The operators that a file may use: pure arithmetic on tensors
# PyTorch registers some two thousand operators, and among them are ones that map files into memory
# (`from_file`), save, print, seed, or call other machines. A file that comes from elsewhere may use
# what is listed here. Left out on purpose, though harmless for others: random numbers (a smoothed
# classifier must answer always alike) and memory that is not filled (`empty`, `resize_`, `set_`).

_ELEMENTWISE = """
    abs absolute acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh
    asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil celu clamp
    clamp_max clamp_min clip copysign cos cosh deg2rad div divide elu eq erf erfc erfinv exp exp2
    expm1 fix float_power floor floor_divide fmax fmin fmod frac ge gelu glu greater greater_equal
    gt hardshrink hardsigmoid hardswish hardtanh heaviside hypot isclose isfinite isinf isnan
    isneginf isposinf le leaky_relu lerp less less_equal lgamma log log10 log1p log2 log_sigmoid
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt masked_fill
    maximum minimum mish mul multiply nan_to_num ne neg negative not_equal positive pow prelu
    rad2deg reciprocal relu relu6 remainder round rrelu rsqrt rsub selu sgn sigmoid sign silu sin
    sinc sinh softplus softshrink special_erf special_expit special_xlogy sqrt square sub subtract
    tan tanh threshold tril triu true_divide trunc where xlogy __and__ __or__ __xor__
"""
_REDUCTIONS = """
    all amax amin aminmax any argmax argmin argsort count_nonzero cummax cummin cumprod cumsum
    equal frobenius_norm kthvalue linalg_norm linalg_vector_norm log_softmax logcumsumexp logsumexp
    max mean median min mode msort nanmean nansum norm prod softmax sort std std_mean sum topk
    trace var var_mean _log_softmax _softmax
"""
_SHAPES = """
    adjoint alias atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors broadcast_to cat
    channel_shuffle chunk clone column_stack concat concatenate constant_pad_nd contiguous detach
    diag diag_embed diagonal diff dsplit dstack expand expand_as flatten flip fliplr flipud gather
    hsplit hstack im2col col2im index index_add index_fill index_put index_select lift_fresh
    lift_fresh_copy masked_select meshgrid moveaxis movedim narrow one_hot pad permute
    pixel_shuffle pixel_unshuffle ravel reflection_pad1d reflection_pad2d reflection_pad3d repeat
    repeat_interleave replication_pad1d replication_pad2d replication_pad3d reshape reshape_as
    roll rot90 row_stack scatter scatter_add scatter_reduce select select_scatter slice
    slice_scatter split split_with_sizes squeeze stack swapaxes swapdims t take take_along_dim
    tensor_split tile transpose unbind unflatten unfold unsafe_chunk unsafe_split
    unsafe_split_with_sizes unsqueeze view view_as vsplit vstack _reshape_alias _unsafe_view
    mH mT numpy_T
"""
_LAYERS = """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d addbmm addmm addmv addr affine_grid_generator
    alpha_dropout avg_pool1d avg_pool2d avg_pool3d baddbmm batch_norm bilinear bmm cdist conv1d
    conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution cosine_similarity
    cross dot dropout einsum embedding feature_alpha_dropout feature_dropout ger grid_sampler
    grid_sampler_2d grid_sampler_3d group_norm gru gru_cell inner instance_norm kron layer_norm
    linear lstm lstm_cell matmul max_pool1d max_pool1d_with_indices max_pool2d
    max_pool2d_with_indices max_pool3d max_pool3d_with_indices mm mv native_batch_norm
    native_group_norm native_layer_norm outer pairwise_distance rms_norm rnn_relu rnn_relu_cell
    rnn_tanh rnn_tanh_cell scaled_dot_product_attention tensordot upsample_bicubic2d
    upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
    upsample_trilinear3d vdot _adaptive_avg_pool2d _adaptive_avg_pool3d _addmm_activation
    _convolution _native_batch_norm_legit_no_training _scaled_dot_product_flash_attention_for_cpu
    _native_batch_norm_legit _native_multi_head_attention _transformer_encoder_layer_fwd
    _trilinear _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_lanczos2d_aa
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d _weight_norm
    _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned to_padded_tensor
"""
_MAKING = """
    arange eye full full_like linspace logspace new_full new_ones new_zeros ones ones_like
    cpu scalar_tensor tensor to tril_indices triu_indices type_as zeros zeros_like as_tensor
    copy _to_copy _shape_as_tensor
"""
_SIZES_AND_CHECKS = """
    device dim element_size get_device is_complex is_contiguous is_floating_point is_nonzero item
    numel result_type size stride sym_constrain_range sym_constrain_range_for_size sym_numel
    sym_size sym_stride _assert_async _assert_scalar _assert_tensor_metadata
"""
_IN_PLACE = """
    abs_ add_ addcdiv_ addcmul_ addmm_ baddbmm_ bitwise_and_ bitwise_not_ bitwise_or_ ceil_ celu_
    clamp_ clamp_max_ clamp_min_ clip_ copy_ cos_ cumsum_ div_ dropout_ elu_ eq_ erf_ exp_ fill_
    floor_ floor_divide_ ge_ gt_ hardsigmoid_ hardswish_ hardtanh_ index_add_ index_fill_
    index_put_ le_ leaky_relu_ lerp_ log1p_ log_ logical_and_ logical_not_ logical_or_ lt_
    masked_fill_ mish_ mul_ ne_ neg_ pow_ reciprocal_ relu6_ relu_ remainder_ round_ rrelu_ rsqrt_
    scatter_ scatter_add_ selu_ sigmoid_ sign_ silu_ sin_ sqrt_ square_ squeeze_ sub_ t_ tanh_
    threshold_ transpose_ tril_ triu_ true_divide_ trunc_ unsqueeze_ zero_ __iand__ __ior__
    _index_put_impl_ feature_dropout_ alpha_dropout_
"""

# Names in the namespace `aten`, without their overloads.
TENSOR_OPERATORS = frozenset(
    (
        _ELEMENTWISE + _REDUCTIONS + _SHAPES + _LAYERS + _MAKING + _SIZES_AND_CHECKS + _IN_PLACE
    ).split()
)

# Control flow of exported programs, whose branches are graphs of the same operators.
HIGHER_ORDER_OPERATORS = frozenset({"cond", "while_loop", "wrap_with_set_grad_enabled"})

# ---- Archives without the parts that would run code when they are read
# `torch.export.load` unpickles example inputs and some constants, evaluates strings (sizes and
# guards), and looks operators up by dotted names. Here the archive is read as what it is, a zip of
# JSON and raw weights; the pickles and guards are dropped, and the strings are checked. PyTorch
# reads zips with a reader of its own, so what was checked must also be what it is given: a file
# can hold one entry twice, or two archives in one. Hence the archive is written again.

# Sizes: arithmetic of integers and of symbols such as s77, in these functions only.
SIZE_EXPRESSION = re.compile(
    r"(?:Symbol\('[su]\d+'(?:, (?:positive|nonnegative|integer)=True)*\)"
    r"|[su]\d+|\d+|Integer|Add|Mul|Pow|Max|Min|Mod|PythonMod|FloorDiv|CleanDiv|[ +\-*(),])*"
)
OPERATOR = re.compile(
    rf"torch\.ops\.aten\.(?:{'|'.join(sorted(TENSOR_OPERATORS))})\.\w+"
    rf"|torch\.ops\.higher_order\.(?:{'|'.join(sorted(HIGHER_ORDER_OPERATORS))})"
    r"|_operator\.(?:add|sub|mul|floordiv|truediv|mod|neg|pow|getitem|eq|ne|lt|le|gt|ge)"
)
# Strings that PyTorch evaluates or looks up, by their keys.
CHECKED_STRINGS = {"target": OPERATOR, "as_operator": OPERATOR, "expr_str": SIZE_EXPRESSION}
# The shape of arguments and answers; other kinds name Python modules, which would be imported.
TREES = (None, "builtins.tuple", "builtins.list", "builtins.dict")
LARGEST_UNFOLDED = 1 << 24  # bytes of one compressed entry: more than any program has
RAW_TENSOR = re.compile(r"(?:weight|tensor)_\d+")

KEPT_ENTRIES = re.compile(
    r"archive_format|archive_version|byteorder|\.data/\w+|models/model\.json"
    r"|data/weights/(?:weight_\d+|model_weights_config\.json)"
    r"|data/constants/(?:tensor_\d+|model_constants_config\.json)|data/sample_inputs/model\.pt"
)


def without_code(path: Path) -> io.BytesIO:
    """Rewrite the archive at `path` so that `torch.export.load` finds only data in it."""
    entries = _entries_of(path)
    program = entries.get("models/model.json")
    if program is None:
        raise ClassifierError(
            f"{path.name} holds no exported program in the present format; "
            "save it again with torch.export.save of PyTorch 2.8 or later, or export it to ONNX"
        )
    for name in (
        "data/weights/model_weights_config.json",
        "data/constants/model_constants_config.json",
    ):
        _refuse_pickled(_parsed(entries.get(name, b""), path), path)
    parsed = _entries(_parsed(program, path), None, path)
    _check_strings(parsed, path)
    # Python code that torch would compile; the shape of a batch is checked by the adapter.
    parsed["guards_code"] = []
    entries["models/model.json"] = json.dumps(parsed).encode()
    # torch reads an empty file as "no example inputs".
    entries["data/sample_inputs/model.pt"] = b""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            if KEPT_ENTRIES.fullmatch(name):
                archive.writestr(f"model/{name}", content)
    stream.seek(0)
    return stream


def _entries_of(path: Path) -> dict[str, bytes]:
    """The entries of an archive by their names inside its folder.

    PyTorch compresses text only, so a small file must not unfold to a large one here.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.file_size > max(entry.compress_size, LARGEST_UNFOLDED):
                    raise ClassifierError(
                        f"{path.name} is not a torch.export archive: {entry.filename!r} in it "
                        f"unfolds from {entry.compress_size:,} to {entry.file_size:,} bytes"
                    )
            return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise ClassifierError(f"{path.name} is not a torch.export archive: {error}") from error


def _parsed(content: bytes, path: Path) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise ClassifierError(f"{path.name} is damaged: {error}") from error


def _refuse_pickled(config: Any, path: Path) -> None:
    for key, payload in _entries(config, "config", path).items():
        raw = RAW_TENSOR.fullmatch(str(_entries(payload, None, path).get("path_name")))
        if payload.get("use_pickle") is not False or raw is None:
            raise ClassifierError(
                f"{path.name} keeps {key!r} as a pickle, which could run code when it is read; "
                "export the model to ONNX"
            )


def _entries(value: Any, key: str | None, path: Path) -> dict[str, Any]:
    entry = value.get(key) if key is not None and isinstance(value, dict) else value
    if not isinstance(entry, dict):
        raise ClassifierError(f"{path.name} is damaged: expected a JSON object, got {entry!r}")
    return entry


def _check_strings(value: Any, path: Path) -> None:
    if isinstance(value, list):
        for part in value:
            _check_strings(part, path)
    elif isinstance(value, dict):
        for key, allowed in CHECKED_STRINGS.items():
            text = value.get(key)
            if isinstance(text, str) and not allowed.fullmatch(text):
                raise ClassifierError(
                    f"{path.name} uses {text!r} as {key}, which is not an operation of plain "
                    "tensors; export the model to ONNX"
                )
        for key in ("in_spec", "out_spec"):
            if isinstance(value.get(key), str):
                _check_tree(_parsed(value[key].encode(), path), path)
        if isinstance(value.get("target"), str) and "inputs" in value:
            value["metadata"] = {}  # notes on a node, with names that torch looks up
        for part in value.values():
            _check_strings(part, path)


def _check_tree(tree: Any, path: Path) -> None:
    """Refuse a nesting of arguments that is not made of tuples, lists and dictionaries."""
    if isinstance(tree, list):
        for part in tree:
            _check_tree(part, path)
    elif isinstance(tree, dict):
        context = tree.get("context")
        names = _parsed(context.encode(), path) if isinstance(context, str) else context
        plain = names is None or (
            isinstance(names, list) and all(isinstance(name, str | int) for name in names)
        )
        if tree.get("type") not in TREES or not plain:
            raise ClassifierError(
                f"{path.name} nests its arguments in {tree.get('type')!r} with {context!r}, "
                "expected tuples, lists and dictionaries; export the model to ONNX"
            )
        _check_tree(tree.get("children_spec"), path)


# ---- The classifier

HOW_TO_EXPORT = (
    "Export the model to ONNX (torch.onnx.export) or to a .pt2 file (torch.export.save), or name "
    "the Python code that builds it (package.module:name) and give its weights beside it"
)


@remembered
def from_torch_file(
    path: str | Path,
    *,
    input_shape: tuple[int, ...] | None = None,
    num_classes: int | None = None,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    device: str = "cpu",
) -> CallableClassifier:
    """A classifier from a `torch.export` archive (.pt2).

    It runs in PyTorch; on CPU an ONNX file of the same model is several times faster.

    Args:
        path: the archive, as torch.export.save of PyTorch 2.8 or later writes it.
        input_shape: the shape of one input, to be compared with that of the program.
        num_classes: the number of classes, where the answers are class ids.
        bounds: the least and the greatest value of a clean input.
        device: where the program runs: "cpu", "cuda".
    """
    file = Path(path)
    if not file.is_file():
        raise ClassifierError(f"there is no model file {str(path)!r}")
    if file.suffix.lower() != ".pt2":
        raise ClassifierError(refusal(file))
    torch = imported_torch()
    title = f"exported program {file.name}"
    archive = without_code(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            program = torch.export.load(archive)
            module = program.module()
    except (RuntimeError, ValueError, TypeError, KeyError, AssertionError) as error:
        raise ClassifierError(f"{title} cannot be loaded: {error}") from error
    _refuse_training_graph(program, title)
    rows, declared = _exported_input(program, title)
    if input_shape is not None and tuple(input_shape) != declared:
        raise ClassifierError(
            f"{title} takes inputs of shape {declared}, but `input_shape` is {tuple(input_shape)}"
        )
    module.to(device)
    module.training = False
    place = torch.device(device)
    ready = in_precision(module, "float32", place, title)
    identity = f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    placed = PlacedModule(ready, place, title, identity, "PyTorch", rows=rows, learns=False)
    return placed.eager(declared, num_classes, bounds)


def _load(name: str, options: ModelOptions) -> Classifier:
    return from_torch_file(name, **options.chosen("input_shape", "num_classes", "bounds", "device"))


TORCH_FILE = Adapter("net.pt2", by_suffix(".pt2"), _load)


def refusal(path: Path) -> str:
    """Why a file of PyTorch or a pickle is not read, and what to do instead."""
    if _is_torchscript(path):
        return (
            f"{path.name} is TorchScript, which PyTorch has given up and which is not read. "
            + HOW_TO_EXPORT
        )
    trusted = ""
    if path.suffix.lower() == ".joblib":
        trusted = (
            ". One of scikit-learn that you trust: write a file.py that loads it (model = "
            f"joblib.load({path.name!r})), and name file.py:model"
        )
    return (
        f"{path.name} is a Python pickle, or not a model: pickles run code when they are read, "
        f"so they are never opened. {HOW_TO_EXPORT}{trusted}"
    )


def _is_torchscript(path: Path) -> bool:
    # torch.save and torch.jit.save both write zips, often both named .pt; only the second
    # holds TorchScript code.
    try:
        with zipfile.ZipFile(path) as archive:
            inner = [name.partition("/")[2] for name in archive.namelist()]
    except (zipfile.BadZipFile, OSError):
        return False
    return "constants.pkl" in inner and any(name.startswith("code/") for name in inner)


def _refuse_training_graph(program: Any, title: str) -> None:
    # An exported graph has its mode written into its operators.
    random = any(
        node.op == "call_function" and "dropout" in str(node.target) and True in node.args
        for node in program.graph.nodes
    )
    if random or program.graph_signature.buffers_to_mutate:
        raise ClassifierError(
            f"{title} was exported in training mode; call .eval() and export it again"
        )


def _exported_input(program: Any, title: str) -> tuple[int | None, tuple[int, ...]]:
    """The number of rows if it is fixed, and the shape of one input."""
    names = program.graph_signature.user_inputs
    values = [node.meta.get("val") for node in program.graph.nodes if node.name in names]
    shape = tuple(values[0].shape) if len(values) == 1 and hasattr(values[0], "shape") else ()
    if len(shape) < 2 or not all(isinstance(axis, int) for axis in shape[1:]):
        raise ClassifierError(
            f"{title} must take one tensor of shape (n, ...) where only n may be open, "
            f"it takes {values}"
        )
    return (shape[0] if isinstance(shape[0], int) else None), shape[1:]
