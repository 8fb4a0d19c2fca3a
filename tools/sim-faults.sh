#!/usr/bin/env bash
# Prints what muster-bench finds on models of Azure's ND sizes: each fault of the model on 1, 2, 3 and 16 nodes.
#
#   tools/sim-faults.sh [MUSTER-BENCH]
#
# One line per run: found, missed (the fault is too small for the limit), or wrong. Exits with 1 if a healthy model
# is not healthy, if a fault that must be found is missed, or if a node without a fault is accused.
set -euo pipefail
bench=${1:-$(dirname "${BASH_SOURCE[0]}")/../build/dev/bin/muster-bench}

profiles=(nd96asr_v4 nd96amsr_a100_v4 nd96isr_h100_v5 nd96isr_h200_v5 nd96isr_mi300x_v5 nd96asr_mi200_v4 nd40rs_v2
  nd128isr_ndr_gb200_v6 nd128isr_gb300_v6)
# the fault; the node that may be accused; the required result
faults=(
  "none - healthy"
  "slow_hca:1:0:0.4 sim1 found"
  "slow_node:1:0.1 sim1 found"
  "slow_node:1:0.4 sim1 found"
  "slow_node:1:0.9 sim1 any"
  "slow_link:0:1:0.4 - any"
  "tcp_fallback - found"
  "wrong:3:1000 sim0 found"
  "hang:3:1 sim0 found"
)

failures=0

# The result of a run as one word, and the accused nodes.
run() {
  local profile=$1 nodes=$2 fault=$3 status=0
  local model="nodes=$nodes"
  [[ $fault == none ]] || model+=",fault=$fault"
  # Inside a rack NVLink is used instead.
  [[ ! $fault =~ ^slow_(hca|link) ]] || model+=",domain=1"
  local report
  report=$("$bench" all_reduce --backend sim --sim "$model" --profile "$profile" --format json --warm-up 0 \
    --iterations 3 --operation-deadline 1s 2>/dev/null) || status=$?
  accused=$(sed -n 's/.*"accused": *\[\([^]]*\)\].*/\1/p' <<<"${report//$'\n'/}" | tr -d '" ')
  case $status in
    0) verdict=healthy ;;
    1) verdict=found ;;
    *) verdict=undecided ;;
  esac
}

printf '%-22s %5s  %-18s %-10s %s\n' profile nodes fault verdict accused
for profile in "${profiles[@]}"; do
  for nodes in 1 2 3 16; do
    for each in "${faults[@]}"; do
      read -r fault guilty wanted <<<"$each"
      [[ $nodes -gt 1 || $fault == none || $guilty == sim0 ]] || continue # the others are between nodes
      run "$profile" "$nodes" "$fault"
      shown=$verdict
      [[ $fault != none && $verdict == healthy ]] && shown=missed
      note=''
      # Some profiles have no limit for one node.
      [[ $wanted == any || $verdict == "$wanted" || $nodes$verdict == 1undecided ]] || note='  WRONG VERDICT'
      [[ -z $accused || $accused == "$guilty" ]] || note+='  INNOCENT ACCUSED'
      [[ -z $note ]] || failures=$((failures + 1))
      printf '%-22s %5s  %-18s %-10s %s%s\n' "$profile" "$nodes" "$fault" "$shown" "${accused:--}" "$note"
    done
  done
done
if [[ $failures -gt 0 ]]; then
  echo "sim-faults: $failures lines are wrong" >&2
  exit 1
fi
