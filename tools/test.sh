#!/usr/bin/env bash
# Installs what the tests need, builds, and tests. Modes:
#   full   (default) tests of functions under the sanitizers with a short run of the fuzz targets, the
#          thread sanitizer, then tests of whole programs
#   quick  tests of functions and all lints but cppcheck
#   all    every test with the preset dev
#   deep   hours: clang-tidy on every file, then full, then cppcheck, g++ 11, the guest with software RDMA,
#          `muster` under the thread sanitizer, every system call made to fail, deploy/, the packages, and
#          arm64 under QEMU
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-full}
if [[ $# -gt 1 || ! $mode =~ ^(full|quick|all|deep)$ ]]; then
  echo "usage: tools/test.sh [full|quick|all|deep]" >&2
  exit 64
fi

# run_preset NAME: configures, builds and tests one preset.
run_preset() {
  local preset=$1 options=()
  if command -v ccache >/dev/null; then options=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  printf '\n== %s, configure and build (%s)\n' "$preset" "$(date +%T)"
  cmake --preset "$preset" "${options[@]}" >/dev/null
  # A compiler of a large unit needs up to 1.6 GB.
  cmake --build --preset "$preset" --parallel "$(nproc)"
  printf '\n== %s, test (%s)\n' "$preset" "$(date +%T)"
  ctest --preset "$preset"
}

tools/install-deps.sh test
if [[ $mode != quick ]]; then
  tools/kubernetes-tools.sh build/kubernetes-tools || echo "test: the test kubernetes_chart will be skipped"
fi

case $mode in
  quick) run_preset quick ;;
  all) run_preset dev ;;
  *)
    [[ $mode == full ]] || tools/tidy.sh
    run_preset asan
    run_preset tsan
    run_preset programs
    ;;
esac

if [[ $mode == deep ]]; then
  tools/install-deps.sh deploy
  tools/kube-apiserver.sh build/kube-apiserver || echo "test: the test kubernetes_server will be skipped"
  tools/package.sh --test # for the tests of deploy/
  tools/package-cyclecloud.sh build/package/packages
  tools/guest-kernel.sh build/guest-kernel || echo "test: the test rdma_guest will be skipped"
  run_preset oldest
  ctest --test-dir build/programs --output-on-failure --tests-regex '^cppcheck$'
  cmake --build --preset tsan --target test_app
  ctest --test-dir build/tsan --output-on-failure --tests-regex '^app(_slow)?$'
  printf '\n== every system call made to fail (%s)\n' "$(date +%T)"
  tools/call-faults.sh
  tools/test-arm64.sh build/programs/bin/muster
fi
