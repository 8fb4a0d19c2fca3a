#!/usr/bin/env bash
# Makes muster's CycleCloud project, ready for `cyclecloud project upload`: a copy of deploy/cyclecloud
# whose folder blobs/ has the packages that its project.ini names. See docs/deploy/cyclecloud.md.
#
#   tools/package-cyclecloud.sh [PACKAGES [DIR]]
#
# PACKAGES is the output of tools/package.sh, which this runs if it is not given; arm64 packages are added if
# they exist. DIR is the destination, by default build/cyclecloud.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ $# -gt 2 || ${1:-} == -* ]]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
  exit 64
fi
packages=${1:-build/package/packages}
out=${2:-build/cyclecloud}
[[ $# -gt 0 ]] || tools/package.sh "$packages"

ini=deploy/cyclecloud/project.ini
version=$(sed -n 's/^version = //p' "$ini")
IFS=', ' read -ra blobs <<<"$(sed -n 's/^Files = //p' "$ini")"
for blob in "${blobs[@]}"; do
  [[ -f $packages/$blob ]] || {
    echo "package-cyclecloud: $packages/$blob is missing, which $ini names: run tools/package.sh" >&2
    exit 1
  }
done
for blob in "muster_${version}_arm64.deb" "muster-$version-1.aarch64.rpm"; do
  [[ ! -f $packages/$blob ]] || blobs+=("$blob")
done

rm -rf "$out"
mkdir -p "$out"
cp -r deploy/cyclecloud/. "$out"
mkdir "$out/blobs"
for blob in "${blobs[@]}"; do cp "$packages/$blob" "$out/blobs"; done
list=$(printf ', %s' "${blobs[@]}")
sed -i "s/^Files = .*/Files = ${list#, }/" "$out/project.ini"
echo "$out: muster $version with ${list#, }"
echo "run: cd $out && cyclecloud project upload LOCKER"
