"""How refusals read."""

import pytest

from modeldyno.api.errors import Refusal, text_of


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("Missing request id.", "", ""), "Missing request id."),
        (("No such thing", "it went", "Ask again"), "No such thing. It went. Ask again"),
        (("Not found.", "there is no name", ""), "Not found. There is no name"),
        (("Refused", "net.onnx is none", ""), "Refused. net.onnx is none"),
        (("Refused", "", "batch_size is a number"), "Refused. batch_size is a number"),
    ],
)
def test_plain_text_is_made_of_sentences(parts, text):
    assert text_of(Refusal(400, "CODE", *parts)) == text
