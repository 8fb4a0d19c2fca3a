#!/usr/bin/env bash
# The table of docs/locate.md: what `muster-bench locate` finds on models of clusters, whom it accuses falsely,
# and in how many rounds.
#
#   tools/locate-table.sh [RUNS] [LOCATE_TABLE]
#
# RUNS healthy clusters of each size (10000), a tenth of it of each fault, and a tenth of that for 4,096 nodes. Ends
# with 1 where somebody innocent is accused.
set -euo pipefail
table=${2:-$(dirname "${BASH_SOURCE[0]}")/../build/dev/tests/locate_table}
exec "$table" "${1:-10000}"
