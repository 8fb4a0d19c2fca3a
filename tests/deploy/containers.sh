#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The images of deploy/container, built by Docker on a Debian root that mmdebstrap makes, and run as
# docs/deploy/containers.md shows: each command and each finding below must be in that page. Podman adds the
# fake NVML through CDI. Needs root; if something is missing, prints its name and exits with 77.
#
#   containers.sh SOURCE PACKAGES FAKES BASE     FAKES are libraries of tests/fakes, BASE is the root's tar, which
#                                                is made if it does not exist
set -uo pipefail

source=$1 packages=$2 fakes=$3 base=$4
page=$source/docs/deploy/containers.md
version=$(sed -n 's/^project(muster VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
for program in dockerd runc iptables podman mmdebstrap jq ssh-keygen; do
  command -v "$program" >/dev/null || {
    echo "skipped: $program is not installed (tools/install-deps.sh deploy)"
    exit 77
  }
done
[[ $(id --user) -eq 0 ]] || {
  echo "skipped: only root starts dockerd"
  exit 77
}
[[ -f $(echo "$packages/muster-$version"-linux-*.tar.gz) ]] || {
  echo "skipped: $packages has no packages (tools/package.sh)"
  exit 77
}

work=$(mktemp --directory)
failures=0
export DOCKER_HOST=unix://$work/docker.sock DOCKER_BUILDKIT=0
# Debian's, in case another client without a builder comes first in PATH.
docker() { /usr/bin/docker "$@"; }

end() {
  local id
  for id in $(docker ps --quiet 2>/dev/null); do docker kill "$id" >/dev/null; done
  [[ ! -f $work/docker.pid ]] || { kill "$(cat "$work/docker.pid")" && wait "$daemon"; }
  "${podman[@]}" rmi --all --force >/dev/null 2>&1
  rm -rf "$work" "$cdi"
}
daemon=
cdi=/etc/cdi/muster-test-$$.json
podman=(podman --root "$work/podman" --runroot "$work/podman.run" --storage-driver overlay)
trap end EXIT

fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}

# STATUS WORDS COMMAND: the page shows the command, which exits with that status and prints something that matches
# the words. Sets `said`.
shows() {
  local expected=$1 words=$2 command=$3 status
  grep --quiet --fixed-strings -- "$command" "$page" || fail "the page does not show: $command"
  said=$(cd "$source" && eval "$command" 2>&1)
  status=$?
  [[ $status -eq $expected ]] || fail "$command: status $status, expected $expected: $said"
  grep --quiet --extended-regexp -- "$words" <<<"$said" || fail "$command: expected \"$words\" in: $said"
}

dockerd --data-root "$work/docker" --exec-root "$work/docker.run" -H "$DOCKER_HOST" \
  --pidfile "$work/docker.pid" >"$work/dockerd.log" 2>&1 &
daemon=$!
for _ in {1..100}; do
  ! docker version >/dev/null 2>&1 || break
  sleep 0.3
done
docker version >/dev/null 2>&1 || {
  echo "skipped: dockerd does not start here: $(tail -n 1 "$work/dockerd.log")"
  exit 77
}
[[ -f $base ]] || {
  mkdir -p "$(dirname "$base")"
  mmdebstrap --quiet --variant=minbase --format=tar bookworm "$base.new" "$("$source/tools/debian-mirror.sh")" || exit 1
  mv "$base.new" "$base"
}
docker import "$base" debian:root >/dev/null || exit 1

# Both images.
for image in muster muster-bench; do
  ENGINE=/usr/bin/docker PACKAGES=$packages "$source/deploy/container/build.sh" "$image" debian:root \
    >"$work/built" 2>"$work/$image.log" || {
    tail -n 20 "$work/$image.log" >&2
    exit 1
  }
  [[ $(cat "$work/built") == "$image:$version" ]] || fail "build.sh printed $(cat "$work/built")"
  labels=$(docker inspect --format '{{json .Config.Labels}}' "$image")
  for label in "version:$version" "licenses:Apache-2.0" "title:$image" "revision:$(git -C "$source" rev-parse HEAD)"; do
    [[ $(jq --raw-output ".\"org.opencontainers.image.${label%%:*}\"" <<<"$labels") == "${label#*:}" ]] ||
      fail "$image has no label $label: $labels"
  done
  id=$(docker create "$image")
  docker cp "$id:/usr/share/muster" "$work/$image.files" >/dev/null
  docker rm "$id" >/dev/null
  for package in muster libc6 libibverbs1; do
    jq --slurp --exit-status "map(.packages[].name) | flatten | index(\"$package\")" \
      "$work/$image.files/"*.spdx.json >/dev/null || fail "no SBOM of $image lists $package"
  done
done
megabytes=$(($(docker save muster | gzip | wc --bytes) / 1000000))
echo "muster: $megabytes MB compressed"
((megabytes <= 40)) || fail "the image muster has $megabytes MB compressed, expected at most 40"

# One node. --host itself is not possible in every test environment, but names what it lacks.
shows 2 'verdict .* is unknown' \
  "docker run --rm --read-only --cap-drop ALL --network none muster"
shows 2 'CAP_SYS_ADMIN missing' "docker run --rm muster check --host"
grep --quiet --fixed-strings -- "$said" "$page" || fail "the page does not show: $said"
said=$(docker run --rm muster check --quiet 2>&1)
[[ $said != *warning* ]] || fail "muster cannot write its state in the image: $said"
shows 0 'Out of bounds values : 0 OK' \
  "docker run --rm muster-bench muster-bench all_reduce --local 2 --max 1MiB"

# Two nodes.
keys=$work/ssh
mkdir "$keys"
ssh-keygen -q -t ed25519 -N '' -f "$keys/id_ed25519"
cp "$keys/id_ed25519.pub" "$keys/authorized_keys"
docker network create muster >/dev/null
for node in node1 node2; do
  shows 0 '^[0-9a-f]{64}$' "docker run --detach --rm --name $node --hostname $node --network muster \
--volume \"\$keys:/root/.ssh:ro\" muster-bench /usr/libexec/muster/start-sshd"
done
for _ in {1..60}; do
  ! docker exec node1 ssh node2 true 2>/dev/null || break
  sleep 1
done
shows 0 'on +node2 ' "docker exec node1 mpirun -n 2 --bind-to none --host node1:1,node2:1 \
muster-bench all_reduce --max 64KiB -v"
grep --quiet 'muster-bench all_reduce, Open MPI' <<<"$said" || fail "MPI was not used: $said"
docker kill node1 node2 >/dev/null

# A fake GPU for each of two ranks, which stand for two nodes. The fakes' own libraries are not in the image.
mkdir "$work/libraries"
ldd "$fakes/cuda/libcuda.so.1" "$fakes/nccl/libnccl.so.2" "$fakes/nvml-580/libnvidia-ml.so.1" |
  sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | grep --invert-match --extended-regexp '/(libc|libm)\.so' | sort --unique |
  xargs --no-run-if-empty cp --dereference --target-directory "$work/libraries"
cat >"$work/ranks.sh" <<'EOF'
export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 MUSTER_FAKE_GPU=/test/scenario.json LD_LIBRARY_PATH=/test/libraries
rank() {
  RANK=$1 LOCAL_RANK=0 MUSTER_HOSTNAME=node$1 muster-bench all_reduce --sizes 1GiB --profile nd96isr_h100_v5 -q \
    --cuda /fakes/cuda/libcuda.so.1 --nccl /fakes/nccl/libnccl.so.2
}
rank 1 &
rank 0
EOF
# An HCA: its files in sysfs, and a device file that can be opened.
mkdir -p "$work/sys/class/infiniband_verbs/uverbs0/device" "$work/sys/fs/cgroup" "$work/none"
echo 6 >"$work/sys/class/infiniband_verbs/abi_version"
echo 1 >"$work/sys/class/infiniband_verbs/uverbs0/abi_version"
echo mlx5_ib0 >"$work/sys/class/infiniband_verbs/uverbs0/ibdev"
echo 1:3 >"$work/sys/class/infiniband_verbs/uverbs0/dev"
echo 'pci:v000015B3d0000101Esv000015B3sd00000024bc02sc07i00' >"$work/sys/class/infiniband_verbs/uverbs0/device/modalias"
mkdir -p "$work/sys/class/infiniband/mlx5_ib0/ports/1"
echo 1 >"$work/sys/class/infiniband/mlx5_ib0/node_type"

# CAUSE WORDS SCENARIO OPTIONS...: what the finding names, which the page shows.
names() {
  local cause=$1 words=$2 scenario=$3
  shift 3
  echo "{\"gpus\": 1, \"busbw\": {\"*\": 400}, $scenario}" >"$work/scenario.json"
  said=$(docker run --rm --volume "$work/sys:/sys" --volume "$work:/test:ro" --volume "$fakes:/fakes:ro" \
    "$@" muster-bench sh /test/ranks.sh 2>&1)
  grep --quiet --fixed-strings -- "$words" <<<"$said" || fail "$cause: expected \"$words\" in: $said"
  grep --quiet --fixed-strings -- "$words" "$page" || fail "the page does not have: $words"
}
hca=(--device /dev/null:/dev/infiniband/uverbs0)
lock=(--cap-add IPC_LOCK)
tcp='"network": "socket"'
names "no device" \
  "/dev/infiniband/uverbs0 cannot be used" "$tcp" "${lock[@]}"
names "no provider" \
  "# fail     bench.transport       job  ib and gdr were not used: 2 of 2 pairs of ranks on different nodes use NET/Socket (eth0): NCCL sees no HCA: libibverbs has no provider for mlx5_ib0: install ibverbs-providers in the image; used: between nodes NET/Socket (eth0) -> fix the configuration" "$tcp" \
  "${lock[@]}" "${hca[@]}" --volume "$work/none:/etc/libibverbs.d"
names "locked memory" \
  "only 64 KiB of memory may be locked: give the container the capability IPC_LOCK, or --ulimit memlock=-1" \
  "$tcp" "${hca[@]}" --ulimit memlock=65536:65536
names "shared memory" \
  "/dev/shm has 64 MiB, expected at least 1024: give the container --shm-size=1g, or an emptyDir in memory (Kubernetes)" \
  '"warning": "Error: failed to extend /dev/shm/nccl-x to 9637892 bytes, error: No space left on device (28)", "answers": {"ncclAllReduce": 2}' \
  "${lock[@]}" "${hca[@]}"
[[ $said == *"# unknown  bench.completion"* ]] || fail "the container's shared memory accuses its node: $said"

# The driver's NVML, as NVIDIA's container toolkit adds it.
mounts=$(find "$work/libraries" -type f -printf '{"hostPath": "%p", "containerPath": "/lib/x86_64-linux-gnu/%f", "options": ["ro", "bind"]},')
mkdir -p /etc/cdi
cat >"$cdi" <<EOF
{"cdiVersion": "0.3.0", "kind": "muster.test/gpu", "devices": [{"name": "all", "containerEdits": {"mounts": [$mounts
  {"hostPath": "$fakes/nvml-580/libnvidia-ml.so.1",
   "containerPath": "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "options": ["ro", "bind"]}]}}]}
EOF
docker save muster --output "$work/muster.tar"
"${podman[@]}" --cgroup-manager cgroupfs load --quiet --input "$work/muster.tar" >/dev/null
said=$("${podman[@]}" --cgroup-manager cgroupfs --runtime runc run --rm --network none --ulimit nofile=1024:1024 \
  --ulimit nproc=1024:1024 --device muster.test/gpu=all muster snapshot 2>/dev/null)
[[ $(jq --raw-output .nvml.status <<<"$said") == ok ]] || fail "no NVML by CDI: $said"

((failures == 0)) || exit 1
echo "ok"
