#!/usr/bin/env bash
# Makes every system call of every hook and of `muster check` fail, one at a time, and prints the table: how
# each run ended, and what was wrong. STEP (1) tries each STEP-th call only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset dev >/dev/null
cmake --build --preset dev --target test_calls >/dev/null
MUSTER_CALL_STEP=${1:-1} build/dev/tests/test_calls --gtest_filter='*CallFault*'
