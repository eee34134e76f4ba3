"""``python -m modeldyno``."""

from __future__ import annotations

from modeldyno.cli.main import run

if __name__ == "__main__":
    run()
