"""What schemathesis must know about us that no OpenAPI document says."""

import re
import uuid

import schemathesis

_KEY = "Idempotency-Key"


@schemathesis.hook
def before_call(context, case, kwargs):
    """A key stands for one request. Generated ones come again with another: that is refused, and
    rightly so (tests/api/test_idempotency.py). Those that are no key at all stay as they are."""
    for name, value in dict(case.headers or {}).items():
        if name.lower() == _KEY.lower() and re.fullmatch(r"[!-~]{1,200}", str(value)):
            case.headers[name] = str(uuid.uuid4())
