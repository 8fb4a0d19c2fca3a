#!/usr/bin/env bash
# On a fresh machine: installs what the tests need, builds, and tests. Modes:
#   full   (the default) the tests of functions under the sanitizers and a short run of the fuzz
#          targets, then the tests of whole programs, built by the oldest compiler
#   quick  the tests of functions, and all lints but cppcheck, by the usual compiler
#   all    every test by the usual compiler, a file at a time (`dev`)
#   deep   clang-tidy on every file first, then `full`, then all of `muster` under the thread
#          sanitizer, every system call of every hook and of `muster check` spoilt in turn (hours),
#          the packages, and muster for arm64 under QEMU
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-full}
if [[ $# -gt 1 || ! $mode =~ ^(full|quick|all|deep)$ ]]; then
  echo "usage: tools/test.sh [full|quick|all|deep]" >&2
  exit 64
fi

# run_preset NAME [OPTION...]: configures, builds and tests one preset.
run_preset() {
  local preset=$1
  shift
  if command -v ccache >/dev/null; then set -- "$@" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  printf '\n== %s, configure and build (%s)\n' "$preset" "$(date +%T)"
  cmake --preset "$preset" "$@" >/dev/null
  cmake --build --preset "$preset"
  printf '\n== %s, test (%s)\n' "$preset" "$(date +%T)"
  ctest --preset "$preset"
}

tools/install-deps.sh test
[[ $mode == quick ]] || tools/guest-kernel.sh build/guest-kernel || echo "test: the test rdma_guest will be skipped"

if [[ $mode == deep ]]; then tools/tidy.sh; fi
if [[ $mode == quick ]]; then
  run_preset quick
elif [[ $mode == all ]]; then
  run_preset dev
else
  run_preset asan
  run_preset tsan
  # What the usual compiler says is seen by whoever works here, and in `tsan`.
  if command -v g++-11 >/dev/null; then own=oldest; else own=dev; fi
  run_preset "$own"
fi
if [[ $mode == deep ]]; then
  cmake --build --preset tsan --target test_app
  ctest --test-dir build/tsan --output-on-failure --tests-regex '^app(_slow)?$'
  printf '\n== every system call spoilt (%s)\n' "$(date +%T)"
  tools/call-faults.sh
  tools/package.sh --test
  tools/test-arm64.sh "build/$own/bin/muster"
fi
