"""write_schemas.py [--check]: the JSON Schemas of all documents, from their dataclasses.

``--check`` writes nothing, and fails when a file is not what it would write.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from modeldyno.api.schemas import schema_of
from modeldyno.present.document_catalog import DOCUMENTS

FOLDER = Path(__file__).parents[1] / "src" / "modeldyno" / "schemas"


def texts() -> dict[Path, str]:
    written = {}
    for name, kind in DOCUMENTS.items():
        file = f"{name}.schema.json"
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": file}
        schema = head | schema_of(kind)
        written[FOLDER / file] = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
    return written


def main(only_check: bool) -> None:
    stale = []
    for file, text in texts().items():
        if not file.exists() or file.read_text() != text:
            stale.append(file.name)
            if not only_check:
                file.write_text(text)
    if stale and only_check:
        sys.exit(f"stale: {', '.join(stale)}; run `make types`")


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
