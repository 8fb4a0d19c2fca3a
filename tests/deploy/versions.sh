#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if a file of deploy/ or docs/deploy/ names a different version of muster's images from CMake's project(). CTest
# runs it from the source root.
#
#   versions.sh VERSION
set -euo pipefail

named=$(git grep --line-number --extended-regexp --only-matching \
  'muster(-bench)?:[0-9]+\.[0-9]+\.[0-9]+|^version: [0-9.]+|--version [0-9]+\.[0-9.]+' -- deploy docs/deploy)
[[ $named ]] || {
  echo "versions: no file names a version: the pattern is out of date"
  exit 1
}
! grep --invert-match --extended-regexp "[: ]${1//./\\.}\$" <<<"$named" || {
  echo "versions: expected $1 everywhere, the version of CMakeLists.txt"
  exit 1
}
