#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prometheus scrapes the node_exporters of two simulated nodes, evaluates the shipped rules and answers every query
# of the Grafana board.
#
#   fleet.sh SOURCES MUSTER BENCH NODE FAKES
#
# NODE is the program that writes simulated nodes, FAKES the folder of NVIDIA's fake libraries.
set -euo pipefail

sources=$1 muster=$2 bench=$3 node=$4 fakes=$5
for program in prometheus promtool prometheus-node-exporter jq; do
  command -v "$program" >/dev/null || {
    echo "fleet: $program is not installed"
    exit 77
  }
done
for library in cuda/libcuda.so.1 cublas/libcublasLt.so.13; do
  [[ -e $fakes/$library ]] || {
    echo "fleet: $fakes/$library is not built"
    exit 77
  }
done
work=$(mktemp --directory)
pids=()
trap '[[ ${#pids[@]} -eq 0 ]] || kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$work"' EXIT

fail() {
  echo "fleet: $*" >&2
  tail -n 5 "$work"/*.log >&2
  exit 1
}

# write FILE PROGRAM... writes metrics. Any verdict is fine.
write() {
  local file=$1
  shift
  "$@" --format prometheus --output "$file" >"$work/out.log" 2>&1 || [[ $? -le 2 ]] || fail "$* failed"
  [[ -s $file ]] || fail "$* wrote nothing"
}

# The node as it was an hour ago, then with errors on a link and XIDs, so that there are rates to judge.
make_node() {
  local name=$1 tree=$work/$1/tree
  mkdir -p "$work/$name/metrics" "$work/$name/state"
  "$node" render nd96isr_h100_v5 "$tree" "${@:2}"
  local port=$tree/sys/class/infiniband/mlx5_ib1/ports/1
  echo 0 >"$port/hw_counters/rx_corrected_bits_phy"
  local check=("$muster" check --root "$tree" --state "$work/$name/state" --profile nd96isr_h100_v5
    --nvml "$tree/nvml/libnvidia-ml.so.1" --context periodic --values all)
  write "$work/$name/metrics/muster.prom" "${check[@]}"
  awk '{ printf "%.2f %s\n", $1 + 3600, $2 }' "$tree/proc/uptime" >"$work/uptime"
  cp "$work/uptime" "$tree/proc/uptime"
  echo 90 >"$port/counters/symbol_error"
  echo 36000000 >"$port/hw_counters/rx_corrected_bits_phy"
  write "$work/$name/metrics/muster.prom" "${check[@]}"
}

# The series that dcgm-exporter would have for the GPUs that muster names.
imitate_dcgm_exporter() {
  echo '# TYPE DCGM_FI_DEV_GPU_TEMP gauge'
  sed -n 's/^muster_device_info{.*uuid="\(GPU-[^"]*\)".*/DCGM_FI_DEV_GPU_TEMP{UUID="\1"} 45/p' "$1"
}

start_exporter() {
  local name=$1 try
  for try in 1 2 3 4 5; do
    port=$((20000 + RANDOM % 20000))
    prometheus-node-exporter --web.listen-address="127.0.0.1:$port" --collector.disable-defaults \
      --collector.infiniband --path.sysfs="$work/$name/tree/sys" \
      --collector.textfile --collector.textfile.directory="$work/$name/metrics" >"$work/$name.log" 2>&1 &
    sleep 0.3
    if kill -0 $! 2>/dev/null; then
      pids+=($!)
      return
    fi
  done
  fail "node_exporter does not start after $try tries"
}

query() { promtool query instant "http://127.0.0.1:$port" "$1" 2>&1; }

# Waits for a query that has an answer.
wait_for() {
  local try
  for try in $(seq 100); do
    kill -0 "${pids[-1]}" || fail "Prometheus ended"
    query "$1" | grep -q '=>' && return
    sleep 0.3
  done
  fail "no answer to $1 after $try tries"
}

make_node n1
make_node n2 --fault port_down --fault xid_of_an_uncorrectable_error
# n2's own port is down; in reality its GPUs would not be those of n1.
sed -i 's/uuid="GPU-/uuid="GPU-2/; s/serial="/serial="2/' "$work/n2/metrics/muster.prom"
imitate_dcgm_exporter "$work/n1/metrics/muster.prom" >"$work/n1/metrics/dcgm.prom"
write "$work/n1/metrics/all_reduce.prom" "$bench" all_reduce --backend sim --sim nodes=4 --min-busbw '1 GB/s'
export MUSTER_FAKE_GPU=$work/scenario.json
echo '{}' >"$MUSTER_FAKE_GPU"
write "$work/n2/metrics/node.prom" "$bench" node --profile nd96isr_h100_v5 --size '1 MiB' \
  --set 'bench.host_copy.size=1 MiB' --set 'bench.peer_copy.size=1 MiB' --set 'bench.gpu_memory.size=1 MiB' \
  --only gpu.copy,gpu.p2p,gpu.memory,gpu.gemm --cuda "$fakes/cuda/libcuda.so.1" \
  --cublas "$fakes/cublas/libcublasLt.so.13"

targets=()
for name in n1 n2; do
  start_exporter "$name"
  targets+=("{targets: ['127.0.0.1:$port'], labels: {instance: $name}}")
done
cat >"$work/prometheus.yml" <<YAML
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$sources/deploy/observability/muster-rules.yaml]
scrape_configs:
  - job_name: node
    static_configs:
$(printf '      - %s\n' "${targets[@]}")
YAML
promtool check config "$work/prometheus.yml" >"$work/config.log" || fail "Prometheus' configuration is refused"
port=$((40000 + RANDOM % 20000))
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" \
  --web.listen-address="127.0.0.1:$port" >"$work/prometheus.log" 2>&1 &
pids+=($!)

wait_for 'muster:gpu_temperature:celsius'
wait_for 'increase(node_infiniband_link_downed_total[1m])'
[[ $(query 'count(muster:gpu_temperature:celsius{serial!=""})') == *'=> 8 '* ]] ||
  fail "the serial numbers are not joined: $(query 'muster:gpu_temperature:celsius')"
[[ $(query 'max by (instance) (muster_verdict) == 3') == *n2*'=> 3 '* ]] || fail "n2 is not unhealthy"

count=0
while IFS= read -r line; do
  expression=${line//\$instance/.*}
  expression=${expression//\$__rate_interval/1m}
  answer=$(query "$expression") || fail "the board's query is refused: $expression: $answer"
  # Both nodes are observed completely; NVSwitches without errors have no SXIDs.
  case $expression in
    *muster_not_observed* | *muster_sxid_events_total*) ;;
    *) [[ -n $answer ]] || fail "no answer to the board's query $expression" ;;
  esac
  count=$((count + 1))
done < <(jq -r '.panels[].targets[]?.expr' "$sources/deploy/observability/muster-board.json")
[[ $count -ge 20 ]] || fail "only $count queries"

# Names of node_exporter that the documentation uses are those of a real one.
while IFS= read -r name; do
  [[ -n $(query "count($name)") ]] || fail "node_exporter has no $name"
done < <(grep -o 'node_infiniband_[a-z_]*' "$sources/docs/observability.md" | sort -u)
# Every name of muster is documented; muster-bench uses the same ones with its prefix.
while IFS= read -r name; do
  grep -q -e "\`$name\`" -e "\`${name/_bench_/_}\`" "$sources/docs/observability.md" || fail "$name is not documented"
done < <(cat "$work"/n?/metrics/*.prom | grep -o '^muster_[a-z_]*' | sort -u)
echo "ok: $count queries"
