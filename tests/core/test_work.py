"""How much work a node does, told by shapes alone."""

from modeldyno.core.node_work import Operand, Operands, Work, family, work_of


def operands(inputs, outputs, window=()):
    told = [[Operand("float", tuple(shape)) for shape in side] for side in (inputs, outputs)]
    return Operands(tuple(told[0]), tuple(told[1]), window)


def work(op, inputs, outputs, window=()):
    return work_of(op, operands(inputs, outputs, window))


def test_a_convolution_multiplies_each_output_with_one_filter():
    image, filters, out = (1, 3, 224, 224), (64, 3, 7, 7), (1, 64, 112, 112)
    flop = 2 * 64 * 112 * 112 * 3 * 7 * 7
    moved = 4 * (3 * 224**2 + 64 * 3 * 49 + 64 * 112**2)
    for name in ("Conv", "com.microsoft.FusedConv", "Convolution", "aten::mkldnn_convolution"):
        assert work(name, [image, filters], [out]) == Work(flop, moved)
    grouped = work("GroupConvolution", [(1, 8, 24, 96), (8, 1, 1, 3, 3)], [(1, 8, 12, 96)])
    assert grouped.flop == 2 * 8 * 12 * 96 * 9
    depthwise = work("Conv", [(1, 8, 24, 96), (8, 1, 3, 3)], [(1, 8, 12, 96)])
    assert depthwise.flop == grouped.flop
    assert work("ConvTranspose", [(1, 4, 8, 8), (4, 2, 2, 2)], [(1, 2, 16, 16)]).flop == (
        2 * 4 * 64 * 2 * 4
    )
    assert work("Convert", [(1, 4)], [(1, 4)]).flop == 0  # which is OpenVINO's cast


def test_numbers_of_a_few_bits_share_bytes():
    for kind in ("int4", "u4", "Int4x2"):
        assert Operand(kind, (3, 5)).bytes == 8
    assert Operand("u2", (8,)).bytes == 2
    assert Operand("odd", (8,)).bytes is None
    assert Operand("dynamic", (0,)).bytes == 0  # an input that is left out, as OpenVINO lists it


def test_weights_that_the_engine_hides_have_the_size_that_they_are_kept_in():
    features, out = (4, 256), (4, 64)
    both = 4 * (4 * 256 + 4 * 64)
    assert work("MatMul", [features], [out]).bytes == both + 4 * 256 * 64
    assert work("DynamicQuantizeMatMul", [features], [out]).bytes == both + 256 * 64
    assert work("MatMulNBits", [features, (512,)], [out]).bytes is None  # 4 bits, or 8, or 2
    assert work("MatMulNBits", [features, (512,)], [out]).flop == 2 * 4 * 64 * 256
    assert work("GatherBlockQuantized", [(50_000, 64), (1, 7)], [(1, 7, 128)]).bytes is None


def test_a_product_counts_weights_that_the_engine_hides():
    shown = work("MatMul", [(1, 128, 384), (384, 1536)], [(1, 128, 1536)])
    hidden = work("MatMul", [(1, 128, 384)], [(1, 128, 1536)])
    assert shown == hidden
    assert shown.flop == 2 * 128 * 384 * 1536
    assert work("Gemm", [(4, 8), (4, 3)], [(8, 3)]).flop == 2 * 8 * 4 * 3  # A lies across
    assert work("FusedMatMul", [(2, 12, 16, 32), (2, 12, 16, 32)], [(2, 12, 16, 16)]).flop == (
        2 * 2 * 12 * 16 * 16 * 32
    )


def test_recurrent_networks_attention_norms_and_pools():
    assert work("LSTM", [(10, 2, 6)], [(10, 1, 2, 5)]).flop == 2 * 10 * 2 * 5 * 4 * (6 + 5)
    assert work("GRU", [(10, 2, 6)], [(1, 2, 5)]).flop == 2 * 10 * 2 * 5 * 3 * (6 + 5)
    heads = (1, 12, 128, 32)
    attention = work("aten::_scaled_dot_product_flash_attention_for_cpu", [heads] * 3, [heads])
    assert attention.flop == 4 * 12 * 128 * 128 * 32
    assert work("LayerNormalization", [(1, 8, 4)], [(1, 8, 4)]).flop == 8 * 32
    assert work("Softmax", [(1, 10)], [(1, 10)]).flop == 50
    assert work("MaxPool", [(1, 2, 8, 8)], [(1, 2, 4, 4)], (3, 3)).flop == 2 * 16 * 9
    assert work("GlobalAveragePool", [(1, 2, 8, 8)], [(1, 2, 1, 1)]).flop == 128
    assert work("Add", [(1, 8), (8,)], [(1, 8)]) == Work(8, 4 * 24)


def test_what_only_moves_computes_nothing_and_what_is_looked_up_is_not_read_whole():
    assert work("Transpose", [(4, 8)], [(8, 4)]) == Work(0, 2 * 4 * 32)
    assert work("Gather", [(30_000, 384), (1, 7)], [(1, 7, 384)]) == Work(0, 4 * (2 * 7 * 384 + 7))
    assert work("Reshape", [(4, 8), (2,)], [(8, 4)]) == Work(0, 0)


def test_what_is_a_view_in_pytorch_is_work_elsewhere():
    for name in ("aten::expand", "aten::broadcast_to", "aten::resize_"):
        assert (work(name, [(1, 8)], [(4, 8)]), family(name)) == (Work(0, 0), "view")
    for name in ("Expand", "BROADCAST_TO", "BroadcastTo"):
        assert work(name, [(1, 8)], [(4, 8)]) == Work(0, 4 * (8 + 32))
    # How many numbers go into each of the new ones, the shapes do not tell.
    assert work("Resize", [(1, 2, 4, 4)], [(1, 2, 8, 8)]) == Work(None, 4 * (32 + 128))
    assert family("Resize") != "view"


def test_names_of_tensorflow_litert_and_xnnpack_are_known():
    for name in ("BatchMatMulV2", "BATCH_MATMUL", "Batch Matrix Multiply (NC, F32) GEMM"):
        assert work(name, [(2, 3, 4), (2, 4, 5)], [(2, 3, 5)]).flop == 2 * (2 * 3 * 5) * 4
    for name in ("AddV2", "ADD", "Add (ND)", "BiasAdd", "LOGISTIC", "Reciprocal Square Root (NC)"):
        assert work(name, [(1, 8)], [(1, 8)]).flop == 8
    for name in ("MAX_POOL_2D", "AvgPool", "Average Pooling (NHWC, F32) Average Pooling"):
        assert work(name, [(1, 8, 8, 2)], [(1, 4, 4, 2)], (2, 2)).flop == 4 * 4 * 2 * 4
    assert work("FusedBatchNormV3", [(1, 8)], [(1, 8)]).flop == 16
    assert work("Convert (NC, F32, QS8)", [(1, 8)], [(1, 8)]).flop == 0  # no convolution
    assert work("EXPAND_DIMS", [(8,)], [(1, 8)]) == Work(0, 0)


def test_what_is_not_known_is_never_nought():
    assert work("Mystery", [(4, 8)], [(8, 4)]) == Work(None, 2 * 4 * 32)
    assert work("MaxPool", [(1, 2, 8, 8)], [(1, 2, 4, 4)]).flop is None
    assert work("Conv", [(1, 3, 8, 8)], [(1, 8, 8, 8)]) == Work(None, None)  # packed filters
    assert work_of("Conv", None) == Work(None, None)
    strange = Operands((Operand("string", (4,)),), (Operand("float", (4,)),))
    assert work_of("Cast", strange) == Work(0, None)
    assert work_of("Add", operands([(1 << 50,)], [(1 << 50,)])) == Work(None, None)
