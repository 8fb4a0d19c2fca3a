#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The chart against a real API server: it accepts every object, allows the agent's service account what the agent
# does and nothing else, and shows the agent's conditions and events on a node.
#
#   server_test.sh SOURCES BUILD MUSTER MUSTER_BENCH
set -uo pipefail

sources=$1 build=$2 muster=$3 bench=$4
chart=$sources/deploy/kubernetes/chart
for needed in "$build/kube-apiserver" "$build/kubernetes-tools"; do
  [[ -d $needed ]] || {
    echo "skipped: $needed is missing (tools/$(basename "$needed").sh makes it)"
    exit 77
  }
done
PATH=$build/kubernetes-tools:$build/kube-apiserver:$PATH
folder=$(mktemp --directory)
export KUBECONFIG=$folder/kubeconfig HOME=$folder
pids=()
stop() {
  [[ ${#pids[@]} -eq 0 ]] || kill "${pids[@]}" 2>/dev/null
  wait 2>/dev/null
  rm -rf "$folder"
}
trap stop EXIT
failures=0

fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}

# Runs a command until it succeeds.
await() {
  local tries=$1
  shift
  while ! "$@" >/dev/null 2>&1; do
    ((tries-- > 0)) || return 1
    sleep 0.2
  done
}

# Ports that are free now.
mapfile -t ports < <(python3 -c 'import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
for each in free: print(each.getsockname()[1])')
etcd=http://127.0.0.1:${ports[0]} port=${ports[2]}

start_server() {
  openssl genrsa -out "$folder/sa.key" 2048 2>/dev/null
  openssl rsa -in "$folder/sa.key" -pubout -out "$folder/sa.pub" 2>/dev/null
  echo 'admintoken,admin,1,system:masters' >"$folder/tokens.csv"
  etcd --data-dir "$folder/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls "http://127.0.0.1:${ports[1]}" >"$folder/etcd.log" 2>&1 &
  pids+=($!)
  kube-apiserver --etcd-servers="$etcd" --bind-address=127.0.0.1 --secure-port="$port" --insecure-port=0 \
    --cert-dir="$folder/certificates" --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$folder/sa.pub" --service-account-signing-key-file="$folder/sa.key" \
    --api-audiences=https://kubernetes.default.svc --service-cluster-ip-range=10.0.0.0/24 \
    --authorization-mode=RBAC --token-auth-file="$folder/tokens.csv" --allow-privileged=true \
    --disable-admission-plugins=ServiceAccount >"$folder/server.log" 2>&1 &
  pids+=($!)
  kubectl config set-cluster test --server="https://127.0.0.1:$port" --insecure-skip-tls-verify >/dev/null
  kubectl config set-credentials admin --token=admintoken >/dev/null
  kubectl config set-context test --cluster=test --user=admin >/dev/null
  kubectl config use-context test >/dev/null
  if ! await 600 kubectl get namespace default; then
    tail -5 "$folder"/*.log >&2
    exit 1
  fi
}

# The server's CronJob is batch/v1beta1 and lacks two fields of Kubernetes 1.29.
apply() {
  sed -e 's|^apiVersion: batch/v1$|apiVersion: batch/v1beta1|' \
    -e '/^ *\(backoffLimitPerIndex: 0\|completionMode: Indexed\)$/d' |
    kubectl apply --server-side --force-conflicts --validate=false --filename - 2>&1
}

# render VALUES OPTIONS...
render() { helm template muster "$chart" --namespace muster --values "$1" "${@:2}" 2>"$folder/helm.log" || cat "$folder/helm.log" >&2; }

accepts_every_object() {
  local values output file
  python3 "$sources/tests/deploy/kubernetes/crds.py" "$sources/tests/deploy/schemas/kubernetes.json" |
    kubectl create --validate=false --filename - >"$folder/output" 2>&1 || fail "$(cat "$folder/output")"
  await 50 kubectl wait --for condition=established --timeout=60s crd --all || fail "definitions"
  output=$(apply <"$sources/deploy/kubernetes/muster.yaml") || fail "muster.yaml: $output"
  for values in "$chart"/ci/*.yaml; do
    output=$(render "$values" | apply) || fail "$values: $output"
  done
  for file in "$sources"/deploy/kubernetes/policies/*.yaml; do
    [[ $file == */nvsentinel.yaml ]] && continue # values of a chart
    output=$(apply <"$file") || fail "$file: $output"
  done
  # A wrong type is refused: the server does look.
  output=$(render "$chart/ci/jobset.yaml" | sed 's/replicas: 1/replicas: one/' | apply) || true
  [[ $output == *'replicas in body must be of type integer'* ]] || fail "a JobSet of \"one\" replica: $output"

  # The page's command that adds muster to a node-problem-detector.
  kubectl apply --validate=false --filename "$sources/tests/deploy/kubernetes/npd.yaml" >/dev/null || fail "npd.yaml"
  (cd "$sources" && bash -c "$(sed -n '/^sed .*patch.yaml/,/^  kubectl/p' docs/deploy/kubernetes.md)") >/dev/null ||
    fail "node-problem-detector.patch.yaml"
}

# request TOKEN METHOD PATH [BODY]: prints the status of the answer.
request() {
  python3 - "$1" "$2" "https://127.0.0.1:$port$3" "${4:-}" "$folder/account/ca.crt" <<'END'
import ssl, sys, urllib.error, urllib.request
token, method, url, body, authority = sys.argv[1:]
kind = "strategic-merge-patch+json" if method == "PATCH" else "json"
request = urllib.request.Request(url, body.encode() or None, method=method, headers={
    "Authorization": "Bearer " + token, "Content-Type": "application/" + kind})
try:
    print(urllib.request.urlopen(request, context=ssl.create_default_context(cafile=authority)).status)
except urllib.error.HTTPError as error:
    print(error.code)
END
}

enforces_the_roles() {
  local expected method path body status event
  mkdir -p "$folder/account"
  kubectl create token muster-agent --namespace muster >"$folder/account/token" || fail "no token"
  cp "$folder/certificates/apiserver.crt" "$folder/account/ca.crt"
  kubectl apply --validate=false --filename - >/dev/null <<<'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-0"}}'
  event='{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "x"}, "involvedObject": {"kind": "Node", "name": "x"}}'
  while read -r expected method path body; do
    status=$(request "$(cat "$folder/account/token")" "$method" "$path" "$body")
    [[ $status == "$expected" ]] || fail "the agent: $method $path: $status, expected $expected"
  done <<END
200 PATCH /api/v1/nodes/gpu-0/status {}
201 POST /api/v1/namespaces/default/events $event
403 POST /api/v1/namespaces/muster/events $event
403 PATCH /api/v1/namespaces/default/events/x {}
403 GET /api/v1/namespaces/default/events
403 GET /api/v1/nodes
403 GET /api/v1/nodes/gpu-0
403 GET /api/v1/nodes/gpu-0/status
403 PUT /api/v1/nodes/gpu-0/status {}
403 PATCH /api/v1/nodes/gpu-0 {"spec": {"unschedulable": true}}
403 DELETE /api/v1/nodes/gpu-0
403 GET /api/v1/pods
403 GET /api/v1/namespaces/muster/secrets
403 GET /api/v1/namespaces/muster/configmaps
END
  # Another account of the namespace has none of these rights.
  kubectl create serviceaccount other --namespace muster >/dev/null
  status=$(request "$(kubectl create token other --namespace muster)" PATCH /api/v1/nodes/gpu-0/status '{}')
  [[ $status == 403 ]] || fail "another account may patch nodes/status: $status"
}

# condition TYPE FIELD
condition() {
  kubectl get node gpu-0 --output "jsonpath={.status.conditions[?(@.type==\"$1\")].$2}"
}

is() { [[ $(condition MusterUnfit status)/$(condition MusterUndecided status) == "$1" ]]; }

profile() {
  printf 'schema: muster.profile/1\nname: site\nextends: generic\n%s\n' "$1" >"$folder/site.new"
  mv "$folder/site.new" "$folder/site.yaml"
}

start_agent() {
  env KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT="$port" NODE_NAME=gpu-0 "$muster" agent \
    --service-account="$folder/account" --interval=1s --metrics="$folder/muster.prom" --check=--profile="$folder/site.yaml" \
    --check=--only=host.programs,host.memory --check=--state="$folder/state" >>"$folder/agent.log" 2>&1 &
  agent=$!
  pids+=("$agent")
}

shows_the_verdict() {
  local fit='host: {programs: {executable: [/bin/sh]}}' unfit='host: {memory: {total: 900 TiB}}' since
  profile "$fit"
  start_agent
  await 150 is False/False || fail "a healthy node is $(condition MusterUnfit status)"
  grep -q '^muster_verdict{.*} 0$' "$folder/muster.prom" || fail "no metrics of a healthy node"
  since=$(condition MusterUnfit lastTransitionTime)

  # The time of a condition survives a new agent.
  kill "$agent" && wait "$agent" 2>/dev/null
  sleep 1.1
  start_agent
  await 150 grep -q 'lastHeartbeatTime' <(kubectl get node gpu-0 --output yaml)
  sleep 3
  [[ $(condition MusterUnfit lastTransitionTime) == "$since" ]] || fail "a new agent changes lastTransitionTime"

  profile "$unfit"
  await 150 is True/False || fail "an unfit node is $(condition MusterUnfit status)"
  [[ $(condition MusterUnfit message) == *host.memory* && $(condition MusterUnfit reason) == MusterUnfit ]] ||
    fail "the message is $(condition MusterUnfit message)"
  grep -q '^muster_verdict{.*} 3$' "$folder/muster.prom" || fail "no metrics of an unfit node"
  # The command that helm install prints shows it.
  [[ $(bash -c "$(sed -n 's/^  \(kubectl get nodes -o custom-columns.*\)/\1/p' "$sources/docs/deploy/kubernetes.md")") == *gpu-0*True*False* ]] ||
    fail "custom-columns"
  [[ $(condition MusterUnfit lastTransitionTime) > $since ]] || fail "lastTransitionTime does not change"

  profile 'host: {memory: {nonsense: 1}}'
  await 150 is Unknown/True || fail "an undecided node is $(condition MusterUnfit status)"
  [[ $(condition MusterUndecided message) == *nonsense* ]] || fail "the message is $(condition MusterUndecided message)"
  grep -q '^muster_verdict{.*} 2$' "$folder/muster.prom" || fail "no metrics of an undecided node"

  profile "$fit"
  await 150 is False/False || fail "a healthy node stays $(condition MusterUnfit status)"
  local events
  events=$(kubectl get events --namespace default --field-selector involvedObject.name=gpu-0 \
    --output 'jsonpath={range .items[*]}{.type} {.reason}{"\n"}{end}' | sort | uniq --count)
  [[ $events == *"Warning MusterUnfit"* && $events == *"Warning MusterUndecided"* && $events == *"Normal NoFinding"* ]] ||
    fail "events: $events"

  # Only a certificate from the cluster's authority is accepted.
  kill "$agent" && wait "$agent" 2>/dev/null
  openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=other -keyout /dev/null -out "$folder/account/ca.crt" 2>/dev/null
  : >"$folder/agent.log"
  start_agent
  await 150 grep -q 'certificate verify failed' "$folder/agent.log" || fail "a false server: $(cat "$folder/agent.log")"
}

# The page's command to remove the conditions.
removes_the_conditions() {
  kill "$agent" 2>/dev/null
  bash -c "$(sed -n '/^kubectl get nodes.*|$/,/^  done$/p' "$sources/docs/deploy/kubernetes.md")" >/dev/null || fail "conditions stay"
  is / || fail "conditions stay: $(condition MusterUnfit status)"
}

# Two ranks with the command and the environment of the JobSet's pods meet, and agree on a result.
ranks_meet() {
  local job rank
  job=$(render "$chart/ci/jobset.yaml" --set node.env=null)
  for rank in 0 1; do
    python3 -c 'import sys, yaml
for each in yaml.safe_load_all(sys.stdin):
    if each["kind"] == "JobSet":
        job = each["spec"]["replicatedJobs"][0]["template"]["spec"]
        container = job["template"]["spec"]["containers"][0]
        for one in container["env"]:
            print(one["name"] + "=" + one.get("value", {"RANK": sys.argv[1]}.get(one["name"], "secret-of-the-job")))' \
      "$rank" <<<"$job" >"$folder/env.$rank"
    sed -i "s|^MASTER_ADDR=muster-all-reduce-node-0-0.muster-all-reduce$|MASTER_ADDR=127.0.0.1|" "$folder/env.$rank"
    mapfile -t variables <"$folder/env.$rank"
    env "${variables[@]}" MASTER_PORT="${ports[3]}" MUSTER_HOSTNAME="node-$rank" timeout 100 "$bench" all_reduce --max 64KiB \
      >"$folder/rank.$rank" 2>&1 &
    ranks[rank]=$!
  done
  wait "${ranks[@]}"
  grep -q 'Out of bounds values : 0 OK' "$folder/rank.0" || fail "ranks: $(cat "$folder/rank.0" "$folder/rank.1")"
}

start_server
accepts_every_object
enforces_the_roles
shows_the_verdict
removes_the_conditions
ranks_meet
echo "$failures failures"
[[ $failures -eq 0 ]]
