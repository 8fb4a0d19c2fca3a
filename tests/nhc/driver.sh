#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A small imitation of NHC: the same command line, configuration and failure modes. For machines without NHC; see
# nhc_test.sh.
#
#   driver.sh [-a] [-f] [-t SECONDS] [VARIABLE=VALUE]...
set -f
PATH=/sbin:/usr/sbin:/bin:/usr/bin
NHC_CHECK_ALL=0
NHC_CHECK_FORKED=0
TIMEOUT=30
FAILURES=0

while getopts aft: option; do
  case $option in
    a) NHC_CHECK_ALL=1 ;;
    f) NHC_CHECK_FORKED=1 ;;
    t) TIMEOUT=$OPTARG ;;
    *) exit 10 ;;
  esac
done
shift $((OPTIND - 1))
for setting in "$@"; do
  declare -x "$setting"
done
export HOSTNAME_S=${HOSTNAME%%.*}

log() { echo "$*" >>"$LOGFILE"; }

# The text is evaluated inside single quotes, which this test is about.
die() {
  local status=$1
  shift
  log "ERROR: $*"
  if ((FAILURES == 0)); then
    eval "$OFFLINE_NODE '$HOSTNAME' '$*'"
  fi
  if ((NHC_CHECK_ALL == 1)); then
    FAILURES=$((FAILURES + 1))
    return 0
  fi
  exit $((status + (NHC_CHECK_FORKED == 1 ? 100 : 0)))
}

in_range() {
  local host=$1 group from to width number
  local -a groups
  IFS=, read -ra groups <<<"$2"
  for group in "${groups[@]}"; do
    [[ $host == "$group" ]] && return 0
    [[ $group =~ ^([^[]*)\[([0-9]+)-([0-9]+)\](.*)$ ]] || continue
    from=${BASH_REMATCH[2]} to=${BASH_REMATCH[3]} width=${#from}
    for ((number = 10#$from; number <= 10#$to; ++number)); do
      [[ $host == "${BASH_REMATCH[1]}$(printf '%0*d' "$width" "$number")${BASH_REMATCH[4]}" ]] && return 0
    done
  done
  return 1
}

is_target() {
  local target=$1 found=1
  case ${target#!} in
    /*/)
      local expression=${target#!}
      expression=${expression:1:-1}
      [[ $HOSTNAME =~ $expression ]] && found=0
      ;;
    \{*\})
      local range=${target#!}
      in_range "$HOSTNAME" "${range:1:-1}" && found=0
      ;;
    *)
      # shellcheck disable=SC2053 # a glob
      [[ $HOSTNAME == ${target#!} ]] && found=0
      ;;
  esac
  [[ $target == !* ]] && found=$((1 - found))
  return "$found"
}

# A function, as in NHC, so declarations are local by default.
load_scripts() {
  local script
  set +f
  local -a scripts=("$CONFDIR"/scripts/*.nhc)
  set -f
  for script in "${scripts[@]}"; do
    # shellcheck source=/dev/null
    . "$script"
  done
}

load_checks() {
  local line target check
  CHECKS=()
  while read -r line; do
    [[ $line == '#'* || $line != *'||'* ]] && continue
    read -r target <<<"${line%%||*}"
    read -r check <<<"${line#*||}"
    [[ -n $target && -n $check ]] && is_target "$target" && CHECKS+=("$check")
  done <"$CONFDIR/nhc.conf"
}

watch() {
  local parent=$1
  exec </dev/null >/dev/null 2>&1
  sleep "$TIMEOUT"
  kill -ALRM "$parent"
  sleep 1
  kill -TERM "$parent"
  sleep 3
  kill -KILL "$parent"
}

load_scripts
trap 'die 142 "timed out"; exit 142' ALRM
if ((TIMEOUT > 0)); then
  watch $$ &
  watcher=$!
  trap 'kill -- "$watcher" 2>/dev/null' EXIT
fi
load_checks
for check in "${CHECKS[@]}"; do
  # With -f each check is a process, whose variables are lost.
  if ((NHC_CHECK_FORKED == 1)) && [[ ! $check =~ ^(export )?[A-Za-z_][A-Za-z0-9_]*= ]]; then
    eval "$check" &
    wait $!
  else
    eval "$check"
  fi
  status=$?
  if ((status > 100 && NHC_CHECK_FORKED == 1 && NHC_CHECK_ALL == 0)); then
    exit $((status - 100))
  fi
  if ((status != 0 && NHC_CHECK_ALL == 0)); then
    die "$status" "check $check returned $status"
  fi
done
((FAILURES == 0)) || exit "$FAILURES"
eval "$ONLINE_NODE '$HOSTNAME'"
