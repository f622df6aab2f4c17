"""The PyTorch operators that a model file may use: pure arithmetic on tensors, and nothing else.

PyTorch registers some two thousand operators, and among them are ones that map files into memory
(`from_file`), save, print, seed, or call other machines. A file that comes from elsewhere may use
what is listed here. Left out on purpose, though harmless for others: random numbers (a smoothed
classifier must answer always alike) and memory that is not filled (`empty`, `resize_`, `set_`).
"""

from __future__ import annotations

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
