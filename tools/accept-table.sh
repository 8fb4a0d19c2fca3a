#!/usr/bin/env bash
# Prints the verdicts of `muster accept` on simulated fleets of 128 nodes with a soak of 24 hours: how often each
# fault is found, and how often a good node is rejected.
#
#   tools/accept-table.sh [RUNS [SEED]]
#
# RUNS (1000) fleets with 6 faults each and 6.5 failures per 1,000 days of a good node, and as many without failures. Seeds
# begin with SEED (1). ACCEPT_TABLE is the program (default build/dev/tests/accept_table). Exits with 1 if a fault is
# missed or too many good nodes are rejected.
set -euo pipefail
exec "${ACCEPT_TABLE:-$(dirname "${BASH_SOURCE[0]}")/../build/dev/tests/accept_table}" "${1:-1000}" "${2:-1}"
