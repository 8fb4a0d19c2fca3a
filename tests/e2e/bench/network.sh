#!/usr/bin/env bash
# Runs `muster-bench locate` among nodes that are network namespaces, joined by a bridge through links of a
# limited rate. Output and exit status are those of rank 0. Everything ends with this process.
#
#   network.sh PROGRAM NODES RATE SLOW SLOW_RATE [OPTION...]
#
#   RATE, SLOW_RATE  as tc takes them: "200mbit"; SLOW is the node whose link has the second one
# Exits with 77 if no such network can be made.
set -euo pipefail

if [[ ${1:-} != --inside ]]; then
  unshare --net --pid --fork --mount-proc true || exit 77
  exec unshare --net --pid --fork --kill-child --mount-proc bash "${BASH_SOURCE[0]}" --inside "$@"
fi
shift
program=$1 nodes=$2 rate=$3 slow=$4 slow_rate=$5
shift 5

# Creates a link whose ends both send at the node's rate; the inner one is eth0 of the namespace of process
# $2.
join() { # NODE PID RATE
  ip link add "v$1" type veth peer name eth0 netns "$2"
  ip link set "v$1" master bridge up
  nsenter --target "$2" --net ip address add "10.77.0.$(($1 + 10))/24" dev eth0
  nsenter --target "$2" --net ip link set eth0 up
  nsenter --target "$2" --net ip link set lo up
  tc qdisc add dev "v$1" root tbf rate "$3" burst 64kb latency 100ms
  nsenter --target "$2" --net tc qdisc add dev eth0 root tbf rate "$3" burst 64kb latency 100ms
}

ip link add bridge type bridge && ip link set bridge up || exit 77
holders=()
for ((node = 0; node < nodes; ++node)); do
  unshare --net sleep infinity &
  holders+=($!)
  until [[ $(readlink "/proc/$!/ns/net") != "$(readlink /proc/self/ns/net)" ]]; do sleep 0.01; done
  join "$node" "$!" "$([[ $node == "$slow" ]] && echo "$slow_rate" || echo "$rate")" || exit 77
done

begin() { # NODE OPTION...
  MUSTER_JOB_SECRET=$$ MUSTER_HOSTNAME=node$1 nsenter --target "${holders[$1]}" --net "$program" locate --rank "$1" --world "$nodes" \
    --rendezvous 10.77.0.10:29500 "${@:2}"
}
for ((node = 1; node < nodes; ++node)); do begin "$node" "$@" >/dev/null & done
status=0
begin 0 "$@" || status=$?
exit "$status"
