#!/bin/sh
# Unpacks antune, installs its packages and gets to know this machine: `sh begin.sh --minutes 55`
# (docs/gpu_first_contact.md). It can be interrupted at any moment, and the next call continues: `.made`, written last in
# antune/ and venv/, has the checksums of the files that they are made from. Other files make them anew.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}

stop() {
    echo "begin.sh: $*" >&2
    exit 2
}

made_from() {
    cat "$1/.made" 2> /dev/null || true
}

archive=$(cksum antune.tar.gz) || stop "antune.tar.gz cannot be read; copy it again"
if [ "$(made_from antune)" != "$archive" ]; then
    rm -rf antune.part
    mkdir antune.part
    tar -xzf antune.tar.gz -C antune.part || stop "antune.tar.gz is damaged; copy it again"
    rm -f antune/.made
    rm -rf antune
    mv antune.part antune
    echo "$archive" > antune/.made
fi

wheels=$(cksum wheels/*) || stop "wheels cannot be read; copy it again"
if [ "$(made_from venv)" != "$wheels" ] || ! venv/bin/python -c '' 2> /dev/null; then
    meant=$(sed -n 's/^# Python //p' wheels/packages.txt) || stop "wheels/packages.txt is missing; copy wheels again"
    found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') ||
        stop "$python cannot be run; install Python $meant, or name it: PYTHON=FILE sh begin.sh"
    [ "$meant" = "$found" ] ||
        stop "the wheels are for Python $meant, and $python is $found; name another, PYTHON=FILE sh begin.sh, or" \
            "pack with --python $found"
    twice=$(ls wheels | sed -n 's/-.*whl$//p' | sort | uniq -d)
    [ -z "$twice" ] || echo "begin.sh: wheels has several versions of these, and the newest is installed:" $twice
    rm -f venv/.made
    rm -rf venv
    "$python" -m venv --system-site-packages venv || stop "a virtual environment cannot be made (see above)"
    venv/bin/python -m pip install -q --disable-pip-version-check --no-index --find-links wheels \
        -r wheels/packages.txt ||
        stop "packages cannot be installed (see above); if a wheel is damaged, copy it again; if one is missing," \
            "pack with --with PACKAGE"
    echo "$wheels" > venv/.made
fi

out=$PWD/contact
cd antune
exec ../venv/bin/python -m antune suite first-contact --out "$out" "$@"
