"""What schemathesis must know about us that no OpenAPI document can say."""

import uuid

import schemathesis
from schemathesis import GenerationMode


@schemathesis.hook
def before_call(context, case, kwargs):
    """Of requests that should work. A key stands for one request, and a generated one comes again
    with another; a cursor is what a page said, and a generated one is none. Both are refused, and
    rightly so (tests/api)."""
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    for name in list(case.headers or ()):
        if name.lower() == "idempotency-key":
            case.headers[name] = str(uuid.uuid4())
    if case.query:
        case.query.pop("cursor", None)
