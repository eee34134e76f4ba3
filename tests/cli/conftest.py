import signal
import sys

import pytest

from modeldyno.cli.main import run
from tests.terminal import Ended


@pytest.fixture
def typed(monkeypatch, capsys):
    """The command inside the test's own process: quick, for what ends before a worker starts."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def type_(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["modeldyno", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            run()
        out, err = capsys.readouterr()
        return Ended(int(caught.value.code or 0), out, err)

    yield type_
    for number, handler in handlers.items():
        signal.signal(number, handler)
