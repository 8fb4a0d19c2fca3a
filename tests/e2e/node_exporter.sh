#!/usr/bin/env bash
# node_exporter accepts the metrics of both programs in one folder, and a sick node stays sick there.
set -euo pipefail

muster=$1
bench=$2
node=$3 # the program that writes simulated nodes
exporter=$(command -v prometheus-node-exporter || command -v node_exporter) || {
  echo "node_exporter: it is not installed"
  exit 77
}
work=$(mktemp --directory)
mkdir "$work/metrics"
pid=
trap '[[ -z $pid ]] || kill "$pid"; rm -rf "$work"' EXIT

fail() {
  echo "node_exporter: $*" >&2
  exit 1
}

# write NAME PROGRAM... writes a file of metrics. Any verdict is fine.
write() {
  local file=$work/metrics/$1.prom
  shift
  "$@" --format prometheus --output "$file" || [[ $? -le 2 ]] || fail "$* failed"
  [[ -s $file ]] || fail "$* wrote nothing"
}

"$node" render nd96isr_h100_v5 "$work/tree" --fault port_down
check=("$muster" check --root "$work/tree" --profile nd96isr_h100_v5)
write check "${check[@]}"
write prolog "${check[@]}" --context prolog
write all_reduce "$bench" all_reduce --backend sim --sim nodes=4 --min-busbw '1 GB/s'
write broadcast "$bench" broadcast --backend sim --sim nodes=4
write locate "$bench" locate --backend sim --sim nodes=4
write node "$bench" node --profile generic --only host.stream --budget 20s

get() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  cat <&3
}

for _ in 1 2 3 4 5; do
  port=$((20000 + RANDOM % 20000))
  "$exporter" --web.listen-address="127.0.0.1:$port" --collector.disable-defaults \
    --collector.textfile --collector.textfile.directory="$work/metrics" >"$work/log" 2>&1 &
  pid=$!
  for _ in $(seq 100); do
    get >"$work/page" 2>/dev/null && [[ -s $work/page ]] && break 2
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
done
[[ -s $work/page ]] || fail "no answer: $(cat "$work/log")"

grep -q '^node_textfile_scrape_error 0' "$work/page" || fail "a file is refused: $(cat "$work/log")"
if grep -Ei 'inconsistent|duplicate|level=error' "$work/log"; then fail "it complains"; fi
written=$(cat "$work"/metrics/*.prom | grep -c '^muster_')
shown=$(grep -c '^muster_' "$work/page")
[[ $written == "$shown" ]] || fail "it shows $shown of $written series"
grep -q '^muster_verdict{context="manual"} 3$' "$work/page" || fail "the sick node is not sick"
grep -q '^muster_bench_verdict{command="all_reduce"} 0$' "$work/page" || fail "no verdict of the job"
