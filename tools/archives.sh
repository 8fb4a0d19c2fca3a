#!/usr/bin/env bash
# Builds static archives of libraries that Debian only has as shared objects, from its source packages: fmt
# and simdjson. tools/package.sh links them.
#
#   tools/archives.sh DIR     writes libfmt.a and libsimdjson.a to DIR, if the system has none
#
# Without apt, put the two into DIR yourself, in the versions of the installed headers.
set -euo pipefail

[[ $# -eq 1 ]] || {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
  exit 64
}
mkdir -p "$1"
made=$(cd "$1" && pwd)
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT

# Runs apt with the machine's mirrors and keys, but for source packages and with separate lists.
sources() {
  apt-get --quiet --quiet -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root "$@"
}

# ARCHIVE SOURCE_PACKAGE FILE: compiles the library's single source file.
make_archive() {
  local name=$1 package=$2 file=$3 folder=$work/$2 object=$work/$1.o distribution
  [[ ! -f $made/lib$name.a ]] || return 0
  [[ -z $(find /usr/lib /usr/lib64 -maxdepth 2 -name "lib$name.a" -print -quit) ]] || return 0
  if [[ ! -d $work/lists ]]; then
    mkdir -p "$work/lists/partial"
    for distribution in Debian Ubuntu; do
      # shellcheck disable=SC2016 # fields of apt
      apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' "Origin: $distribution" | sort --unique
    done >"$work/sources.list"
    sources update
  fi
  mkdir -p "$folder"
  (cd "$folder" && sources source --download-only "$package" &&
    tar --extract --strip-components=1 --file ./*.orig.tar.*[xg]z)
  (cd "$folder" && "${CXX:-c++}" -std=c++17 -O2 -fPIC -ffunction-sections -fdata-sections \
    -fstack-protector-strong -D_FORTIFY_SOURCE=2 -Iinclude -Isrc -c "$file" -o "$object")
  ar rcs "$made/lib$name.a" "$object"
}

make_archive fmt fmtlib src/format.cc
make_archive simdjson simdjson src/simdjson.cpp
