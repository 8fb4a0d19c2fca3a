#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets the condition `muster` of this node in CycleCloud.
#
#   muster-condition.sh check        checks the node as after a boot; the status is `muster check`'s
#   muster-condition.sh EVENT NODE   is muster's `tell` program: the event is JSON on standard input
set -uo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin
root=$(dirname "${BASH_SOURCE[0]}")
root=${root%/usr/local/libexec/muster}
jetpack=$root/opt/cycle/jetpack/bin/jetpack
muster=$root/usr/bin/muster

# first KEY <JSON: prints the first string value of a key. A key inside a string has escaped quotes.
first() {
  grep --only-matching --extended-regexp "\"$1\":\"([^\"\\\\]|\\\\.)*\"" |
    sed --regexp-extended "1{s/^\"$1\":\"(.*)\"$/\\1/;s/\\\\(.)/\\1/g;q}"
}

# findings OUTCOME <REPORT: prints the findings with this outcome, a line each, the worst first.
findings() {
  sed 's/.*"findings":\[//;s/},{"check":/}\n{"check":/g' | grep --fixed-strings "\"outcome\":\"$1\""
}

# The failure to report: CycleCloud files a Guest Health Report for one with a category.
failure() {
  local failures
  failures=$(findings fail)
  grep --max-count=1 '"category":"Resource' <<<"$failures" || head --lines=1 <<<"$failures"
}

why_undecided() {
  local report gap finding
  report=$(cat)
  gap=$(grep --only-matching '{"what":"[^}]*"required":true}' <<<"$report")
  finding=$(findings unknown <<<"$report")
  if [[ $gap ]]; then
    echo "not observed: $(first what <<<"$gap"): $(first reason <<<"$gap")"
  elif [[ $finding ]]; then
    describe <<<"$finding"
  elif [[ $report ]]; then
    echo 'no check could judge the node'
  else
    echo 'muster check printed no report'
  fi
}

# describe <FINDING
describe() {
  local finding
  finding=$(cat)
  echo "$(first check <<<"$finding") $(first device <<<"$finding"): $(first message <<<"$finding")"
}

category_of() {
  grep --only-matching '"category":"Resource[A-Za-z0-9.]*"' | sed '1{s/.*:"//;s/"$//;q}'
}

# is_at_least VERSION FOUND: FOUND is in jetpack's format, "8.10.0-3822".
is_at_least() { printf '%s\n' "$1" "${2%%-*}" | sort --version-sort --check=quiet; }

# publish OK|Warning|Error|NA [MESSAGE [REMEDY [CATEGORY]]]
publish() {
  local words=(condition set -n muster -s "$1") version
  version=$(timeout 10 "$jetpack" --version) || return 0
  is_at_least 8.8.0 "$version" || return 0 # older ones have no conditions
  [[ ! ${2:-} ]] || words+=(-m "${2:0:400}")
  [[ ! ${3:-} || $3 == none ]] || words+=(-r "${3//_/ }")
  # With a category CycleCloud files a Guest Health Report. If it refuses that, the condition is set.
  if [[ ${4:-} ]] && is_at_least 8.10.0 "$version" && files_reports; then
    timeout 10 "$jetpack" "${words[@]}" --action-type GHR --ghr-category "$4" && return
  fi
  timeout 10 "$jetpack" "${words[@]}"
}

files_reports() { [[ $(timeout 10 "$jetpack" config muster.health_reports true) =~ ^[Tt]rue$ ]]; }

check() {
  local report finding status
  report=$(timeout --kill-after=5 180 "$muster" check --context boot --format json)
  status=$?
  finding=$(failure <<<"$report")
  case $status in
    0) publish OK ;;
    1) publish Error "$(describe <<<"$finding")" "$(first remedy <<<"$finding")" "$(category_of <<<"$finding")" ;;
    2) publish Warning "could not be judged: $(why_undecided <<<"$report")" ;;
    *) publish NA "muster check ended with status $status" ;;
  esac
  return "$status"
}

event() {
  local event check report finding
  event=$(cat)
  check=$(first check <<<"$event")
  case $1 in
    drained | refused)
      # An event has no category: the check that it is about is run again.
      report=$(timeout --kill-after=1 10 "$muster" check --only "$check" --format json 2>/dev/null)
      finding=$(failure <<<"$report")
      publish Error "$1: $(first message <<<"$event")" "$(first remedy <<<"$finding")" "$(category_of <<<"$finding")"
      ;;
    resumed | released | over) publish OK ;;
  esac
}

case $# in
  1) check ;;
  2) event "$1" ;;
  *) exit 64 ;;
esac
