#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Verifies a release's hardening in its programs with readelf.
#
#   hardening_test.sh [--breaks PROGRAM LEVEL] PROGRAM...
#
# --breaks names the program of hardened.cpp, which is run, and its level of _FORTIFY_SOURCE.
set -uo pipefail

failures=0
fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}

# Counts functions that are valid jump targets (endbr64) or sign their return address (paciasp).
guarded_functions() {
  local word='\xf3\x0f\x1e\xfa'
  [[ $(uname --machine) == x86_64 ]] || word='\x3f\x23\x03\xd5'
  LC_ALL=C grep --text --only-matching --perl-regexp "$word" "$1" | wc -l
}

# PROGRAM FUNCTIONS: at least this many functions are guarded.
read_back() {
  local program=$1 elf
  elf=$(readelf --wide --file-header --program-headers --dynamic --dyn-syms "$program") ||
    fail "$program: readelf cannot read it"
  has() { grep --quiet --extended-regexp "$1" <<<"$elf" || fail "$program: $2"; }
  has '^ *Type: +DYN' 'its place in memory is always the same (no PIE)'
  has 'FLAGS_1\).* PIE' 'it is not position independent (no PIE)'
  has 'GNU_RELRO' 'what is relocated stays writable (no RELRO)'
  has 'FLAGS_1\).* NOW' 'functions are bound when they are called (no BIND_NOW)'
  has 'GNU_STACK .* RW ' 'its stack can be executed'
  has ' __stack_chk_fail' 'no stack protector'
  has ' __[a-z]+_chk(@| |$)' 'no function is fortified'
  local guarded
  guarded=$(guarded_functions "$program")
  ((guarded >= $2)) || fail "$program: $guarded functions are guarded, expected at least $2"
}

# PROGRAM RULE WORDS: it works while the rule holds and ends with these words when it is broken.
breaks() {
  local said status
  "$1" "$2" 0 || fail "$2: it ends with status $? although the rule is kept"
  said=$(LIBC_FATAL_STDERR_=1 "$1" "$2" 24 2>&1)
  status=$?
  [[ $status -eq 134 ]] || fail "$2: it ends with status $status, expected 134 (SIGABRT)"
  grep --quiet "$3" <<<"$said" || fail "$2: it says \"$said\", expected \"$3\""
}

ulimit -c 0
if [[ ${1:-} == --breaks ]]; then
  read_back "$2" 3
  breaks "$2" array 'buffer overflow detected'
  breaks "$2" stack 'stack smashing detected'
  breaks "$2" index '' # g++ 11 loses its output in a pipe
  [[ $3 -lt 3 ]] || breaks "$2" heap 'buffer overflow detected'
  shift 3
fi
for program in "$@"; do
  # A statically linked libstdc++ brings guarded functions of its own.
  functions=3000
  ! readelf --dynamic "$program" | grep --quiet 'NEEDED.*libstdc++' || functions=1000
  read_back "$program" "$functions"
done

[[ $failures -eq 0 ]] && echo "ok"
exit $((failures > 0))
