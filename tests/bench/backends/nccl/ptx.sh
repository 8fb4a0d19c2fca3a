#!/usr/bin/env bash
# Fails when a kernels.ptx is not what tools/make-ptx.sh makes of the kernels.cu beside it, or does not
# become machine code. Leaves with 77 where nvcc is missing, or of another version than the one that made it: then
# only the second is looked at, where ptxas is there.
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
