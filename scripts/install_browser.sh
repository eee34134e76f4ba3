#!/usr/bin/env bash
# install_browser.sh: a Chromium for the tests that need a real browser, from the system's packages.
set -euo pipefail

command -v chromium >/dev/null && exit 0

stop() {
    printf '%s\n' "$@" >&2
    exit 1
}

command -v apt-get >/dev/null ||
    stop "The tests drive a real browser, and there is no 'chromium' here: install it, then try again."
[ "$(id -u)" = 0 ] ||
    stop "The tests drive a real browser, and there is none. Run this, then try again:" \
        "    sudo apt-get install chromium"
echo "Installing chromium ..."
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium
