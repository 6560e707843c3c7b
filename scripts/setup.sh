#!/usr/bin/env bash
# Installs what building ("build") or testing ("test") needs and is not here; says what it does, and what is missing
# where it may not install. Rust itself is left to you: https://rustup.rs
set -eu
cd "$(dirname "$0")/.."

apt_install() { # command, package, why
    command -v "$1" >/dev/null 2>&1 && return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "setup: installing Debian package $2 ($3)"
        if ! { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" ||
            {
                apt-get update -qq &&
                    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2"
            }
        } >/dev/null 2>&1; then
            echo "setup: could not install $2" >&2
            return 1
        fi
    else
        echo "setup: $1 is missing ($3). As root: apt-get install $2" >&2
        return 1
    fi
}

if ! command -v cargo >/dev/null 2>&1; then
    echo "setup: Rust is missing. Install rustup from https://rustup.rs;" \
        "it fetches the version in rust-toolchain.toml." >&2
    exit 1
fi
case "${1:-build}" in
build) apt_install cc gcc "the linker and C compiler that Rust and the zstd and xz libraries need" ;;
test)
    # The report's browser test skips itself, saying so, where there is no browser.
    apt_install chromium chromium "the report is opened in it" || true
    apt_install openssl openssl "certificates are made with it, as a document shows" || true
    # So do the tests of served volumes where a client is missing.
    # Newer Debians have nbdfuse in a package of its own.
    for client in nbdinfo:libnbd-bin nbdsh:python3-libnbd nbdfuse:nbdfuse qemu-img:qemu-utils fio:fio \
        mke2fs:e2fsprogs; do
        apt_install "${client%:*}" "${client#*:}" "volumes are served to it" || true
    done
    apt_install fusermount3 fuse3 "ordinary users mount with it" || true
    ;;
*)
    echo "usage: setup.sh build|test" >&2
    exit 2
    ;;
esac
