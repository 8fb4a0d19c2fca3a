#!/usr/bin/env bash
# First steps on a fresh machine: installs build dependencies, builds both programs, checks this machine and a
# simulated sick ND H100 node, and runs a benchmark between two processes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n\n' "$*"; }

# Runs a command whose exit status is a verdict: 0 healthy, 1 unhealthy, 2 could not decide.
verdict_of() {
  local status=0
  "$@" || status=$?
  if [[ $status -gt 2 ]]; then
    echo "quickstart: '$*' ended with status $status, which is not a verdict" >&2
    exit "$status"
  fi
  printf '\nexit status %d\n' "$status"
  return "$status"
}

say "Installing what the build needs"
tools/install-deps.sh build

say "Building"
cmake --preset first -DBUILD_TESTING=OFF -DMUSTER_MICRO=OFF
cmake --build --preset first --parallel "$(nproc)" --target muster muster-bench
muster=build/first/bin/muster
bench=build/first/bin/muster-bench

say "Is this machine fit? ($muster check)"
verdict_of "$muster" check || true

sick=tests/nodes/simulated/nd96isr_h100_v5_sick.json
say "Is this simulated ND H100 node fit? ($muster check --snapshot $sick)"
status=0
verdict_of "$muster" check --snapshot "$sick" || status=$?
if [[ $status -ne 1 ]]; then
  echo "quickstart: the sick node was not called unhealthy" >&2
  exit 1
fi

say "What do two processes of this machine reach together? ($bench all_reduce --local 2)"
verdict_of "$bench" all_reduce --local 2 --backend tcp --max 1MiB || true

say "Where to go from here"
cat <<EOF
  export PATH=$PWD/build/first/bin:\$PATH
  muster list                  every check
  muster explain ib.rate       what one looks at, its limits and where they come from
  muster profiles              the kinds of node it knows
  muster-bench node            the active tests of this node
  tools/test.sh                every test
EOF
