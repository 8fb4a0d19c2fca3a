#!/usr/bin/env bash
# Makes a tarball, a .deb and a .rpm for this machine's architecture, whose programs need nothing but
# glibc 2.34 (Ubuntu 22.04, RHEL 9 and later), and muster.spdx.json, which lists the linked libraries.
#
#   tools/package.sh [--test] [DIR]    DIR is the destination, by default build/package/packages
#
# --test unpacks the tarball in an empty root and runs it there (as root).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

test=no
if [[ ${1:-} == --test ]]; then
  test=yes
  shift
fi
if [[ $# -gt 1 || ${1:-} == -* ]]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
  exit 64
fi
build=build/package
out=${1:-$build/packages}
mkdir -p "$out"

tools/install-deps.sh package
tools/archives.sh "$build/archives"

options=(-DBUILD_TESTING=OFF -DMUSTER_MICRO=OFF -DMUSTER_SELF_CONTAINED=ON -DMUSTER_ARCHIVES="$PWD/$build/archives")
if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake --preset release -B "$build" "${options[@]}" >/dev/null
cmake --build "$build"
tools/sbom.sh "$build" >"$out/muster.spdx.json"

made=$(mktemp --directory)
trap 'rm -rf "$made"' EXIT
for kind in TGZ DEB RPM; do
  prefix=/usr
  [[ $kind != TGZ ]] || prefix=/ # unpacked anywhere
  cpack --config "$build/CPackConfig.cmake" -G "$kind" -B "$made" \
    -D CPACK_PACKAGING_INSTALL_PREFIX="$prefix" >"$made/log" 2>&1 || {
    cat "$made/log" >&2
    exit 1
  }
done
find "$made" -maxdepth 1 \( -name '*.tar.gz' -o -name '*.deb' -o -name '*.rpm' \) -exec cp {} "$out" \;
ls -l "$out"

if [[ $test == yes ]]; then
  tests/install/package_test.sh "$made"/*.tar.gz tests/nodes/simulated
fi
