"""A model's page converts it: what can be made, why not the rest, and what became of it."""

import pytest
from playwright.sync_api import expect

from tests import onnx_models
from tests.web.desk import LAPTOP, PHONE


@pytest.fixture
def model(server, tmp_path):
    project = server.ask("/projects", {"name": "Formats"})["id"]
    return server.send_model(project, onnx_models.saved(onnx_models.linear(), tmp_path / "n.onnx"))


def test_a_model_is_converted_from_its_page(desk, model):
    page = desk.open(f"/p/{model['project_id']}/models/{model['id']}")
    page.get_by_role("button", name="Convert", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem", name="ONNX", exact=True)).to_contain_text(
        "It is ONNX already"
    )
    expect(dialog.get_by_role("listitem", name="LiteRT")).to_contain_text(
        "can be made from SavedModel, Keras, TensorFlow graph; this model is ONNX"
    )
    openvino = dialog.get_by_role("listitem", name="OpenVINO IR")
    openvino.get_by_role("button", name="Convert to OpenVINO IR").click()
    expect(openvino).to_contain_text("on 3 inputs it differs by")
    assert desk.barriers() == []
    desk.picture("convert laptop")
    page.set_viewport_size(PHONE)
    assert not desk.is_too_wide()
    desk.picture("convert phone")
    page.set_viewport_size(LAPTOP)
    openvino.get_by_role("link", name="Open the new model").click()
    expect(page.get_by_role("heading", name="n.xml")).to_be_visible()
    facts = page.get_by_role("region", name="About this model")
    expect(facts).to_contain_text("Converted from n.onnx by openvino.convert_model")
    expect(page.get_by_role("dialog")).to_have_count(0)
