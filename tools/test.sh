#!/usr/bin/env bash
# On a fresh machine: installs what the tests need, builds, and runs every test: sanitizers, static
# analysis, then all tests of the `dev` preset. `tools/test.sh quick` runs the last part only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-full}
if [[ $# -gt 1 || ($mode != full && $mode != quick) ]]; then
  echo "usage: tools/test.sh [full|quick]" >&2
  exit 64
fi

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

say() { printf '\n== %s (%s)\n' "$*" "$(date +%T)"; }

say "Installing what the tests need"
tools/install-deps.sh test

if [[ $mode == full ]]; then
  for preset in asan tsan; do
    say "Building and testing with sanitizers: $preset"
    cmake --preset "$preset" "${launcher[@]}" >/dev/null
    cmake --build --preset "$preset"
    ctest --preset "$preset"
  done

  say "Short fuzzing"
  cmake --preset fuzz >/dev/null
  cmake --build --preset fuzz
  ctest --preset fuzz

  say "clang-tidy on every file"
  tools/tidy.sh
fi

say "Building and testing: dev"
cmake --preset dev "${launcher[@]}" >/dev/null
cmake --build --preset dev
ctest --preset dev
