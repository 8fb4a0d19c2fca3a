#!/usr/bin/env bash
# Runs clang-tidy over every source file of the project, side by side, and prints findings only.
# Arguments name the files to look at instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/tidy
cmake --preset tidy >/dev/null
if [[ $# -gt 0 ]]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files 'lib/*.cpp' 'checks/*.cpp' 'bench/*.cpp' 'slurm/*.cpp' 'tests/*.cpp')
fi

# Only what the build compiles has a compile command; a fuzz target needs clang and has none here.
compiled=$(sed -n 's/^ *"file": "\(.*\)".*/\1/p' "$build/compile_commands.json")
known=()
for file in "${files[@]}"; do
  grep --quiet --fixed-strings --line-regexp "$PWD/$file" <<<"$compiled" && known+=("$file")
done
echo "clang-tidy: ${#known[@]} files"
printf '%s\0' "${known[@]}" |
  xargs --null --max-args=1 --max-procs="$(nproc)" clang-tidy-14 -p "$build" --quiet 2>/dev/null
