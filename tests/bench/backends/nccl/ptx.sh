#!/usr/bin/env bash
# Fails if a kernels.ptx differs from what tools/make-ptx.sh makes of the kernels.cu next to it, or if ptxas does not
# assemble it. If nvcc is missing or has a different version, only ptxas is run (if installed), and the exit status is
# 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../.."

folders='bench/backends/nccl bench/node'
work=$(mktemp --directory)
trap 'rm --recursive --force "$work"' EXIT
PATH="$PATH:/usr/local/cuda/bin"
skipped=77

if command -v ptxas >/dev/null; then
  known=$(ptxas --help)
  for target in sm_70 sm_75 sm_80 sm_90 sm_100; do
    grep --quiet "'$target'" <<<"$known" || continue
    for folder in $folders; do
      ptxas --gpu-name "$target" --output-file "$work/$target" "$folder/kernels.ptx"
      echo "$folder/kernels.ptx becomes machine code for $target"
    done
  done
fi

command -v nvcc >/dev/null || exit "$skipped"
made_by() { sed -n '2s/.*with nvcc \([0-9.]*\).*/\1/p' "$1"; }
for folder in $folders; do
  tools/make-ptx.sh "$folder" "$work/kernels.ptx"
  [[ $(made_by "$folder/kernels.ptx") == "$(made_by "$work/kernels.ptx")" ]] || exit "$skipped"
  diff --unified "$folder/kernels.ptx" "$work/kernels.ptx"
done
