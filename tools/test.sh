#!/usr/bin/env bash
# On a fresh machine: installs what the tests need, builds, and runs every test. Modes:
#   full   (the default) the sanitizers and a short run of the fuzz targets, then every test of `dev`
#   quick  every test of `dev`
#   deep   clang-tidy on every file first, then `full`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-full}
if [[ $# -gt 1 || ! $mode =~ ^(full|quick|deep)$ ]]; then
  echo "usage: tools/test.sh [full|quick|deep]" >&2
  exit 64
fi

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

# Configures, builds and tests one preset.
run_preset() {
  printf '\n== %s (%s)\n' "$1" "$(date +%T)"
  cmake --preset "$1" "${launcher[@]}" >/dev/null
  cmake --build --preset "$1"
  ctest --preset "$1"
}

tools/install-deps.sh test

if [[ $mode == deep ]]; then tools/tidy.sh; fi
if [[ $mode != quick ]]; then
  run_preset asan
  run_preset tsan
  run_preset fuzz
fi
run_preset dev
