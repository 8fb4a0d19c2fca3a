#!/usr/bin/env bash
# In a container muster judges nothing that describes the container instead of the node, and with --host it reports on the
# node. PID 1 of a new PID namespace plays the node: joining the real PID 1 takes capabilities that a machine for tests may
# lack. Its containers are children in further namespaces, or Docker's.
# usage: container.sh PATH_OF_MUSTER namespaces|docker
set -euo pipefail

muster=$(realpath "$1")
kind=$2

skip() {
  echo "container: $*"
  exit 77
}

fail() {
  echo "container: $*" >&2
  exit 1
}

own=(--mount --net --uts --ipc)
if [[ -z ${3-} ]]; then
  [[ $EUID == 0 ]] || skip "only root can make namespaces"
  needed=(jq ip setpriv unshare pivot_root)
  [[ $kind == namespaces ]] || needed+=(docker dockerd)
  for program in "${needed[@]}"; do
    command -v "$program" >/dev/null || skip "$program is not installed"
  done
  unshare "${own[@]}" --pid --fork --mount-proc mount -t sysfs sysfs /sys ||
    skip "unshare or mount failed: CAP_SYS_ADMIN is missing"
  work=$(mktemp --directory --tmpdir="${TMPDIR:-/var/tmp}")
  trap 'rm -rf "$work"' EXIT
  unshare "${own[@]}" --pid --fork --mount-proc bash "$0" "$muster" "$kind" "$work"
  exit
fi

# From here on this is PID 1 of the node.
work=$3
hostname node-7
mkdir "$work/cgroup"
mount --rbind /sys/fs/cgroup "$work/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$work/cgroup" /sys/fs/cgroup
umount --recursive --lazy "$work/cgroup"
ip link add fabric0 type veth peer name fabric1
mkdir "$work/scratch" "$work/states"
mount -t tmpfs -o size=64m tmpfs "$work/scratch"

# run EXPECTED NAME COMMAND... runs muster, which must end with that status. Its output is in NAME.out and NAME.err.
run() {
  local expected=$1 to=$work/$2 status=0
  shift 2
  "$@" >"$to.out" 2>"$to.err" || status=$?
  [[ $status == "$expected" ]] || fail "$* ended with $status, expected $expected: $(tail --lines=3 "$to.out" "$to.err")"
}

# The image holds the program and its libraries, and nothing else.
root=$work/root
mkdir -p "$root"/{dev,proc,sys,old,tmp,etc/muster,var/lib/muster,out}
mknod "$root/dev/null" c 1 3
cp "$muster" "$root/muster"
for file in $(ldd "$muster" | grep -o '/[^ ]*'); do
  mkdir -p "$root$(dirname "$file")"
  cp --dereference "$file" "$root$file"
done

lacking=() # capabilities

# container private|shared ARGUMENT... runs muster in a container with its own PID namespace, or with the node's.
if [[ $kind == namespaces ]]; then
  # Becomes a container and then the program: enter ROOT PROGRAM...
  cat >"$work/enter" <<'END'
set -euo pipefail
hostname pod-1
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
pivot_root . old
cd /
shift
exec "$@"
END
  container() {
    local options=() dropped
    [[ $1 == shared ]] || options=(--pid --fork)
    shift
    dropped=$(printf -- '-%s,' audit_read "${lacking[@]}")
    unshare "${own[@]}" "${options[@]}" env --ignore-environment PATH="$PATH" KUBERNETES_SERVICE_HOST=10.0.0.1 \
      NCCL_DEBUG=INFO setpriv --bounding-set "${dropped%,}" bash "$work/enter" "$root" /muster "$@"
  }
else
  export DOCKER_HOST=unix://$work/docker.sock
  dockerd --data-root "$work/docker" --exec-root "$work/exec" --host "$DOCKER_HOST" --pidfile "$work/docker.pid" \
    --iptables=false --bridge=none &>"$work/dockerd.log" &
  trap 'kill "$(cat "$work/docker.pid")" && wait' EXIT
  for ((tries = 0; tries < 300; tries++)); do
    docker info &>/dev/null && break
    sleep 0.1
  done
  docker info &>/dev/null || skip "dockerd does not start: $(grep --max-count=1 level=error "$work/dockerd.log" || tail --lines=1 "$work/dockerd.log")"
  tar --create --directory "$root" . | docker import --change 'ENTRYPOINT ["/muster"]' - muster >/dev/null
  container() {
    local options=(--rm --network none --hostname pod-1 --env KUBERNETES_SERVICE_HOST=10.0.0.1 --env NCCL_DEBUG=INFO
      --volume "$root/out:/out" --volume "$root/etc:/etc" --volume "$root/var/lib/muster:/var/lib/muster") each
    # As --privileged, without the capability that a machine may lack; the device is /dev/kmsg.
    [[ $1 == private ]] || options+=(--pid host --cap-add ALL --cap-drop SYS_RESOURCE --device-cgroup-rule "c 1:11 r"
      --security-opt seccomp=unconfined --security-opt apparmor=unconfined)
    shift
    for each in "${lacking[@]}"; do options+=(--cap-drop "${each^^}"); done
    docker run "${options[@]}" muster "$@"
  }
fi

# Without outcomes that change from one moment to the next.
outcomes() {
  jq --sort-keys '[.checks[] | select(.id | IN("host.load", "host.stuck_tasks", "host.memory_available") | not)]' "$1"
}

outcome() {
  jq --raw-output --arg id "$2" '.checks[] | select(.id == $id).outcome' "$1"
}

check=(check --format json -v)

# Without --host: unknown, whatever the container shows.
run 2 private container private "${check[@]}"
for id in host.mounts host.disk host.services host.programs host.ethernet host.kernel_log host.stuck_tasks; do
  [[ $(outcome "$work/private.out" $id) == @(unknown|skip) ]] || fail "$id was judged in a container"
done
jq --exit-status '.verdict == "unknown" and (.container | contains("a Kubernetes pod"))' "$work/private.out" >/dev/null ||
  fail "the report does not mention the container: $(jq .container "$work/private.out")"
run 0 shared container shared snapshot
jq --exit-status '.identity.facts.container.namespaces == ["mnt", "net", "ipc", "uts"]
  and .mounts.status == "error" and .mounts.reason == "in a container, start it with --host"
  and (.processes.facts.zombies | type == "array")' "$work/shared.out" >/dev/null ||
  fail "unexpected snapshot: $(jq --compact-output '.identity, .mounts' "$work/shared.out")"

# With --host: as on the node.
status=0
"$muster" "${check[@]}" --state "$work/states" >"$work/node.out" 2>"$work/node.err" || status=$?
rm --force "$root/var/lib/muster"/* # of the runs before
run "$status" host container shared "${check[@]}" --host
diff <(outcomes "$work/node.out") <(outcomes "$work/host.out") || fail "--host differs from the node"
jq --exit-status '.node == "node-7" and (has("container") | not)' "$work/host.out" >/dev/null ||
  fail "not a report of the node: $(jq --compact-output '.node, .container' "$work/host.out")"
[[ -s $root/var/lib/muster/state.json ]] || fail "the state is not in the container"
run 0 snapshot container shared snapshot --host --output /out/node.json
jq --exit-status --arg scratch "$work/scratch" '
  .identity.facts.hostname == "node-7"
  and ([.mounts.facts.mounts[].point] | index($scratch) != null)
  and ([.network.facts.interfaces[].name] == ["fabric0", "fabric1"])
  and ([.environment.facts.nccl[]?.name] | index("NCCL_DEBUG") == null)' "$root/out/node.json" >/dev/null ||
  fail "not a snapshot of the node: $(jq --compact-output '.identity, .network' "$root/out/node.json")"

# Files that are named are the container's, also by a relative name.
printf 'schema: muster.profile/1\nname: pods\nsummary: of a test\n' >"$root/etc/pods.yaml"
rm --force "$root/var/lib/muster"/*
run "$status" profile container shared "${check[@]}" --host --profile etc/pods.yaml
[[ $(jq --raw-output .profile "$work/profile.out") == pods ]] || fail "the profile is not the container's"

# On the node itself --host changes nothing.
run "$status" itself "$muster" "${check[@]}" --host --state "$work/states/2"
diff <(outcomes "$work/node.out") <(outcomes "$work/itself.out") || fail "--host changes the node's own report"

# refused WHY ARGUMENT... is undecided, and names what is missing.
refused() {
  local why=$1
  shift
  run 2 refused "$@"
  grep --quiet --fixed-strings -e "$why" "$work/refused.err" || fail "expected \"$why\": $(cat "$work/refused.err")"
}

refused "PID 1 is not known to be the host's" container private check --host
lacking=(sys_chroot sys_ptrace)
refused "CAP_SYS_CHROOT, CAP_SYS_PTRACE missing" container shared check --host
run 1 npd container shared check --host --format npd_undecided
grep --quiet CAP_SYS_CHROOT "$work/npd.out" || fail "node-problem-detector gets no reason: $(cat "$work/npd.out")"
