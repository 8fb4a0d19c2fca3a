#!/usr/bin/env bash
# Cross-compiles muster for arm64 (Grace) and runs it under QEMU. Its reports on the simulated nodes must equal those of
# this machine's own program.
#
#   tools/test-arm64.sh MUSTER [DIR]
#
#   MUSTER   this machine's own program, for example build/dev/bin/muster
#   DIR      where arm64 libraries and headers are unpacked and kept, by default build/arm64-root
#
# Installs the compiler and QEMU on this machine.
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
  # Without Open MPI, which is half of the download, there is no MPI back end.
  libraries=$(tools/install-deps.sh libraries | grep --invert-match openmpi | paste --serial --delimiters=,)
  # Unpacks what debootstrap would set up, because arm64 programs cannot run here.
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

# check CONTEXT SNAPSHOT PROGRAM...: prints its report without times and version, and its exit status.
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
      echo "not ok: $(basename "$snapshot"), $context: arm64 reports something else" >&2
      failures=1
    fi
  done
done

# The probes on this machine: any verdict will do.
status=0
"${emulated[@]}" check --profile generic || status=$?
if [[ $status -gt 2 ]]; then
  echo "not ok: a check of this machine ended with $status, which is not a verdict" >&2
  failures=1
fi
exit "$failures"
