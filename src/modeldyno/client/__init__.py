"""The Python client of a server: ``modeldyno.Client`` and ``modeldyno.AsyncClient``.

It imports ``core`` (and where a workspace and its server are); httpx2 and python-socketio come with
``pip install 'modeldyno[client]'``.
"""
