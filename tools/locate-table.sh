#!/usr/bin/env bash
# Prints what `muster-bench locate` finds on simulated clusters, how often it accuses a
# healthy part, and in how many rounds.
#
#   tools/locate-table.sh [RUNS [SEED [ROWS]]]
#
# RUNS healthy clusters of each size (10000), a tenth of that of each fault, and a tenth of that for 4,096 nodes. Seeds
# begin with SEED (1). ROWS: only rows whose names begin with this, such as "none" for healthy clusters. LOCATE_TABLE is
# the program (default build/dev/tests/locate_table). Exits with 1 if a healthy part is accused.
set -euo pipefail
exec "${LOCATE_TABLE:-$(dirname "${BASH_SOURCE[0]}")/../build/dev/tests/locate_table}" "${1:-10000}" "${2:-1}" "${3:-}"
