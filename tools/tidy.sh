#!/usr/bin/env bash
# Runs clang-tidy on every source file, in parallel, and prints only findings. Arguments name the files to check
# instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/tidy
cmake --preset tidy >/dev/null
if [[ $# -gt 0 ]]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files 'lib/*.cpp' 'checks/*.cpp' 'bench/*.cpp' 'slurm/*.cpp' 'tests/*.cpp')
fi

# Only files of the build have a compile command; fuzz targets need clang and have none.
compiled=$(sed -n 's/^ *"file": "\(.*\)".*/\1/p' "$build/compile_commands.json")
known=()
for file in "${files[@]}"; do
  grep --quiet --fixed-strings --line-regexp "$PWD/$file" <<<"$compiled" && known+=("$file")
done
echo "clang-tidy: ${#known[@]} files"
printf '%s\0' "${known[@]}" |
  xargs --null --max-args=1 --max-procs="$(nproc)" clang-tidy-14 -p "$build" --quiet 2>/dev/null
