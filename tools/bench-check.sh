#!/usr/bin/env bash
# Measures `muster check` on a simulated ND H100 v5 node (8 GPUs, 8 HCAs, 96 cores, 100 processes, 2,000
# kernel log records), interleaved with `muster --version` (the cost of starting a process), and how many
# snapshots one process judges per second. Prints medians.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rounds=${1:-41}
copies=${2:-5000}
build=build/release

cmake --preset release >/dev/null
cmake --build --preset release --target muster muster-node >/dev/null

work=$(mktemp --directory "${TMPDIR:-/dev/shm}/muster-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
"$build/bin/muster-node" render nd96isr_h100_v5 "$work/node" --busy

# The same node, with a kernel log that a sick GPU has filled with one line.
cp --recursive "$work/node" "$work/storm"
seq 2000 101999 | sed 's/.*/4,&,82&000,-;NVRM: Xid (PCI:0001:00:00): 13, pid=4242, name=train, Graphics SM Warp Exception/' \
  >>"$work/storm/dev/kmsg"

muster=$build/bin/muster
options=(--profile nd96isr_h100_v5 --format json)
check=("$muster" check --root "$work/node" "${options[@]}" --output "$work/report.json")
gpus=("${check[@]}" --nvml "$work/node/nvml/libnvidia-ml.so.1" --output "$work/gpus.json")
storm=("$muster" check --root "$work/storm" "${options[@]}" --output "$work/storm.json")

# Prints the wall time of a command in microseconds. Its exit status may be any verdict.
microseconds() {
  local start=${EPOCHREALTIME/./}
  "$@" >/dev/null || [[ $? -le 2 ]]
  echo $((${EPOCHREALTIME/./} - start))
}

# Prints the milliseconds that a probe took, from a report file.
probe_took() {
  grep --after-context=400 '"probes"' "$2" | tr -d ' \n' |
    grep --only-matching "\"name\":\"$1\",\"status\":\"[a-z]*\",[^}]*\"duration_ms\":[0-9.]*" | sed 's/.*://'
}

median() { sort --numeric-sort | sed -n "$((($1 + 1) / 2))p"; }

for ((i = 0; i < rounds; ++i)); do
  microseconds "${check[@]}" >>"$work/check"
  microseconds "${check[@]}" --skip 'topo.*' >>"$work/without_topology"
  microseconds "${gpus[@]}" >>"$work/with_gpus"
  probe_took nvml "$work/gpus.json" >>"$work/nvml"
  microseconds "${storm[@]}" >>"$work/with_storm"
  probe_took kernel_log "$work/storm.json" >>"$work/log"
  microseconds "$muster" --version >>"$work/version"
done

show() { printf '%-46s %7.1f ms\n' "$1" "$(median "$rounds" <"$work/$2")e-3"; }
echo "medians of $rounds interleaved rounds on $(nproc) cores, $(uname --machine)"
show "muster --version" version
show "muster check, every check but topo.*" without_topology
show "muster check, every check but gpu.*" check
show "muster check, 8 GPUs (fake NVML)" with_gpus
show "muster check, 100,000 lines of one XID" with_storm
printf '%-46s %7.1f ms\n' "its nvml section (fake NVML)" "$(median "$rounds" <"$work/nvml")"
printf '%-46s %7.1f ms\n' "its kernel_log section, 100,000 lines" "$(median "$rounds" <"$work/log")"

echo
echo "slowest probes of the last run (side by side, so they do not add up):"
grep --after-context=400 '"probes"' "$work/report.json" | tr -d ' \n' |
  grep --only-matching '"name":"[a-z_]*","status":"[a-z]*",[^}]*"duration_ms":[0-9.]*' |
  sed -E 's/"name":"([a-z_]*)".*"duration_ms":([0-9.]*)/\2 \1/' | sort --numeric-sort --reverse |
  head -6 | while read -r ms name; do printf '  %-44s %7.1f ms\n' "$name" "$ms"; done

echo
mkdir "$work/snapshots"
"$muster" snapshot --root "$work/node" --profile nd96isr_h100_v5 --output "$work/one.json"
for ((i = 0; i < copies; ++i)); do ln "$work/one.json" "$work/snapshots/$i.json"; done
for ((i = 0; i < 5; ++i)); do
  microseconds "$muster" check --snapshot "$work/snapshots" --profile nd96isr_h100_v5 --format json >>"$work/replay"
done
elapsed=$(median 5 <"$work/replay")
printf '%-46s %7d per second (%d kB each)\n' "snapshots judged in one process" \
  $((copies * 1000000 / elapsed)) $(($(stat --format=%s "$work/one.json") / 1000))
