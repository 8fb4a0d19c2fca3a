#!/usr/bin/env bash
# Builds muster for arm64 (Grace) on another Debian machine, and runs it there under QEMU: of every recorded
# node it must say what this machine's own program says, to the letter.
#
#   tools/test-arm64.sh MUSTER [DIR]
#
#   MUSTER   this machine's own program, as build/dev/bin/muster
#   DIR      where the libraries and headers of arm64 are unpacked and stay, by default build/arm64-root
#
# Installs the compiler and QEMU on this machine, and nothing of arm64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
  exit 64
fi
native=$(realpath "$1")
mkdir -p "${2:-build/arm64-root}"
root=$(realpath "${2:-build/arm64-root}")
build=build/arm64

tools/install-deps.sh arm64
if [[ ! -f $root/complete ]]; then
  mirror=$(tools/debian-mirror.sh)
  # Without Open MPI, which is half of all, there is no MPI back end.
  libraries=$(tools/install-deps.sh libraries | grep --invert-match openmpi | paste --serial --delimiters=,)
  # Nothing of arm64 runs here, so that what debootstrap would set up is unpacked and no more.
  debootstrap --foreign --arch=arm64 --variant=minbase --include="libc6-dev,$libraries" \
    "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$root" "$mirror"
  for package in "$root"/var/cache/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --directory "$root"
  done
  touch "$root/complete"
fi

cmake --preset release -B "$build" -DCMAKE_TOOLCHAIN_FILE=cmake/arm64.cmake -DMUSTER_SYSROOT="$root" \
  -DBUILD_TESTING=OFF -DMUSTER_MICRO=OFF >/dev/null
cmake --build "$build"

work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
failures=0

# check CONTEXT SNAPSHOT PROGRAM...: its report, without the times and the version, and its exit status.
check() {
  local context=$1 snapshot=$2 status=0
  shift 2
  "$@" check --format json -v --context "$context" --snapshot "$snapshot" 2>&1 || status=$?
  echo "exit status $status"
}
without_times() {
  sed -E -e 's/("duration_ms": ?)[0-9.e+-]+/\10/g' -e 's/("(started|muster)": ?)"[^"]*"/\1""/g'
}
emulated=(qemu-aarch64-static -L "$root" "$build/bin/muster")
for snapshot in tests/nodes/simulated/*.json; do
  for context in manual prolog epilog periodic boot; do
    check "$context" "$snapshot" "$native" | without_times >"$work/native"
    check "$context" "$snapshot" "${emulated[@]}" | without_times >"$work/arm64"
    if grep --quiet '"verdict"' "$work/native" && diff "$work/native" "$work/arm64"; then
      echo "ok: $(basename "$snapshot"), $context: $(tail -n 1 "$work/arm64")"
    else
      echo "not ok: $(basename "$snapshot"), $context: arm64 says something else" >&2
      failures=1
    fi
  done
done

# The probes, on whatever machine this is: a verdict, whichever.
status=0
"${emulated[@]}" check --profile generic || status=$?
if [[ $status -gt 2 ]]; then
  echo "not ok: a check of this machine ended with $status, which is no verdict" >&2
  failures=1
fi
exit "$failures"
