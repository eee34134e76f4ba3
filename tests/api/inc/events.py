"""What a real Socket.IO client hears on the default namespace."""

from contextlib import contextmanager

import socketio

PATIENCE_S = 90.0  # other tests may hold the cores


class Ears:
    def __init__(self, client):
        self._client = client
        self.heard = []

    def until(self, event, patience_s=PATIENCE_S, **data):
        """The data of the next event of that name with these values, and its status."""
        while True:
            name, told = self._client.receive(timeout=patience_s)
            self.heard.append((name, told))
            if name == event and data.items() <= told["data"].items():
                return told["status"], told["data"]

    def names(self):
        return [name for name, _ in self.heard]


@contextmanager
def listening(served):
    with socketio.SimpleClient() as client:
        client.connect(served.url, headers={"Authorization": served.token})
        yield Ears(client)
