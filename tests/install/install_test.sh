#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installed below a prefix, Slurm's hooks and the NHC plug-in run that prefix's program, and report if it is missing.
#
#   install_test.sh CMAKE BUILD SOURCES BIN LIBEXEC
#
# BIN and LIBEXEC are folders below the prefix.
set -uo pipefail

cmake=$1 build=$2 sources=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}

# Without the MPI back end, which is optional.
install_to() {
  local prefix=$1
  shift
  env "$@" "$cmake" --install "$build" --prefix "$prefix" --component Unspecified \
    >"$folder/log" 2>&1 && return
  fail "cmake --install --prefix $prefix: $(tail -n 5 "$folder/log")"
}

# It names this program and no package path.
names() {
  local file=$1 program=$2
  [[ -f $file ]] || fail "$file is not installed"
  grep -qF "$program" "$file" || fail "$file does not name $program"
  ! grep -qE '/usr/(bin|libexec)/muster' "$file" || fail "$file names a program of the packages"
}

prefix=$folder/prefix
install_to "$prefix"
bin=$prefix/$4
hooks=$prefix/$5/muster/slurm
for hook in prolog epilog health_check; do
  names "$hooks/$hook" "$bin/muster"
  [[ -x $hooks/$hook ]] || fail "$hook cannot be executed"
done
names "$prefix/share/muster/nhc/muster.nhc" "$bin/muster"
names "$prefix/share/muster/nhc/muster.conf" "$bin/muster"
for job in all_reduce_container all_reduce_mpirun all_reduce_srun sweep; do
  names "$prefix/share/muster/jobs/$job.sbatch" "$bin/muster-bench"
done
for unit in muster-boot muster-sweep; do
  names "$prefix/lib/systemd/system/$unit.service" "$bin/muster"
done
[[ -f $prefix/lib/systemd/system/muster-sweep.timer ]] || fail "muster-sweep.timer is not installed"

# The hook finds the program next to it and passes its verdict to Slurm.
for status in 0 1; do
  printf '#!/bin/sh\necho "$*" >%q\nexit %d\n' "$folder/calls" "$status" >"$folder/program"
  chmod +x "$folder/program"
  mv -f "$folder/program" "$bin/muster"
  env -i "$hooks/prolog" >/dev/null 2>&1
  [[ $? -eq $status ]] || fail "the installed prolog does not pass on the status $status"
  [[ $(cat "$folder/calls") == 'hook prolog' ]] || fail "the installed prolog does not call the program"
done

# DESTDIR, used for packages, appears in no installed path.
install_to /usr "DESTDIR=$folder/stage"
for hook in prolog epilog health_check; do
  cmp -s "$sources/slurm/hooks/$hook" "$folder/stage/usr/$5/muster/slurm/$hook" ||
    fail "$hook of a package differs"
done
cmp -s "$sources/nhc-plugins/muster.nhc" "$folder/stage/usr/share/muster/nhc/muster.nhc" ||
  fail "muster.nhc of a package differs"

# A path that a shell would split.
"$cmake" --install "$build" --prefix "$folder/a b" --component Unspecified >"$folder/log" 2>&1 &&
  fail "a prefix with a blank is taken"
grep -q 'means something to a shell' "$folder/log" || fail "a prefix with a blank: $(cat "$folder/log")"

[[ $failures -eq 0 ]] && echo "ok"
exit $((failures > 0))
