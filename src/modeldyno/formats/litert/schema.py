"""The meaning of numbers in a LiteRT file: types, operators and their settings."""

from __future__ import annotations

from typing import Literal

DTYPES = (
    *("float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16", "complex64"),
    *("int8", "float64", "complex128", "uint64", "resource", "variant", "uint32", "uint16"),
    *("int4", "bfloat16", "int2", "uint4", "float8_e4m3fn", "float8_e5m2"),
)

# In the order of their numbers; those up to 126 are also in the older, shorter field.
OPERATORS = """
    ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
    EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
    LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1
    RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
    SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER
    BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE
    UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT
    LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG
    PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE
    EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD
    REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV
    REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU
    SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE
    RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
    NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
    BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D
    IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL
    CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS
    RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE
    RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2
    UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD
    STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP
    STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE
    STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE
    STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE
    STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT
    STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT
    STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA
    STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE
    STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW
    STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
""".split()  # noqa: SIM905 - two hundred quotes and commas would add nothing
CUSTOM = OPERATORS.index("CUSTOM")

PADDINGS = ("same", "valid")
ACTIVATIONS = ("none", "relu", "relu_n1_to_1", "relu6", "tanh", "sign_bit")

Kind = Literal["int", "ints", "bool", "float", "padding", "activation", "dtype"]
Settings = tuple[tuple[str, int, Kind], ...]  # name, number of the field, how it is written


def _number_settings(kind: Kind, first: int, *names: str) -> Settings:
    """Settings of the same kind in consecutive fields."""
    return tuple((name, first + place, kind) for place, name in enumerate(names))


def _activation_setting(field: int) -> Settings:
    return (("activation", field, "activation"),)


def _dilation_settings(first: int) -> Settings:
    return _number_settings("int", first, "dilation_w", "dilation_h")


_CONV: Settings = (("padding", 0, "padding"), *_number_settings("int", 1, "stride_w", "stride_h"))
_CORNERS = ("align_corners", "half_pixel_centers")
_SLICE_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_ASYMMETRIC = "asymmetric_quantize_inputs"

# By the number of the table that contains them; settings of other operators are not shown.
SETTINGS: dict[int, Settings] = {
    1: (*_CONV, *_activation_setting(3), *_dilation_settings(4)),
    2: (*_CONV, ("depth_multiplier", 3, "int"), *_activation_setting(4), *_dilation_settings(5)),
    5: (
        *_CONV,
        *_number_settings("int", 3, "filter_width", "filter_height"),
        *_activation_setting(5),
    ),
    8: (*_activation_setting(0), *_number_settings("bool", 2, "keep_num_dims", _ASYMMETRIC)),
    9: _number_settings("float", 0, "beta"),
    10: (*_number_settings("int", 0, "axis"), *_activation_setting(1)),
    11: _activation_setting(0),  # ADD
    15: _number_settings("bool", 2, *_CORNERS),
    17: _number_settings("ints", 0, "new_shape"),
    19: _number_settings("int", 0, "block_size"),  # SPACE_TO_DEPTH
    21: _activation_setting(0),  # MUL
    23: _number_settings("int", 0, "axis", "batch_dims"),
    27: _number_settings("bool", 0, "keep_dims"),
    28: _activation_setting(0),  # SUB
    29: _activation_setting(0),  # DIV
    30: _number_settings("ints", 0, "squeeze_dims"),
    32: _number_settings("int", 0, *_SLICE_MASKS),
    35: _number_settings("int", 0, "num_splits"),
    37: _number_settings("dtype", 0, "in_data_type", "out_data_type"),
    49: (*_CONV, *_activation_setting(3)),
    59: _number_settings("int", 0, "values_count", "axis"),
    61: _number_settings("int", 0, "axis"),
    64: _number_settings("int", 0, "num", "axis"),
    74: _number_settings("bool", 0, *_CORNERS),
    75: _number_settings("float", 0, "alpha"),
    94: _number_settings("int", 0, "block_size"),  # DEPTH_TO_SPACE
    101: _number_settings("bool", 0, "adj_x", "adj_y", _ASYMMETRIC),
    102: _number_settings("bool", 0, "exclusive", "reverse"),
    116: _number_settings("bool", 0, "approximate"),
}

# Of absent fields, if not 0.
DEFAULTS = {"dilation_w": 1, "dilation_h": 1}

# Tables that refer to other graphs of the file: the role of each, and the number of the field.
BODIES: dict[int, tuple[tuple[str, int], ...]] = {
    16: (("graph", 0),),
    92: (("then", 0), ("else", 1)),
    93: (("condition", 0), ("body", 1)),
    103: (("initialisation", 0),),
}
