"""The JSON Schemas of the package, for whatever prints a document."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

FOLDER = Path(__file__).parents[1] / "src" / "modeldyno" / "schemas"


def check(name: str, document: Any) -> None:
    """Raise unless ``document`` is what schemas/<name>.schema.json promises."""
    files = [json.loads(path.read_text()) for path in FOLDER.glob("*.json")]
    found = Registry().with_resources([(f["$id"], Resource.from_contents(f)) for f in files])
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    Draft202012Validator(schema, registry=found).validate(document)
