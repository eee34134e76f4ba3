"""Put your model on the dyno: measurements of neural networks that say how sure they are.

    import modeldyno
    result = modeldyno.bench("model.onnx", batch=[1, 8], cores=[1, 2])
    modeldyno.compare("old.onnx", "new.onnx").assert_not_slower(0.05)
    modeldyno.Client().bench("model.onnx")    # the same on a server

Importing this loads neither numpy nor an engine; only a worker process loads an engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modeldyno.client.clients import AsyncClient, Client
    from modeldyno.python_api import bench, compare, convert, graph, inspect, profile, rank

__all__ = [
    "AsyncClient",
    "Client",
    "bench",
    "compare",
    "convert",
    "graph",
    "inspect",
    "profile",
    "rank",
]


def __getattr__(name: str) -> Any:
    if name in ("AsyncClient", "Client"):
        from modeldyno.client import clients

        return getattr(clients, name)
    if name in __all__:
        from modeldyno import python_api

        return getattr(python_api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
