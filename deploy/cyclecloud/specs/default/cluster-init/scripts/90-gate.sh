#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the node before slurmd starts, and sets its condition in CycleCloud. With
# `muster.gate = refuse` in the cluster's template, a sick node does not join: this script fails.
# With `off` nothing is checked.
# shellcheck source=deploy/cyclecloud/specs/default/cluster-init/files/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../files/common.sh"

gate=$(setting muster.gate report)
[[ $gate != off ]] || leave "the gate is off"
[[ -x $muster && -x $condition ]] || leave "not installed: not checked"
"$condition" check
status=$?
case $status in
  0) say "the node is healthy" ;;
  1) say "the node is sick: run muster check on it" ;;
  *) say "the node could not be judged: status $status" ;;
esac
[[ $gate != refuse || $status -ne 1 ]]
