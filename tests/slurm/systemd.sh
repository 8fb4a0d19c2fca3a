#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# systemd.sh FOLDER: systemd rates the sweep's unit in FOLDER as safe, and the unit that checks the node
# after a boot sees the node as jobs do.
set -u
if grep -E '^(Protect(System|Home|Kernel|Control|Proc)|Private|ReadOnly|Inaccessible|Temporary|Root)' \
  "$1/muster-boot.service"; then
  echo "muster-boot.service would see other mounts than jobs do"
  exit 1
fi
systemd-analyze --help 2>/dev/null | grep -q -- --offline || exit 77
systemd-analyze security --offline=true --threshold=25 "$1/muster-sweep.service"
