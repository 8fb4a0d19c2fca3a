#!/usr/bin/env bash
# Runs the search on hosts simulated by SimGrid, one of which is behind a link with half the rate, and checks that
# only that one is named.
#
#   smpi.sh PROGRAM HOSTS SLOW
set -euo pipefail
program=$1 hosts=$2 slow=$3
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT

{
  echo '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
  echo '<platform version="4.1"><zone id="world" routing="Cluster">'
  for ((host = 0; host < hosts; ++host)); do
    rate=$([[ $host == "$slow" ]] && echo 12.5GBps || echo 25GBps)
    echo "<host id=\"h$host\" speed=\"20Gf\"/>"
    echo "<link id=\"l$host\" bandwidth=\"$rate\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>"
    echo "<host_link id=\"h$host\" up=\"l${host}_UP\" down=\"l${host}_DOWN\"/>"
  done
  echo '<backbone id="switch" bandwidth="100000GBps" latency="100ns"/></zone></platform>'
} >"$work/platform.xml"
for ((host = 0; host < hosts; ++host)); do echo "h$host"; done >"$work/hosts"

smpirun -np "$hosts" -platform "$work/platform.xml" -hostfile "$work/hosts" --cfg=smpi/simulate-computation:no \
  --log=root.threshold:error "$program" | tee "$work/said"
[[ $(grep -c '^fail' "$work/said") == 1 ]] && grep --quiet "^fail h$slow " "$work/said"
