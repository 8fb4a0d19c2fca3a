#!/usr/bin/env bash
# Fails when kernels.ptx is not what tools/make-ptx.sh makes of kernels.cu, or does not become machine
# code. Leaves with 77 where nvcc is missing, or of another version than the one that made it: then
# only the second is looked at, where ptxas is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../.."

ptx=bench/backends/nccl/kernels.ptx
work=$(mktemp --directory)
trap 'rm --recursive --force "$work"' EXIT
PATH="$PATH:/usr/local/cuda/bin"
skipped=77

if command -v ptxas >/dev/null; then
  known=$(ptxas --help)
  for target in sm_70 sm_75 sm_80 sm_90 sm_100; do
    grep --quiet "'$target'" <<<"$known" || continue
    ptxas --gpu-name "$target" --output-file "$work/$target" "$ptx"
    echo "kernels.ptx becomes machine code for $target"
  done
fi

command -v nvcc >/dev/null || exit "$skipped"
tools/make-ptx.sh "$work/kernels.ptx"
made_by() { sed -n '2s/.*with nvcc \([0-9.]*\).*/\1/p' "$1"; }
[[ $(made_by "$ptx") == "$(made_by "$work/kernels.ptx")" ]] || exit "$skipped"
diff --unified "$ptx" "$work/kernels.ptx"
