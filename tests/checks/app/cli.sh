#!/usr/bin/env bash
# Behaviour of a whole process: exit statuses, standard output that cannot be written, deadlines.
# usage: cli.sh PATH_OF_MUSTER
set -uo pipefail

muster=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

mkdir -p "$work"/root/proc/sys/kernel "$work"/root/dev
echo node-7 >"$work"/root/proc/sys/kernel/hostname

# expect STATUS PATTERN COMMAND...: the exit status, and a pattern in what it prints on either stream.
expect() {
  local status=$1 pattern=$2 output rc
  shift 2
  output=$("$@" 2>&1)
  rc=$?
  if [[ $rc != "$status" || ! $output =~ $pattern ]]; then
    printf 'FAILED: %s\n  expected status %s and /%s/\n  got status %s and: %s\n' \
      "$*" "$status" "$pattern" "$rc" "$output"
    failures=$((failures + 1))
  fi
}

# shellcheck disable=SC2317
shell() { bash -c "$1" "$muster"; }
here=("$muster" check --root "$work/root" --profile generic)

expect 0 '^muster 0\.' "$muster" --version
expect 0 'Usage: muster check' "$muster" check --help
expect 64 'did you mean check' "$muster" chek
expect 64 'did you mean --format' "$muster" check --fromat json
expect 64 'expected a command' "$muster"

# Usage is judged before configuration, and configuration before the node.
expect 64 'no check matches' "$muster" check --profile /nonexistent.yaml --only nothing.at_all
expect 78 'nonexistent' "$muster" check --profile /nonexistent.yaml --root /nonexistent
expect 78 'tolerance' "${here[@]}" --set host.memory.tolerence=3%
expect 78 'nd96isr_h100_v5' "$muster" profiles show nd96isr_h100_v55

# A report that cannot be written is not a verdict.
expect 2 'No space left on device' shell "\"\$0\" list >/dev/full"
expect 2 'Bad file descriptor' shell "\"\$0\" list >&-"
# shellcheck disable=SC2016
expect 2 '^$' shell 'exec 3> >(exit); wait $!; "$0" list >&3'
expect 2 'No such file or directory' "${here[@]}" --output "$work/missing/report"

# The other names of standard output refer to the open file, whose contents stay.
for name in - /dev/stdout /dev/fd/1; do
  echo begun >"$work/log"
  "${here[@]}" --output "$name" >>"$work/log" 2>&1
  expect 0 '^begun.*node-7 is unknown' cat "$work/log"
done

# A node of which nothing is known is unknown, now and from its snapshot.
expect 2 'node-7 is unknown' "${here[@]}"

# For node-problem-detector, a run without a verdict is a separate condition, on standard output.
expect 2 '^unknown: ' "${here[@]}" --format npd
expect 1 '^unknown: ' "${here[@]}" --format npd_undecided
sick=$(dirname "$0")/../../nodes/simulated/nd96isr_h100_v5_sick.json
expect 1 '^unhealthy: ' "$muster" check --snapshot "$sick" --format npd
expect 0 '^unhealthy: ' "$muster" check --snapshot "$sick" --format npd_undecided
# shellcheck disable=SC2016
expect 1 '^muster: unknown profile' shell '"$0" check --format npd_undecided --profile nonexistent 2>/dev/null'
expect 0 '"node-7"' "$muster" snapshot --root "$work/root" --output /dev/stdout
expect 2 'node-7 is unknown' shell \
  "\"\$0\" snapshot --root $work/root | \"\$0\" check --profile generic --snapshot -"

expect 2 'no report within 200 ms' shell "sleep 3 | \"\$0\" check --snapshot - --deadline 200ms"

# A kernel log that never ends a line costs its own section, and the deadline holds.
mkfifo "$work/root/dev/kmsg"
start=$(date +%s%N)
expect 2 'node-7 is unknown' "${here[@]}" --deadline 2s
took_ms=$((($(date +%s%N) - start) / 1000000))
if ((took_ms > 2500)); then
  echo "FAILED: --deadline 2s took $took_ms ms"
  failures=$((failures + 1))
fi

# The run still ends if nothing reads the report.
mkfifo "$work/unread"
expect 2 'no report within 500 ms' "${here[@]}" --output "$work/unread" --deadline 500ms

exit $((failures > 0))
