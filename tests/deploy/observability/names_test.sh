#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shipped rules and the board are valid, and every metric that they and docs/observability.md name exists.
#
#   names_test.sh SOURCES
set -euo pipefail

sources=$1
here=$sources/tests/deploy/observability
shipped=$sources/deploy/observability
page=$sources/docs/observability.md
for program in promtool jq; do
  command -v "$program" >/dev/null || {
    echo "observability: $program is not installed"
    exit 77
  }
done

failures=0
fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}

promtool check rules "$shipped/muster-rules.yaml" || fail "the rules are refused"
promtool test rules "$here/rules_test.yaml" || fail "the rules do not behave"
alerts=$(sed -n 's/.*- alert: //p' "$shipped/muster-rules.yaml")
[[ $alerts ]] || fail "the rules have no alert"
for alert in $alerts; do
  grep -q "alertname: $alert\$" "$here/rules_test.yaml" || fail "no case for $alert"
  grep -q "\`$alert\`" "$page" || fail "$alert is not in docs/observability.md"
done

# names PREFIX FILE...: sets `found` to the names of metrics with this prefix.
names() {
  found=$(grep -hoE "\\b$1[A-Za-z0-9_]+" "${@:2}" | sort -u) || fail "no name begins with $1 in ${*:2}"
}

# Names from other exporters must be on their lists.
for exporter in dcgm_exporter:DCGM_FI_ node_exporter:node_; do
  list=$here/${exporter%%:*}.txt
  names "${exporter##*:}" "$page" "$shipped"/*
  for name in $found; do
    [[ $name == node_exporter || $name == node_textfile ]] || grep -qx "$name" "$list" ||
      fail "$name is not a metric of ${exporter%%:*}"
  done
done
# muster's names must be those of the program; names in the rules and the board must be documented.
names muster_ "$page"
for name in $found; do
  case $name in muster_textfile_directory) continue ;; esac
  stem=${name#muster_}
  for part in bench_ limit_ bus_ copy_; do stem=${stem#"$part"}; done
  grep -q "\"$stem\"" "$sources/lib/report/formats/prometheus.cpp" || fail "muster has no $name"
done
names muster_ "$shipped"/*
for name in $found; do
  grep -q "\`$name" "$page" || fail "$name is not in docs/observability.md"
done

# Grafana's classic model.
jq --exit-status '
  .schemaVersion == 40 and .uid == "muster" and .title == "muster" and (has("id") or has("__inputs") | not) and
  (.templating.list | map(.name) == ["datasource", "instance"]) and
  (.panels | map(.id) | length == (unique | length)) and
  all(.panels[]; .type and .title and (.gridPos | .x >= 0 and .x + .w <= 24 and .h > 0)) and
  all(.panels[] | select(.type != "row");
    .datasource.uid == "${datasource}" and (.targets | length > 0) and
    all(.targets[]; .expr and .refId and .datasource.uid == "${datasource}")) and
  ([.panels[] | select(.type == "row") | .title] == ["Fleet", "Node", "Links", "Active tests"])' \
  "$shipped/muster-board.json" >/dev/null || fail "the board is not a valid dashboard"

[[ $failures -eq 0 ]] && echo "ok"
exit $((failures > 0))
