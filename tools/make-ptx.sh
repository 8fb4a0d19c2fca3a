#!/usr/bin/env bash
# Compiles kernels.cu to kernels.ptx with nvcc: tools/make-ptx.sh FOLDER [PTX]. The code uses nothing newer
# than Volta, but nvcc no longer emits PTX for it, so version and target are lowered here: drivers since CUDA
# 10.1 accept it for every GPU since V100.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

nvcc=${NVCC:-nvcc}
source=${1:?expects bench/backends/nccl or bench/node}/kernels.cu
target=${2:-$1/kernels.ptx}

made=$(mktemp)
trap 'rm --force "$made"' EXIT
"$nvcc" -arch=compute_75 -ptx -O3 --output-file "$made" "$source"

release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\), V\([0-9.]*\).*/\2/p')
{
  echo '// SPDX-License-Identifier: Apache-2.0'
  echo "// Made by tools/make-ptx.sh of kernels.cu with nvcc $release: do not edit."
  sed --regexp-extended \
    -e '/^\/\//d' -e '/^$/d' \
    -e 's/^\.version .*/.version 6.4/' \
    -e 's/^\.target .*/.target sm_70/' "$made"
} >"$target"
