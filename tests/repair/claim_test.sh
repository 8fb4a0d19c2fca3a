#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `muster claim` against a fake of Azure's API: the requests, each kind of refusal, and one claim per part.
#
#   claim_test.sh MUSTER      exits with 77 if curl, openssl or python3 is missing
set -euo pipefail

muster=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for program in curl openssl python3; do
  command -v "$program" >/dev/null || {
    echo "skipped: $program is not installed"
    exit 77
  }
done
folder=$(mktemp --directory)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout "$folder/key.pem" -out "$folder/cert.pem" 2>"$folder/openssl.log"
echo 201 >"$folder/mode"
python3 "$here/fake_azure.py" "$folder" 2>"$folder/server.log" &
server=$!
for _ in {1..100}; do
  [[ ! -f $folder/ports ]] || break
  sleep 0.1
done
read -r azure metadata <"$folder/ports"

export CURL_CA_BUNDLE=$folder/cert.pem
mkdir --parents "$folder/root/etc/muster"
cat >"$folder/root/etc/muster/muster.yaml" <<YAML
schema: muster.site/1
repair:
  folder: /repair
  provider: azure
  azure:
    subscription: sub-1
    resource_group: gpus
    endpoint: https://localhost:$azure
    identity: http://127.0.0.1:$metadata
YAML

# report NODE TIME BOOT OUTCOME SERIAL
report() {
  (umask 077 && mkdir --parents "$folder/root/repair/$1")
  local findings='[]'
  if [[ $4 == fail ]]; then
    findings='[{"check":"gpu.nvlink","device":"gpu3","outcome":"fail","message":"hostile \" \\ \u001b[2J text","remedy":"report_to_provider","category":"Resource.Hpc.Unhealthy.NvLink"}]'
  fi
  printf '{"schema":"muster.report/1","node":"%s","profile":"p","context":"boot","started":"%s","duration_ms":1,"verdict":"unhealthy","boot_id":"%s","physical_host":"GGBB1","parts":[{"kind":"gpu","device":"gpu3","serial":"%s","model":"H100"}],"checks":[{"id":"gpu.nvlink","outcome":"%s"}],"findings":%s,"probes":[]}\n' \
    "$1" "$2" "$3" "$5" "$4" "$findings" >"$folder/root/repair/$1/${2//[-:]/}.report.json"
}
failures=0
# expect STATUS TEXT WORDS...: the status of `muster claim WORDS`, and a text in its output.
expect() {
  local status=0 wanted=$1 text=$2
  shift 2
  "$muster" claim --root "$folder/root" "$@" >"$folder/out" 2>&1 || status=$?
  if [[ $status -ne $wanted ]] || ! grep --quiet --fixed-strings -- "$text" "$folder/out"; then
    echo "muster claim $*: status $status, expected $wanted and \"$text\":"
    cat "$folder/out"
    failures=$((failures + 1))
  fi
}
states() {
  sed -E 's/.*"state":"([a-z]+)".*/\1/' "$folder/root/repair/journal.jsonl" | paste --serial --delimiters=' '
}

expect 1 'muster evidence' gpu-1
expect 2 'read standard input: Is a directory' gpu-1 --report - <"$folder"
report gpu-1 2026-11-01T10:00:00Z a fail S1
expect 1 'is not proven (seen 1 time' gpu-1
report gpu-1 2026-11-01T11:00:00Z b fail S1
expect 0 '"impactedResourceId":"/subscriptions/sub-1/resourceGroups/gpus/providers/Microsoft.Compute/virtualMachines/gpu-1"' gpu-1
expect 0 'serial S1' gpu-1 --provider text
expect 0 "end it with muster repair --resolve $(sed -E 's/.*"id":"([^"]+)".*/\1/' "$folder/root/repair/journal.jsonl")=cancelled" gpu-1
expect 1 'no evidence' gpu-1 --send
echo bundle >"$folder/root/repair/gpu-1/20261101T110000Z.evidence.tar.gz"

echo 400 >"$folder/mode"
expect 1 'refuses the claim (status 400): INVALID_FORMAT' gpu-1 --send
echo 401 >"$folder/mode"
expect 1 'Azure Impact Reporter' gpu-1 --send
echo 429-long >"$folder/mode"
expect 2 'try again in 86400 s' gpu-1 --send
echo 500 >"$folder/mode"
expect 2 'status 500' gpu-1 --send
# The first answer is lost, then Azure is busy, broken and slow: the claim keeps its name each time.
printf '%s\n' cut 429 500 slow >"$folder/mode"
expect 0 'gpu-1: sent to azure as ' gpu-1 --send
if [[ $(grep --count . <(grep PUT "$folder/log" | tail -n 4 | cut --delimiter=' ' --fields=2 | sort --unique)) -ne 1 ]]; then
  echo "the claim was sent under several names:"
  cat "$folder/log"
  failures=$((failures + 1))
fi
# One open claim per part.
expect 1 'been sent since' gpu-1
expect 1 'been sent since' gpu-1 --send
report gpu-2 2026-11-01T10:00:00Z a fail S2
report gpu-2 2026-11-01T11:00:00Z b fail S2
expect 0 '"SerialNumber":"S2"' gpu-2

echo '{"value":[{"properties":{"additionalDetails":{"statusCode":"AcknowledgedUnhealthy"},"content":{"title":"Seen","description":"<p>wait</p>"}}}]}' >"$folder/insights"
expect 0 'acknowledged' --poll gpu-1
echo '{"value":[{"properties":{"additionalDetails":{"statusCode":"NodeRemovedFromService","terminalInsight":true},"content":{"title":"Gone","description":"<b>Deallocate</b> the VM"}}}]}' >"$folder/insights"
expect 0 'Azure: Gone: Deallocate the VM (final)' --poll gpu-1
future=$(date --utc --date='+1 hour' +%FT%TZ)
report gpu-1 "$future" c pass S3
expect 0 'verified' --poll gpu-1
# The metadata service is not there.
sed --in-place "s|identity: .*|identity: http://127.0.0.1:1|" "$folder/root/etc/muster/muster.yaml"
echo bundle >"$folder/root/repair/gpu-2/20261101T110000Z.evidence.tar.gz"
expect 2 'no token from http://127.0.0.1:1' gpu-2 --send

# The rejected nodes of an acceptance need the same proof.
"$muster" accept 'sim[001-008]' --run "$folder/delivery" --plan quick --by sim \
  --sim fault=slow_gpu:sim002:5:0.8,fault=row_remap:sim003:4 >"$folder/accept.log" 2>&1 || true
expect 1 'bench.gemm gpu5 is not proven (seen 2 times' --run "$folder/delivery" --provider text
expect 0 'proof       hard evidence' sim003 --run "$folder/delivery" --provider text
expect 2 "its nodes are simulated, so no claim can be sent" sim003 --run "$folder/delivery" --provider text --send

if grep complaint "$folder/log"; then failures=$((failures + 1)); fi
if [[ $(states) != 'prepared sent prepared acknowledged out verified prepared' ]]; then
  echo "journal: $(states)"
  failures=$((failures + 1))
fi
[[ $failures -eq 0 ]] && echo ok
