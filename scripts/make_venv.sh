#!/usr/bin/env bash
# make_venv.sh FOLDER REQUIREMENT [PYTHON]: a virtual environment with this checkout installed in it.
set -euo pipefail
folder=$1 requirement=$2 python=${3:-python3}

stop() {
    printf '%s\n' "$@" >&2
    exit 1
}

command -v "$python" >/dev/null ||
    stop "There is no '$python' here. Modeldyno needs Python 3.11 or newer:" \
        "install one, or name yours: make PYTHON=/path/to/python3 ..."

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    stop "Modeldyno needs Python 3.11 or newer, and '$python' is $version." \
        "Install a newer one, and name it: make PYTHON=python3.12 ..."

# Debian and Ubuntu ship Python without the part that makes virtual environments.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    package=python$version-venv
    command -v apt-get >/dev/null ||
        stop "'$python' cannot make virtual environments: its modules venv or ensurepip are missing."
    [ "$(id -u)" = 0 ] ||
        stop "'$python' cannot make virtual environments. Run this, then try again:" \
            "    sudo apt-get install $package"
    echo "Installing $package ..."
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package"
fi

echo "Installing $requirement into $folder (a minute or two the first time) ..."
[ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
"$folder/bin/python" -m pip install -qq --disable-pip-version-check --no-compile \
    -c constraints.txt -e "$requirement"
# pip would compile one file after the other, and the tests of every package, too. Workers may not
# write beside their engine, so what is not compiled now would be compiled in each of them again.
packages=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$folder/bin/python" -m compileall -qq -j 0 -x '/tests/' "$packages" src ||
    true # templates in some packages are no Python
