#!/usr/bin/env bash
# Makes every system call of every hook and of `muster check` fail, one at a time, and prints the table: how
# each run ended, and what was wrong. With STEP it tries each STEP-th call only, from number START (0).
#
#   tools/call-faults.sh [STEP [START]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset dev >/dev/null
cmake --build --preset dev --target test_calls >/dev/null
MUSTER_CALL_STEP=${1:-1} MUSTER_CALL_START=${2:-0} build/dev/tests/test_calls --gtest_filter='*CallFault*'
