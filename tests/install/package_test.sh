#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tarball of tools/package.sh: its programs run in an empty root with glibc only, need no glibc newer than 2.34, and
# are hardened and small.
#
#   package_test.sh TARBALL NODES      NODES is the folder of simulated nodes
set -uo pipefail

tarball=$1 nodes=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}

mkdir -p "$folder/root"/{dev,etc,proc,tmp,nodes,opt}
tar --extract --gzip --strip-components=1 --directory "$folder/root/opt" --file "$tarball" ||
  fail "$tarball cannot be unpacked"
programs=("$folder/root/opt/bin/muster" "$folder/root/opt/bin/muster-bench")
modules=("$folder"/root/opt/lib/muster/*.so)
for object in "${programs[@]}" "${modules[@]}"; do
  [[ -f $object ]] && continue
  echo "not ok: $object is not in the package" >&2
  exit 1
done

kilobytes=$(du --summarize --apparent-size --block-size=1000 "$folder/root/opt" | cut --fields=1)
((kilobytes <= 25000)) || fail "unpacked it has $kilobytes kB, expected at most 25000"

# They need only glibc, and the module also Open MPI.
for object in "${programs[@]}" "${modules[@]}"; do
  others=$(readelf --dynamic "$object" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep --invert-match --extended-regexp '^(libc\.so\.6|libm\.so\.6|ld-linux.*)$')
  [[ $object != *_mpi.so ]] || others=$(grep --invert-match '^libmpi\.so' <<<"$others")
  [[ -z $others ]] || fail "${object##*/} needs $others"
  newest=$(objdump --dynamic-syms "$object" | grep --only-matching 'GLIBC_2\.[0-9.]*' | sort --version-sort | tail -n 1)
  [[ -n $newest ]] || fail "${object##*/} wants no version of glibc: was it read at all?"
  [[ $(printf '%s\n' GLIBC_2.34 "$newest" | sort --version-sort | tail -n 1) == GLIBC_2.34 ]] ||
    fail "${object##*/} wants $newest: $(objdump --dynamic-syms "$object" | grep --fixed-strings "$newest" | sed 's/.* //' | xargs)"
done
bash "$here/hardening_test.sh" "${programs[@]}" || fail "the programs are not hardened"

# Copies this machine's glibc to the same paths.
loader=$(readelf --program-headers "${programs[0]}" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
for file in "$loader" $(ldd "${programs[@]}" | sed -n 's/.*=> \(.*\) (.*/\1/p' | sort --unique); do
  mkdir -p "$folder/root$(dirname "$file")"
  cp --dereference "$file" "$folder/root$file"
done
cp "$nodes"/*.json "$folder/root/nodes"
mkdir "$folder/root/one" && cp "${programs[0]}" "$folder/root/one" # one file is a whole installation

# In its own root, with no other process visible.
user=()
[[ $(id --user) -eq 0 ]] || user=(--map-root-user)
inside() {
  env --ignore-environment "$(command -v unshare)" "${user[@]}" --pid --fork --kill-child \
    --mount-proc="$folder/root/proc" "$(command -v chroot)" "$folder/root" "$@"
}

# STATUS WORDS COMMAND...
says() {
  local expected=$1 words=$2 said status
  shift 2
  said=$(inside "$@" 2>&1)
  status=$?
  [[ $status -eq $expected ]] || fail "$*: status $status, expected $expected: $said"
  grep --quiet --extended-regexp "$words" <<<"$said" || fail "$*: expected \"$words\" in: $said"
}
says 2 'is unknown' /opt/bin/muster check --snapshot /nodes/nd96isr_h100_v5.json
says 1 'half the lanes' /one/muster check --snapshot /nodes/nd96isr_h100_v5_sick.json
says 64 'nonsense' /opt/bin/muster check --nonsense # a library's exception is caught
says 0 'Out of bounds values : 0 OK' /opt/bin/muster-bench all_reduce --local 2 --backend tcp --max 1MiB \
  --profile generic --min-busbw 1kB/s
mkdir "$folder/root/etc/muster" && echo 'profile: [' >"$folder/root/etc/muster/muster.yaml"
says 78 'muster.yaml' /one/muster check --snapshot /nodes/nd96isr_h100_v5.json

[[ $failures -eq 0 ]] && echo "ok"
exit $((failures > 0))
