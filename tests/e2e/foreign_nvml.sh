#!/usr/bin/env bash
# Other programs accept the fake NVML: nvtop 3.1 or later shows its GPUs, if it is installed. muster reads
# NVIDIA's mock library, if MUSTER_MOCK_NVML names it.
set -euo pipefail

muster=$1
node=$2  # the program that writes simulated nodes
fakes=$3 # the folder with the fake NVML of each branch
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
ran=no

# Counts the GPUs that nvtop shows with a fake library.
shown() {
  MUSTER_FAKE_NVML=$work/tree/nvml/scenario LD_LIBRARY_PATH=$1 timeout 60 nvtop --snapshot |
    grep --count '"device_name": "NVIDIA H100 80GB HBM3"'
}

if nvtop --help 2>/dev/null | grep --quiet -- --snapshot; then
  ran=yes
  "$node" render nd96isr_h100_v5 "$work/tree"
  for branch in 470 535 580; do
    count=$(shown "$fakes/nvml-$branch") || true
    if [[ $count -ne 8 ]]; then
      echo "foreign_nvml: of the 8 GPUs of branch $branch nvtop shows ${count:-none}" >&2
      exit 1
    fi
  done
fi

if [[ -n ${MUSTER_MOCK_NVML:-} ]]; then
  ran=yes
  "$muster" snapshot --nvml "$MUSTER_MOCK_NVML" --output "$work/snapshot.json"
  # Each has a name at least.
  if ! grep --quiet '"uuid": *"GPU-' "$work/snapshot.json"; then
    echo "foreign_nvml: no GPU of $MUSTER_MOCK_NVML has a UUID in the snapshot" >&2
    exit 1
  fi
fi

if [[ $ran == no ]]; then
  echo "foreign_nvml: neither nvtop 3.1 nor MUSTER_MOCK_NVML is here"
  exit 77
fi
