#!/usr/bin/env bash
# Compares what two builds of muster report about every simulated node:
#   tools/same-reports.sh [--texts] OLD_BUILD NEW_BUILD [FOLDER]
# A build is a folder with bin/muster; the old one also has bin/muster-node. Each runs `muster check
# --format json -v` in every context on every simulated node, healthy and with each single fault. Durations, start times,
# versions and, unless --texts is given, the room on this machine's disks and the texts of messages are ignored. Reports
# are kept in FOLDER, and the old build's there are reused. Prints every difference and exits with 1 if there is one.
set -euo pipefail

texts=false
if [[ ${1:-} == --texts ]]; then
  texts=true
  shift
fi
if [[ $# -lt 2 || ! -x $1/bin/muster || ! -x $1/bin/muster-node || ! -x $2/bin/muster ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 64
fi
old=$(realpath "$1")/bin new=$(realpath "$2")/bin
repository=$(dirname "$(dirname "$(realpath "$0")")")
# In memory, because nodes are thousands of small files.
work=$(mktemp --directory "${TMPDIR:-/dev/shm}/muster-same-XXXXXX")
trap 'rm -rf "$work"' EXIT
reports=${3:-$work/reports}
mkdir -p "$reports/old" "$reports/new"
tree=$work/node state=$work/state

# Writes a program's reports on a node in every context, with exit statuses, into a file: FILE PROGRAM
# ARGUMENT...
report() {
  local to=$1 muster=$2 context status
  shift 2
  for context in manual prolog epilog periodic boot; do
    status=0
    "$muster" check --format json -v --context "$context" "$@" 2>"$work/errors" | jq --compact-output . ||
      status=${PIPESTATUS[0]}
    cat "$work/errors"
    echo "$context: exit status $status"
  done | sed -E -e 's/("duration_ms": ?)[0-9.e+-]+/\10/g' \
    -e 's/("(started|muster)": ?)"[^"]*"/\1""/g' -e "s|$work|/work|g" >"$to"
}

# Makes both programs' reports on a node: NAME ARGUMENT... The state is empty at the start of each.
judge() {
  local name=$1
  shift
  [[ -s $reports/old/$name ]] || report "$reports/old/$name" "$old/muster" "$@"
  rm -rf "$state"
  report "$reports/new/$name" "$new/muster" "$@"
}

for file in "$repository"/tests/nodes/simulated/*.json; do
  judge "$(basename "$file" .json)" --snapshot "$file"
done

"$old/muster-node" list >"$work/list"
nodes=$(sed -n '/^nodes:/,/^faults:/s/^  \([^ ]*\).*/\1/p' "$work/list")
faults=$(sed -n '/^faults:/,$s/^  \([^ ]*\).*/\1/p' "$work/list")
for node in $nodes; do
  for fault in healthy $faults; do
    rm -rf "$tree" "$state"
    # A node may lack the part that a fault changes.
    [[ $fault == healthy ]] && wrong=() || wrong=(--fault "$fault")
    "$old/muster-node" render "$node" "$tree" "${wrong[@]}" >"$work/said" 2>&1 || continue
    judge "$node $fault" --root "$tree" --state "$state" --nvml "$tree/nvml/libnvidia-ml.so.1"
  done
done

echo "$(find "$reports/new" -type f | wc -l) nodes in 5 contexts each"
compared=$reports
if ! $texts; then
  compared=$work/compared
  mkdir -p "$compared/old" "$compared/new"
  for report in "$reports"/{old,new}/*; do
    sed -n '/^{/!p' "$report" >"$compared/${report#"$reports/"}"
    sed -n '/^{/p' "$report" | jq --compact-output --sort-keys \
      'walk(if type == "object" then del(.message, .reason, .profile_evidence) else . end) |
        del(.readings[]? | select(.labels.check == "host.disk"))' >>"$compared/${report#"$reports/"}"
  done
fi
diff -r "$compared/old" "$compared/new" && echo 'no difference'
