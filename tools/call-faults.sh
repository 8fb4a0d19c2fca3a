#!/usr/bin/env bash
# Spoils every system call of every hook and of `muster check`, one at a time, and prints the table:
# what each run ended with, and whatever was wrong. STEP (1) tries each STEP-th call only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset dev >/dev/null
cmake --build --preset dev --target test_calls >/dev/null
MUSTER_CALL_STEP=${1:-1} build/dev/tests/test_calls --gtest_filter='*CallFault*'
