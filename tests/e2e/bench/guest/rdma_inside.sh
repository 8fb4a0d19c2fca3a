#!/bin/sh
# The first process of the guest that rdma.sh starts: creates software HCAs, runs the tests, and powers off.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
while read -r module; do insmod "/modules/$module"; done </modules/order
ip link set lo up

wrong() { echo "guest: WRONG: $*"; }

# hca NUMBER: creates mlx5_ibNUMBER in software, on a separate network.
hca() {
  ip link add "ib$1" type dummy
  ip link set "ib$1" mtu 4500
  ip address add "10.9.$1.1/24" dev "ib$1"
  ip link set "ib$1" up
  rdma link add "mlx5_ib$1" type rxe netdev "ib$1"
}

# loopback HCAS OPTION...: runs ib.loopback, output in /tmp/said.
loopback() {
  hcas=$1
  shift
  NCCL_IB_HCA=$hcas muster-bench node --only ib.loopback -v "$@" >/tmp/said 2>&1
}

# says STATUS WORDS: checks the previous run.
says() {
  status=$?
  if [ $status -ne "$1" ] || ! grep -q "$2" /tmp/said; then
    wrong "status $status and no \"$2\" in:"
    cat /tmp/said
  fi
}

# perftest PROGRAM BYTES COUNT: prints its MiB/s.
perftest() {
  "$1" -F -N -d mlx5_ib0 -x 1 -s "$2" -n "$3" >/dev/null 2>&1 &
  sleep 1
  "$1" -F -N -d mlx5_ib0 -x 1 -s "$2" -n "$3" 127.0.0.1 2>&1 | awk -v bytes="$2" '$1 == bytes { print $4 }'
}

# figure WHAT: prints a figure of the previous run, in Gb/s.
figure() { sed -n "s/^ib.loopback: .*$1 \([0-9.]*\) Gb.*/\1/p" /tmp/said | head -1; }

# compare BYTES WHAT MINE PERFTEST'S: fails beyond 3%.
compare() {
  awk -v bytes="$1" -v what="$2" -v mine="$3" -v mib="$4" 'BEGIN {
    other = mib * 8 * 1.048576 / 1000
    ratio = other > 0 ? mine / other : 0
    printf "guest: %8d bytes, %-10s  perftest %.4f Gb/s  ib.loopback %.4f Gb/s  ratio %.3f\n", bytes, what, other, mine, ratio
    exit ratio < 0.97 || ratio > 1.03
  }' || wrong "$2 of $1 bytes is not within 3%"
}

beside_perftest() {
  loopback mlx5_ib0 --size "$2" --set "bench.hca_write.size=$1 B"
  says 2 "not judged"
  compare "$1" "RDMA write" "$(figure 'RDMA write')" "$(perftest ib_write_bw "$1" "$3")"
  compare "$1" "RDMA read" "$(figure 'RDMA read')" "$(perftest ib_read_bw "$1" "$3")"
}

hca 0
beside_perftest 4096 2MiB 500
beside_perftest 65536 8MiB 128

# Messages about ports, limits and rails.
loopback "" --size 64KiB
says 2 "this node has no HCA with an InfiniBand port"
loopback mlx5_ib0 --size 64KiB --set bench.hca_write.size=8KiB --set bench.hca_write.fail_below=0.01Gb/s
says 0 "pass .*bench.hca_write .*RDMA write"
loopback mlx5_ib0 --size 64KiB --set bench.hca_write.size=8KiB --set bench.hca_write.fail_below=100Gb/s
says 1 "fail .*bench.hca_write .*mlx5_ib0 .*RDMA write .*fails below 100"
hca 1
loopback mlx5_ib --size 64KiB
says 2 "no HCA of this node reaches another through the fabric"
grep -q "RDMA write, all HCAs" /tmp/said || wrong "the HCAs did not write at once"
ip link set ib1 down
loopback mlx5_ib --size 64KiB
says 2 "unknown .*mlx5_ib1 .*port 1 is DOWN"

# A killed run leaves no queue pair, region or queue in the kernel.
before=$(rdma resource)
NCCL_IB_HCA=mlx5_ib0 muster-bench node --level full --only ib.loopback >/dev/null 2>&1 &
sleep 2
during=$(rdma resource)
kill -9 $!
sleep 1
after=$(rdma resource)
[ "$before" != "$during" ] || wrong "nothing was at work to be killed"
[ "$before" = "$after" ] || wrong "it was killed and left: $after"

# A clock with millisecond resolution.
echo jiffies >/sys/devices/system/clocksource/clocksource0/current_clocksource
loopback mlx5_ib0 --size 64KiB
says 2 "unknown .*mlx5_ib0 .*this host's clock is too coarse for transfers of 64 KiB"

echo "guest: the end"
poweroff -f
