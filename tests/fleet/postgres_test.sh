#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `muster fleet export sql` in PostgreSQL gives the same answers as the store, also when it is run twice.
#
#   postgres_test.sh MUSTER FLEET_YEAR      exits with 77 if PostgreSQL is not installed
set -euo pipefail

muster=$1 year=$2
programs=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort --version-sort | tail -n 1)
[[ -n $programs && -x $programs/initdb ]] || {
  echo "skipped: postgresql is not installed"
  exit 77
}
folder=$(mktemp --directory)
chmod 755 "$folder"
as_server=()
if [[ $(id --user) -eq 0 ]]; then # the server refuses to run as root
  as_server=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  chown postgres "$folder"
fi
server() {
  (cd "$folder" && "${as_server[@]}" "$@")
}
trap 'server "$programs/pg_ctl" --pgdata="$folder/data" --mode=immediate stop >"$folder/stop.log" 2>&1 || true; rm -rf "$folder"' EXIT

server "$programs/initdb" --pgdata="$folder/data" --auth=trust --username=fleet >"$folder/initdb.log"
server "$programs/pg_ctl" --pgdata="$folder/data" --log="$folder/server.log" --wait \
  --options="-c listen_addresses='' -k $folder" start >"$folder/start.log"
psql=("$programs/psql" --quiet --no-psqlrc --set ON_ERROR_STOP=1 --host="$folder" --username=fleet postgres)

store=$folder/store/fleet.db
mkdir "$folder/store"
"$year" 100 30 | "$muster" fleet add - --store "$store"
for hostile in "'; DROP TABLE node; --" '\\u001b[2J' '<b>\"q\"</b>' '{1,2}'; do
  printf '{"schema":"muster.report/1","node":"%s","profile":"p","context":"boot","started":"2026-01-01T00:00:00Z","verdict":"unhealthy","boot_id":"b","parts":[{"kind":"gpu","device":"gpu0","serial":"%s"}],"checks":[{"id":"a.b","outcome":"fail"}],"findings":[{"check":"a.b","device":"gpu0","outcome":"fail","message":"%s","remedy":"reboot"}]}\n' \
    "$hostile" "$hostile" "$hostile"
done | "$muster" fleet add - --store "$store"
# Jobs, as `fleet add --slurm` adds them: one that ran over midnight, and one that runs.
python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as store:
    store.execute("INSERT INTO job VALUES(3, 1767300000, 7, 1767400000, 1, 0)")
    store.execute("INSERT INTO job VALUES(4, 1767312000, 8, NULL, 2, 0)")' "$store"
for _ in 1 2; do
  "$muster" fleet export sql --store "$store" | "${psql[@]}"
done

# The same SQL for both.
questions=(
  'SELECT count(*), sum(reports), max(last) FROM node'
  'SELECT name, verdict, profile FROM node ORDER BY id'
  'SELECT count(*), sum(at), count(boot), count(found) FROM report'
  'SELECT count(*), sum(layout) FROM reading'
  'SELECT quantity, device, unit FROM position ORDER BY layout, place'
  'SELECT part, node, slot, device, started, last, ended FROM seat ORDER BY node, slot, part, started'
  'SELECT node, check_id, device, outcome, message, started, last, ended, reports FROM finding ORDER BY node, started, check_id, device'
  'SELECT node, cause, device, part, started, ended, round(hours) FROM incident ORDER BY node, started, cause, device'
  'SELECT node, started, fitting FROM fitted ORDER BY node, started'
  'SELECT part, day, round(up_hours * 1000), round(job_hours * 1000) FROM exposure ORDER BY part, day'
  'SELECT kind, serial, model FROM part ORDER BY id'
)
status=0
for question in "${questions[@]}"; do
  "${psql[@]}" --csv --tuples-only --command "$question" |
    python3 -c 'import csv, sys
for row in csv.reader(sys.stdin): print([str(int(float(x))) if x.replace(".", "").isdigit() and len(x) < 15 else x for x in row])' >"$folder/there"
  python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    cells = ["" if x is None else str(x) for x in row]
    print([str(int(float(x))) if x.replace(".", "").isdigit() and len(x) < 15 else x for x in cells])' "$store" "$question" >"$folder/here"
  if [[ ! -s $folder/here ]] || ! diff "$folder/here" "$folder/there" >"$folder/differs"; then
    echo "not ok: $question" >&2
    head -n 5 "$folder/differs" >&2
    status=1
  fi
done
# Values, which only PostgreSQL has as rows.
expected=$("$muster" fleet export jsonl --store "$store" | grep --count '"kind":"value"')
rows=$("${psql[@]}" --csv --tuples-only --command 'SELECT count(number) FROM value')
[[ $rows -eq $expected && $rows -gt 0 ]] || {
  echo "not ok: $rows values, expected $expected" >&2
  status=1
}
[[ $status -ne 0 ]] || echo "ok"
exit "$status"
