#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keeps nodes that muster drained from being powered down, and releases them when they are back in
# service. Leaves nodes alone that others keep up. `muster-keep-drained --release` releases all nodes.
set -uo pipefail
PATH=$PATH:/root/bin:/opt/azurehpc/slurm/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin
root=$(dirname "${BASH_SOURCE[0]}")
root=${root%/usr/local/sbin}
kept=$root/var/lib/muster/kept # the nodes that this program keeps, one per line

drained() {
  timeout 60 sinfo --noheader --Node --format='%N %t %E' |
    awk '$2 ~ /^(drain|drng)[*]?$/ && $3 == "muster:" {print $1}' | sort --unique
}

# Prints the nodes that anyone keeps up now.
excluded() {
  local list
  list=$(timeout 60 scontrol show config | sed --quiet 's/^SuspendExcNodes *= *//p')
  [[ ! $list || $list == '(null)' ]] || timeout 60 scontrol show hostnames "$list" | sort --unique
}

# keep_alive OPTION... <NODES
keep_alive() {
  local list
  list=$(paste --serial --delimiters=,)
  [[ ! $list ]] || timeout 60 azslurm keep_alive "$@" --node-list "$list"
}

# lines WORD...: prints one word per line
lines() { printf '%s\n' "$@" | sed '/^$/d'; }

mkdir -p "${kept%/*}" && touch "$kept" || exit 1
want=
if [[ ${1:-} != --release ]]; then want=$(drained) || exit 1; fi
have=$(excluded) || exit 1
add=$(comm -23 <(lines "$want") <(lines "$have"))
remove=$(comm -23 "$kept" <(lines "$want"))
lines "$add" | keep_alive && lines "$remove" | keep_alive --remove || exit 1
comm -12 <(lines "$(<"$kept")" "$add" | sort --unique) <(lines "$want") >"$kept.new" &&
  mv "$kept.new" "$kept"
