#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The files of deploy/azureml: Azure ML's own library (Debian's python3-azure) loads each and refuses corrupted copies,
# and the command of each job runs here as two processes that get the variables of its distribution, on fake GPUs.
# Exits with 77 and the name of what is missing.
#
#   azureml.sh SOURCE BENCH FAKES
set -uo pipefail

source=$1 bench=$2 fakes=$3
for need in /usr/lib/python3/dist-packages/{azure/ai/ml,marshmallow,strictyaml}; do
  [[ -d $need ]] || {
    echo "skipped: ${need##*/} is not installed (tools/install-deps.sh deploy)"
    exit 77
  }
done
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}

# azure-ai-ml needs pydash, which is pure Python and in Debian since trixie.
if ! /usr/bin/python3 -c 'import pydash' 2>/dev/null; then
  mkdir -p "$work/lists/partial"
  echo "deb $("$source/tools/debian-mirror.sh") trixie main" >"$work/sources.list"
  of_trixie() {
    apt-get --quiet --quiet -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
      -o Dir::State::lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
      -o APT::Sandbox::User=root "$@"
  }
  (cd "$work" && of_trixie update && of_trixie download python3-pydash && dpkg-deb --extract python3-pydash*.deb root) || {
    echo "skipped: python3-pydash cannot be downloaded"
    exit 77
  }
  export PYTHONPATH=$work/root/usr/lib/python3/dist-packages
fi

# Prints the distribution and the command of a job; fails with the library's reason.
load() {
  /usr/bin/python3 - "$1" <<'EOF' 2>"$work/errors"
import sys
from azure.ai.ml import load_environment, load_job
path = sys.argv[1]
if "environment" in path:
    load_environment(path)
else:
    job = load_job(path)
    command = job.command
    for name, value in job.inputs.items():
        command = command.replace("${{inputs.%s}}" % name, str(value._data))
    print(job.distribution.type.lower(), command)
EOF
}

load "$source/deploy/azureml/environment.yml" || fail "environment.yml: $(tail -n 1 "$work/errors")"
sed 's/process_count_per_instance/process_count_per_node/' "$source/deploy/azureml/job.yml" >"$work/job.yml"
! load "$work/job.yml" || fail "an unknown key is accepted"
sed 's/type: mpi/type: slurm/' "$source/deploy/azureml/job.yml" >"$work/job.yml"
! load "$work/job.yml" || fail "an unknown distribution is accepted"

# One process on each of two nodes, whose fake GPUs are behind fake HCAs.
export MUSTER_FAKE_GPU=$work/scenario.json PATH=$work/bin:$PATH
mkdir "$work/bin"
cat >"$work/bin/muster-bench" <<EOF
#!/bin/sh
export MUSTER_HOSTNAME=node\${OMPI_COMM_WORLD_RANK:-\$NODE}
exec "$bench" "\$@" --cuda "$fakes/cuda/libcuda.so.1" --nccl "$fakes/nccl/libnccl.so.2"
EOF
chmod +x "$work/bin/muster-bench"

# DISTRIBUTION COMMAND NODE: starts the command on a node like Azure ML.
start_on() {
  local distribution=$1 command=$2
  export NODE=$3
  case $distribution in
    pytorch)
      MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2 NODE_RANK=$NODE RANK=$NODE LOCAL_RANK=0 \
        bash -c "$command"
      ;;
    tensorflow)
      TF_CONFIG="{\"cluster\": {\"worker\": [\"127.0.0.1:$port\", \"127.0.0.1:$((port + 1))\"]},
        \"task\": {\"type\": \"worker\", \"index\": $NODE}, \"environment\": \"cloud\"}" bash -c "$command"
      ;;
    *)
      echo "unknown distribution $distribution"
      return 1
      ;;
  esac
}
port=$((20000 + $$ % 10000))
for file in "$source"/deploy/azureml/job*.yml; do
  job=${file##*/}
  load "$file" >"$work/loaded" || fail "$job: $(tail -n 1 "$work/errors")"
  read -r distribution command <"$work/loaded"
  port=$((port + 200))
  if [[ $distribution == mpi ]]; then
    echo '{"gpus": 2, "hosts": [0, 1]}' >"$work/scenario.json" # both on this machine
    AZ_BATCH_MASTER_NODE=127.0.0.1:6000 mpirun --allow-run-as-root --oversubscribe -n 2 bash -c "$command" \
      >"$work/out" 2>&1
  else
    echo '{"gpus": 1}' >"$work/scenario.json"
    start_on "$distribution" "$command" 1 >"$work/other" 2>&1 &
    start_on "$distribution" "$command" 0 >"$work/out" 2>&1
    wait
  fi
  # The profile has eight GPUs, so the bandwidth of one is not judged.
  for words in 'unknown  bench.job_all_reduce .* here 2 ranks ran on 2 nodes' 'pass     bench.completion ' \
    'pass     bench.data ' 'pass     bench.transport  .*NET/IB/GDRDMA' 'verdict  the job on node0, node1 is unknown: 3 of 4'; do
    grep --quiet -- "$words" "$work/out" || fail "$job: expected \"$words\" in: $(cat "$work/out")"
  done
done
# The page shows what the job prints on a model of its nodes.
load "$source/deploy/azureml/job.yml" >"$work/loaded"
read -r _ command <"$work/loaded"
bash -c "${command/muster-bench/$bench} --backend sim" | grep '^# pass ' >"$work/passes" ||
  fail "job.yml prints no pass on a model of its nodes"
sed -n '/^# pass /p' "$source/docs/deploy/azureml.md" | diff - "$work/passes" || fail "azureml.md shows something else"
((failures == 0)) || exit 1
echo "ok"
