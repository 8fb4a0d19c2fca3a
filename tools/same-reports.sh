#!/usr/bin/env bash
# Shows that two builds of muster say the same about every node of the tests:
#   tools/same-reports.sh OLD_BUILD NEW_BUILD [FOLDER]
# A build is a folder with bin/muster; the old one also has bin/muster-node. Each runs `muster check
# --format json -v` in every context on the recorded nodes (tests/nodes/simulated) and on the written
# ones, healthy and with each single fault. Compared is everything but how long it took, when it
# started and the version. With FOLDER the reports stay there, and those of the old build that are
# there already are not made again. Run it before and after a change that shall change no verdict.
# Prints every difference, and exits 1 if there is one.
set -euo pipefail

if [[ $# -lt 2 || ! -x $1/bin/muster || ! -x $1/bin/muster-node || ! -x $2/bin/muster ]]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 64
fi
old=$(realpath "$1")/bin new=$(realpath "$2")/bin
repository=$(dirname "$(dirname "$(realpath "$0")")")
# Nodes are thousands of small files: in memory they are written and removed 20 times as fast.
work=$(mktemp --directory "${TMPDIR:-/dev/shm}/muster-same-XXXXXX")
trap 'rm -rf "$work"' EXIT
reports=${3:-$work/reports}
mkdir -p "$reports/old" "$reports/new"
tree=$work/node state=$work/state

# A program's report on a node in every context, and its exit status, into a file: the file, the
# program, then the arguments that name the node.
report() {
  local to=$1 muster=$2 context status
  shift 2
  for context in manual prolog epilog periodic boot; do
    status=0
    "$muster" check --format json -v --context "$context" "$@" 2>&1 || status=$?
    echo "$context: exit status $status"
  done | sed -E -e 's/("duration_ms": ?)[0-9.e+-]+/\10/g' \
    -e 's/("(started|muster)": ?)"[^"]*"/\1""/g' -e "s|$work|/work|g" >"$to"
}

# Both programs' reports on a node: its name, then its arguments. State begins anew each time.
judge() {
  local name=$1
  shift
  [[ -s $reports/old/$name ]] || report "$reports/old/$name" "$old/muster" "$@"
  rm -rf "$state"
  report "$reports/new/$name" "$new/muster" "$@"
}

for file in "$repository"/tests/nodes/simulated/*.json; do
  judge "recorded $(basename "$file" .json)" --snapshot "$file"
done

"$old/muster-node" list >"$work/list"
nodes=$(sed -n '/^nodes:/,/^faults:/s/^  \([^ ]*\).*/\1/p' "$work/list")
faults=$(sed -n '/^faults:/,$s/^  \([^ ]*\).*/\1/p' "$work/list")
for node in $nodes; do
  for fault in healthy $faults; do
    rm -rf "$tree" "$state"
    # Not every node has what a fault changes.
    [[ $fault == healthy ]] && wrong=() || wrong=(--fault "$fault")
    "$old/muster-node" render "$node" "$tree" "${wrong[@]}" >"$work/said" 2>&1 || continue
    judge "$node $fault" --root "$tree" --state "$state" --nvml "$tree/nvml/libnvidia-ml.so.1"
  done
done

echo "$(find "$reports/new" -type f | wc -l) nodes in 5 contexts each"
diff -r "$reports/old" "$reports/new" && echo 'no difference'
