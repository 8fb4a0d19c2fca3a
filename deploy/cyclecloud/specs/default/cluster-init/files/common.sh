# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts of this spec, which run as root each time that CycleCloud configures the
# node. None of them fails, except the gate if the site asked for it: a failing script ends the
# node's configuration, and CycleCloud deletes the VM hours later.
set -uo pipefail

version=0.1.0
spec=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Tests run the scripts in a folder with the layout of a node; on a node it is /.
root=
[[ $spec != */mnt/cluster-init/* ]] || root=${spec%%/mnt/cluster-init/*}
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
jetpack=$root/opt/cycle/jetpack/bin/jetpack
muster=$root/usr/bin/muster
yaml=$root/etc/muster/muster.yaml
mark="# Written by muster's CycleCloud project."
condition=$root/usr/local/libexec/muster/muster-condition.sh

say() { echo "muster: $*"; }

# Ends a script that cannot do its work: the node is configured without muster.
leave() {
  say "$*"
  exit 0
}

# setting KEY DEFAULT: prints a value from the section [[[configuration]]] of the cluster's template.
setting() {
  local value
  value=$(timeout 30 "$jetpack" config "$1" "$2" 2>/dev/null) || value=$2
  [[ $value != None ]] || value=
  printf '%s\n' "${value:-$2}"
}

# CycleCloud-Slurm's folder for this cluster, which all nodes share.
shared_folder() {
  local name
  name=$(setting cyclecloud.cluster.name '')
  printf '%s/sched/%s\n' "$root" "$(tr '[:upper:]' '[:lower:]' <<<"$name" | sed 's/[^a-z0-9-]/-/g')"
}
