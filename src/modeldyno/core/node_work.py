"""The work of a node, estimated from the shapes of its inputs and outputs.

Arithmetic counts additions and multiplications, and one for each function of an element, so a
convolution and a matrix product count two for each pair of numbers. Bytes count each operand once,
read or written, regardless of caches and repeated reads. Unknown is None, never 0; operators that
only move or rename have 0.

Operators go by their names in ONNX, ONNX Runtime's fusions, OpenVINO, PyTorch, TensorFlow, LiteRT
and its XNNPACK.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

MOST_OPERANDS = 64
HIGHEST_RANK = 8
LARGEST_SIZE = 1 << 40


@dataclass(frozen=True)
class Operand:
    dtype: str  # as the engine calls it
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int | None:
        bits = _BITS.get(self.dtype) if self.size else 0  # an absent input may have any type
        return None if bits is None else (bits * self.size + 7) // 8


@dataclass(frozen=True)
class Operands:
    """Of one execution. Weights that an engine repacked may be missing among the inputs."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    window: tuple[int, ...] = ()  # of a pooling, if known

    @property
    def are_sane(self) -> bool:
        everything = (*self.inputs, *self.outputs)
        sizes = [size for operand in everything for size in operand.shape] + [*self.window]
        ranks = [len(operand.shape) for operand in everything] + [len(self.window)]
        return (
            len(everything) <= MOST_OPERANDS
            and max(ranks) <= HIGHEST_RANK
            and all(0 <= size <= LARGEST_SIZE for size in sizes)
        )


@dataclass(frozen=True)
class Work:
    """Of one execution."""

    flop: float | None = None
    bytes: float | None = None


def work_of(op_type: str, operands: Operands | None) -> Work:
    if operands is None or not operands.are_sane:
        return Work()
    name = plain_name(op_type)
    if is_view(op_type):
        return Work(0.0, 0.0)
    flop = _count_flop(name, operands)
    moved = _count_bytes(name, operands)
    return Work(
        None if flop is None else float(flop),
        None if moved is None else float(moved),
    )


def plain_name(op_type: str) -> str:
    """``com.microsoft.FusedConv``, ``aten::add_``, ``Max Pooling (NHWC, F32)`` → ``fusedconv``,
    ``add``, ``maxpooling``."""
    name = op_type.partition(" (")[0].replace(" ", "")
    return name.rpartition("::")[2].rpartition(".")[2].strip("_").lower()


def is_elementwise(op_type: str) -> bool:
    """Whether each output element has a corresponding input element; includes norms."""
    return plain_name(op_type) in _PER_ELEMENT


def is_attention(op_type: str) -> bool:
    """Of queries, keys and values."""
    return plain_name(op_type) in _ATTENTIONS


def is_view(op_type: str) -> bool:
    """Whether it only reinterprets data that stays in place."""
    name = plain_name(op_type)
    return name in _VIEWS or (name in _VIEWS_OF_PYTORCH and op_type.startswith("aten::"))


# ---------------------------------------------------------------- arithmetic


def _count_flop(name: str, operands: Operands) -> float | None:
    rule = next((rule for words, rule in _RULES if name in words), None)
    if rule is None and "conv" in name:
        rule = (
            _transposed_convolution_flop
            if "transpose" in name or "backprop" in name
            else _convolution_flop
        )
    if rule is not None:
        return rule(operands)
    if name in _PER_ELEMENT:
        return _PER_ELEMENT[name] * operands.outputs[0].size if operands.outputs else None
    if name in _REDUCTIONS:
        return operands.inputs[0].size if operands.inputs else None
    if name in _GATES:
        return _recurrent_flop(operands, _GATES[name])
    return 0.0 if name in _MOVES else None


def _convolution_flop(operands: Operands) -> float | None:
    filters = _find_filters(operands)
    if filters is None or not operands.outputs:
        return None
    return 2 * operands.outputs[0].size * _flop_per_output(filters, len(operands.outputs[0].shape))


def _transposed_convolution_flop(operands: Operands) -> float | None:
    """Each input element meets every filter: [C, K, h, w], of C input channels."""
    filters = _find_filters(operands)
    if filters is None:
        return None
    channels = filters.shape[0]
    if len(filters.shape) > len(operands.inputs[0].shape):  # in groups: [groups, C, K, h, w]
        channels *= filters.shape[1]
    return 2 * operands.inputs[0].size * filters.size / max(1, channels)


def _find_filters(operands: Operands) -> Operand | None:
    return next((operand for operand in operands.inputs[1:] if len(operand.shape) >= 3), None)


def _flop_per_output(filters: Operand, rank: int) -> float:
    """Multiplications per output element: those of one filter."""
    count = filters.shape[0]
    if len(filters.shape) > rank:  # in groups
        count *= filters.shape[1]
    return filters.size / max(1, count)


def _product_flop(operands: Operands) -> float | None:
    depth = _product_depth(operands)
    return None if depth is None else 2 * operands.outputs[0].size * depth


def _product_depth(operands: Operands) -> int | None:
    """Multiplications per output element: the dimension that both matrices share. Either matrix may
    be transposed."""
    if not operands.inputs or not operands.outputs:
        return None
    left, out = operands.inputs[0].shape, operands.outputs[0].shape
    if not left:
        return None
    rows = out[-2] if len(out) > 1 else 1
    is_transposed = len(left) > 1 and left[-2] != rows and left[-1] == rows
    return left[-2] if is_transposed else left[-1]


def _attention_flop(operands: Operands) -> float | None:
    """Scores and their sum: queries [.., L, D], keys [.., S, D] and values; D may hold several
    heads."""
    if len(operands.inputs) < 3:
        return None
    query, key = operands.inputs[0].shape, operands.inputs[1].shape
    if not len(query) == len(key) == len(operands.inputs[2].shape) in (3, 4):
        return None
    return 4 * prod(query) * key[-2]


def _packed_attention_flop(operands: Operands) -> float | None:
    """ONNX Runtime's own: [batch, length, width], and the weights [width, 3 × inner] of all."""
    if len(operands.inputs) < 2 or len(operands.inputs[0].shape) != 3:
        return None
    weights = operands.inputs[1].shape
    if len(weights) != 2:
        return None
    _, length, _ = operands.inputs[0].shape
    tokens = operands.inputs[0].size / max(1, operands.inputs[0].shape[-1])
    return 2 * tokens * prod(weights) + 4 * tokens * length * weights[1] / 3


def _recurrent_flop(operands: Operands, gates: int) -> float | None:
    """Of all steps: each output element meets the input and the state."""
    if not operands.inputs or not operands.outputs:
        return None
    sequence, out = operands.inputs[0], operands.outputs[0]
    if len(sequence.shape) != 3 or len(out.shape) not in (3, 4):
        return None
    width, hidden = sequence.shape[-1], out.shape[-1]
    numbers = out.size  # of every step and direction
    if len(out.shape) == 3:  # of the last step alone: [directions, batch, hidden]
        numbers = sequence.size // max(1, width) * out.shape[0] * hidden
    return 2 * numbers * gates * (width + hidden)


def _pooling_flop(operands: Operands) -> float | None:
    if not operands.window or not operands.outputs:
        return None
    return operands.outputs[0].size * prod(operands.window)


def _sum_flop(operands: Operands) -> float | None:
    """Of several tensors, element by element; of one, all its elements."""
    if not operands.outputs or not operands.inputs:
        return None
    if len(operands.inputs) == 1:
        return operands.inputs[0].size
    return operands.outputs[0].size * max(1, len(operands.inputs) - 1)


# ---------------------------------------------------------------- bytes


def _count_bytes(name: str, operands: Operands) -> float | None:
    if name in _LOOKS_UP_FEW_BITS:
        return None
    if name in _PARTIAL:  # reads only what it looks up
        out = [operand.bytes for operand in operands.outputs]
        return _total_if_known([*out, *out, *(operand.bytes for operand in operands.inputs[1:])])
    total = _total_if_known([operand.bytes for operand in (*operands.inputs, *operands.outputs)])
    hidden = _repacked_bytes(name, operands)
    return None if total is None or hidden is None else total + hidden


def _repacked_bytes(name: str, operands: Operands) -> float | None:
    """Bytes of weights that the engine does not list, since it repacked them."""
    if not operands.inputs or not operands.outputs:
        return 0
    features, out = operands.inputs[0], operands.outputs[0]
    weights = [operand.shape for operand in operands.inputs[1:]]
    bits = 8 if name.startswith(_WITH_INT8_WEIGHTS) else _BITS.get(features.dtype, 0)
    width = bits / 8
    if name in _PRODUCTS and not any(len(shape) >= 2 for shape in weights):
        if name in _WITH_FEW_BITS:
            return None
        depth = _product_depth(operands)
        return None if depth is None else width * depth * (out.shape[-1] if out.shape else 1)
    if name in _GATES and sum(len(shape) == 3 for shape in weights) < 2:
        hidden = out.shape[-1] if out.shape else 0
        return (
            width * _GATES[name] * hidden * (features.shape[-1] + hidden)
            if features.shape
            else None
        )
    if "conv" in name and name not in _MOVES and _find_filters(operands) is None:
        return None
    return 0


def _total_if_known(parts: Sequence[int | None]) -> int | None:
    return None if None in parts else sum(part or 0 for part in parts)


# ---------------------------------------------------------------- tables


def _name_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PRODUCTS = _name_set(
    "matmul fusedmatmul gemm fusedgemm matmulinteger qlinearmatmul qgemm matmulnbits matmulbnb4 "
    "matmulintegertofloat dynamicquantizematmul fullyconnected fullyconnectedcompressed mm bmm "
    "addmm baddbmm linear "
    "mkldnn_linear onednn_linear transposematmul batchmatmul batchmatmulv2 batchmatmulv3 "
    "fusedbatchmatmulv2 fully_connected batch_matmul batchmatrixmultiply"
)
# Their weights have fewer bits than their first input, whose type is a float or says nothing.
_WITH_INT8_WEIGHTS = ("dynamicquantize", "matmulinteger", "qlinear", "qgemm")
_WITH_FEW_BITS = _name_set("matmulnbits matmulbnb4")
# Reads a few rows of a table whose scales and packed numbers are listed whole.
_LOOKS_UP_FEW_BITS = _name_set("gatherblockquantized")
_ATTENTIONS = _name_set(
    "multiheadattention scaleddotproductattention scaled_dot_product_attention sdpa "
    "scaled_dot_product_flash_attention_for_cpu scaled_dot_product_flash_attention "
    "scaled_dot_product_efficient_attention scaled_dot_product_attention_math"
)
_PACKED_ATTENTIONS = _name_set("attention qattention")
_POOLINGS = _name_set(
    "maxpool averagepool avgpool pooling lppool nhwcmaxpool qlinearaveragepool max_pool2d "
    "max_pool2d_with_indices avg_pool2d max_pool_2d average_pool_2d maxpool3d avgpool3d "
    "maxpooling averagepooling"
)
_RULES: tuple[tuple[frozenset[str], Callable[[Operands], float | None]], ...] = (
    (_PRODUCTS, _product_flop),
    (_ATTENTIONS, _attention_flop),
    (
        _PACKED_ATTENTIONS,
        lambda operands: _packed_attention_flop(operands) or _attention_flop(operands),
    ),
    (_POOLINGS, _pooling_flop),
    (_name_set("sum mean max min addn add_n"), _sum_flop),
    (
        _name_set(
            "deconvolution convtranspose convolutionbackpropdata groupconvolutionbackpropdata "
            "convolution_transpose conv_transpose2d"
        ),
        _transposed_convolution_flop,
    ),
    (_name_set("convert convertlike convert_element_type"), lambda _: 0.0),
)
_GATES = {
    **dict.fromkeys(_name_set("lstm lstmsequence lstmcell dynamicquantizelstm"), 4),
    **dict.fromkeys(_name_set("gru grusequence grucell"), 3),
    **dict.fromkeys(_name_set("rnn rnnsequence rnncell"), 1),
}
_PER_ELEMENT = {
    **dict.fromkeys(
        _name_set(
            "add sub subtract mul multiply div divide relu leakyrelu prelu clip clamp clamp_min "
            "hardtanh maximum minimum abs neg negative pow power sqrt rsqrt exp log erf sin cos "
            "tan tanh sigmoid floor ceil ceiling round sign reciprocal mod bitwise_and bitwise_or "
            "and or not xor equal notequal greater less greaterorequal lessorequal greaterequal "
            "lessequal where select isnan isinf eltwise gt lt ge le eq ne logical_not cumsum "
            "squareddifference threshold softsign addv2 biasadd realdiv floordiv floormod relu6 "
            "square selectv2 logicaland logicalor logicalnot squared_difference relu_n1_to_1 "
            "relu_0_to_1 leaky_relu logistic floor_div floor_mod logical_and logical_or "
            "greater_equal less_equal not_equal select_v2 negate squareroot reciprocalsquareroot"
        ),
        1,
    ),
    **dict.fromkeys(_name_set("hardsigmoid quickgelu batchnormalization"), 2),
    **dict.fromkeys(
        _name_set(
            "batchnorminference native_batch_norm batch_norm quantizelinear dequantizelinear "
            "fusedbatchnorm fusedbatchnormv2 fusedbatchnormv3 fusedbatchnormex quantize dequantize"
        ),
        2,
    ),
    **dict.fromkeys(_name_set("dynamicquantizelinear fakequantize qlinearadd qlinearmul"), 3),
    **dict.fromkeys(
        _name_set(
            "gelu fastgelu biasgelu swish silu mish softplus elu selu celu hardswish hswish "
            "hard_swish"
        ),
        5,
    ),
    **dict.fromkeys(_name_set("softmax logsoftmax log_softmax hardmax softmax_lastdim"), 5),
    **dict.fromkeys(
        _name_set(
            "layernormalization skiplayernormalization embedlayernormalization mvn normalizel2 "
            "instancenormalization groupnormalization groupnorm simplifiedlayernormalization "
            "rmsnormalization skipsimplifiedlayernormalization rms native_layer_norm "
            "native_group_norm lrn lpnormalization l2_normalization local_response_normalization"
        ),
        8,
    ),
}
_REDUCTIONS = _name_set(
    "globalaveragepool globalmaxpool globallppool nhwcglobalaveragepool reducemean reducesum "
    "reducemax reducemin reduceprod reducel1 reducel2 reducesumsquare reduce argmax argmin "
    "amax amin qlinearglobalaveragepool adaptive_avg_pool2d adaptiveavgpool topk topkv2 topk_v2 "
    "prod any all reduce_max reduce_min reduce_prod reduce_any reduce_all arg_max arg_min"
)
_VIEWS = _name_set(
    "reshape squeeze unsqueeze flatten identity shape size constant view as_strided t "
    "dropout parameter result alias detach permute empty empty_like "
    "empty_strided lift_fresh resolve_conj resolve_neg const readvariableop "
    "varhandleop identityn expanddims expand_dims rank staticreshape"
)
# In other engines, operators of these names interpolate or copy.
_VIEWS_OF_PYTORCH = _name_set("resize expand broadcast_to")
_PARTIAL = _name_set(
    "gather gatherelements gathernd slice stridedslice embedding index_select gatherv2 gather_nd "
    "strided_slice"
)
_MOVES = _PARTIAL | _name_set(
    "transpose concat cat split variadicsplit pad tile cast convert reorderinput reorderoutput "
    "reorder depthtospace spacetodepth copy copy_ to scatternd scatterelements clone contiguous "
    "broadcast broadcast_to broadcastto expand memcpyfromhost memcpytohost fill zero ones full "
    "range constantofshape nonzero "
    "concatv2 concatenation pack unpack splitv split_v padv2 mirrorpad mirror_pad constantpad "
    "space_to_depth depth_to_space space_to_batch_nd batch_to_space_nd reversev2 reverse_v2"
)
_BITS = {
    **dict.fromkeys(_name_set("double float64 f64 int64 i64 uint64 u64"), 64),
    **dict.fromkeys(_name_set("float float32 f32 int32 i32 uint32 u32 int"), 32),
    **dict.fromkeys(
        _name_set("float16 f16 bfloat16 bf16 c10::Half c10::BFloat16 int16 uint16"), 16
    ),
    **dict.fromkeys(_name_set("int8 i8 uint8 u8 bool boolean f8e4m3 f8e5m2 f8e8m0"), 8),
    **dict.fromkeys(_name_set("int4 i4 uint4 u4 Int4x2 UInt4x2 nf4 float4 f4e2m1"), 4),
    **dict.fromkeys(_name_set("int2 i2 uint2 u2 Int2x4 UInt2x4"), 2),
    **{"u3": 3, "u6": 6, "u1": 1},
    **{"long int": 64, "short int": 16, "signed char": 8, "unsigned char": 8},
}


# ---------------------------------------------------------------- kinds of work


def family(op_type: str) -> str:
    """``product`` for MatMul, Gemm and aten::addmm alike; its own name if there is no family."""
    name = plain_name(op_type)
    if is_view(op_type):
        return "view"
    is_convolution = "conv" in name and "convert" not in name
    own = "convolution" if is_convolution else name
    return next((word for word, names in _FAMILIES if name in names), own)


_NORMS = _name_set(
    "layernormalization skiplayernormalization mvn normalizel2 instancenormalization "
    "groupnormalization groupnorm simplifiedlayernormalization rmsnormalization rms "
    "skipsimplifiedlayernormalization native_layer_norm native_group_norm layer_norm "
    "batchnormalization batchnorminference native_batch_norm batch_norm fusedbatchnorm "
    "fusedbatchnormv2 fusedbatchnormv3 fusedbatchnormex"
)
_FAMILIES = (
    ("convolution", _name_set("deconvolution")),
    ("product", _PRODUCTS),
    ("attention", _ATTENTIONS | _PACKED_ATTENTIONS),
    ("pooling", _POOLINGS),
    ("recurrent", frozenset(_GATES)),
    ("normalization", _NORMS),
    ("softmax", _name_set("softmax logsoftmax log_softmax softmax_lastdim")),
    ("reduction", _REDUCTIONS | _name_set("mean sum max min")),
    ("reordering", _name_set("reorder reorderinput reorderoutput transpose")),
    ("joining", _name_set("concat cat concatv2 concatenation")),
    ("cast", _name_set("cast convert convertlike")),
    ("elementwise", frozenset(_PER_ELEMENT) - _NORMS | _name_set("subgraph")),
)
