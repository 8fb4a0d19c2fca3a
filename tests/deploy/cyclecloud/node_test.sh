#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The scripts of the CycleCloud project on a node: they install, configure and check it, change nothing when they run
# again, and fail only if the site asked for the gate.
#
#   node_test.sh SOURCES VERSION MUSTER MUSTER_NODE
set -uo pipefail
sources=$1 version=$2 muster=$3 simulator=$4
for program in dpkg-deb jq; do
  command -v "$program" >/dev/null || {
    echo "$program is not installed"
    exit 77
  }
done
# shellcheck source=tests/deploy/cyclecloud/node.sh
. "$sources/tests/deploy/cyclecloud/node.sh"
export MUSTER_DATA_DIR=$sources/configs
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}

# expect STATUS TEXT COMMAND...: it ends with the status, and prints the text.
expect() {
  local status=$1 text=$2 out
  shift 2
  out=$("$@")
  [[ $? -eq $status ]] || fail "$* does not end with status $status: $out"
  [[ $out == *"$text"* ]] || fail "$* does not print '$text': $out"
  printf '%s\n' "$out" >>"$folder/printed"
}

# condition TEXT...: the last condition that was set has these words.
condition() {
  local word last
  last=$(tail -n 1 "$root/conditions")
  for word; do [[ $last == *"$word"* ]] || fail "the condition is $last, without $word"; done
}

tree() { (cd "$root" && find etc/muster usr sched -type f -exec sha256sum {} + | sort); }

# The package: the real program, which judges the snapshot that $root/node names.
make_package() {
  local package=$folder/package
  mkdir -p "$package"/{DEBIAN,etc/muster,usr/bin} "$folder/packages"
  cp "$sources/configs/muster.yaml" "$package/etc/muster"
  printf 'Package: muster\nVersion: %s\nArchitecture: all\nMaintainer: test\nDescription: test\n' "$version" \
    >"$package/DEBIAN/control"
  # shellcheck disable=SC2016
  printf '#!/bin/sh\n[ "$1" != check ] || set -- "$@" --snapshot %s\nexec %s "$@"\n' "$root/node.json" "$muster" \
    >"$package/usr/bin/muster"
  chmod 755 "$package/usr/bin/muster"
  dpkg-deb --build "$package" "$folder/packages/muster_${version}_amd64.deb" >/dev/null
}

# simulate NAME [OPTION]...: a snapshot of a simulated node.
simulate() {
  local tree=$folder/tree-$1
  "$simulator" render nd96isr_h100_v5 "$tree" "${@:2}" >/dev/null
  "$muster" check --context boot --root "$tree" --nvml "$tree/nvml/libnvidia-ml.so.1" \
    --save-snapshot "$folder/$1.json" >/dev/null
}

root=$folder/node
mkdir "$root"
simulate healthy &
simulate sick --fault row_remapping_failed &

# One version everywhere.
versions=0
while read -r line; do
  versions=$((versions + 1))
  [[ $line == *"$version"* ]] || fail "another version than $version: $line"
done < <(cd "$sources/deploy/cyclecloud" && grep -r 'cluster-init muster:' templates &&
  grep -E '^(version|Files) ?=' project.ini specs/default/cluster-init/files/common.sh)
[[ $versions -eq 5 ]] || fail "$versions lines have a version"

# The project: all packages are there, or it is not made.
make_package
expect 1 '' "$sources/tools/package-cyclecloud.sh" "$folder/packages" "$folder/project" 2>/dev/null
touch "$folder/packages/muster-$version-1.x86_64.rpm"
expect 0 'cyclecloud project upload' "$sources/tools/package-cyclecloud.sh" "$folder/packages" "$folder/project"
cp "$folder/packages/muster_${version}_amd64.deb" "$folder/packages/muster_${version}_arm64.deb"
expect 0 'arm64.deb' "$sources/tools/package-cyclecloud.sh" "$folder/packages" "$folder/project"
listed=$(sed -n 's/^Files = //p' "$folder/project/project.ini" | tr -d ' ' | tr , '\n' | sort)
blobs=$(find "$folder/project/blobs" -type f -printf '%f\n' | sort)
[[ $listed == "$blobs" ]] || fail "the blobs are $blobs, and project.ini names $listed"
make_node "$root" "$folder/project"
wait
[[ -f $folder/healthy.json && -f $folder/sick.json ]] || fail 'no snapshots'

# A failed installation does not stop the node.
echo 'ID=sles' >"$root/etc/os-release.sles"
mv "$root/etc/os-release" "$root/etc/os-release.ubuntu"
cp "$root/etc/os-release.sles" "$root/etc/os-release"
expect 0 'there is no package' run_script "$root" default 10-install.sh
cp "$root/etc/os-release.ubuntu" "$root/etc/os-release"
fake "$root" getconf 'echo glibc 2.31'
expect 0 'need glibc 2.34' run_script "$root" default 10-install.sh
fake "$root" getconf 'echo glibc 2.35'
mv "$folder/project/blobs" "$folder/project/away"
expect 0 'cannot download' run_script "$root" default 10-install.sh
mv "$folder/project/away" "$folder/project/blobs"
mv "$root/fake/apt-get" "$root/fake/away"
fake "$root" apt-get 'exit 100'
expect 0 'cannot install' run_script "$root" default 10-install.sh
mv "$root/fake/away" "$root/fake/apt-get"
set_config "$root" muster.gate refuse
for script in 20-configure.sh 90-gate.sh; do
  expect 0 'not installed' run_script "$root" default "$script"
done
set_config "$root" muster.gate report

# Twice.
ln -sf "$folder/healthy.json" "$root/node.json"
expect 0 "muster: $version is installed now" run_script "$root" default 10-install.sh
expect 0 'muster: wrote /etc/muster/muster.yaml' run_script "$root" default 20-configure.sh
expect 0 'muster: the node is healthy' run_script "$root" default 90-gate.sh
condition '[set][-n][muster][-s][OK]'
"$muster" validate --root "$root" || fail 'muster.yaml has a mistake'
before=$(tree)
: >"$root/calls"
expect 0 "muster: $version is installed" run_script "$root" default 10-install.sh
expect 0 'is up to date' run_script "$root" default 20-configure.sh
expect 0 '' run_script "$root" default 90-gate.sh
[[ $(tree) == "$before" ]] || fail 'the second run changed files'
! grep -q apt-get "$root/calls" || fail 'the second run installed again'
if command -v python3 >/dev/null; then
  PATH=$root/usr/bin:$PATH python3 "$root/mnt/cluster-init/muster/default/tests/test_muster.py" 2>/dev/null ||
    fail 'the test of a healthy node fails'
fi

# A sick node: reported, refused if the site asks for it, with the category only if jetpack supports it.
ln -sf "$folder/sick.json" "$root/node.json"
expect 0 'muster: the node is sick' run_script "$root" default 90-gate.sh
condition '[-s][Error][-m][gpu.ecc_remapped_rows gpu5: row remapping failed' '[-r][report to provider]' \
  '[--action-type][GHR][--ghr-category][Resource.Hpc.Unhealthy.HpcRowRemapFailure]'
set_config "$root" muster.gate refuse
expect 1 'the node is sick' run_script "$root" default 90-gate.sh
set_config "$root" muster.gate off
expect 0 'the gate is off' run_script "$root" default 90-gate.sh
set_config "$root" muster.gate report
set_config "$root" muster.health_reports false
expect 0 '' run_script "$root" default 90-gate.sh
[[ $(tail -n 1 "$root/conditions") != *GHR* ]] || fail 'a report was filed although the site has it off'
set_config "$root" muster.health_reports true
set_config "$root" version 8.9.1-2000
expect 0 '' run_script "$root" default 90-gate.sh
condition '[-s][Error]'
[[ $(tail -n 1 "$root/conditions") != *GHR* ]] || fail 'jetpack 8.9 was given a category'
set_config "$root" version 8.7.3-1000
conditions=$(wc -l <"$root/conditions")
expect 0 '' run_script "$root" default 90-gate.sh
[[ $(wc -l <"$root/conditions") -eq $conditions ]] || fail 'jetpack 8.7 was given a condition'
set_config "$root" version 8.10.0-3822

# The message, the remedy and the category are of one failure, and an undecided node has a reason.
simulated=$sources/tests/nodes/simulated
ln -sf "$simulated/nd96isr_h100_v5_sick.json" "$root/node.json"
expect 0 'the node is sick' run_script "$root" default 90-gate.sh
condition '[-m][pci.devices ' '[-r][reboot]' 'XID79FallenOffBus]'
ln -sf "$simulated/nd96isr_h100_v5.json" "$root/node.json"
expect 0 'could not be judged' run_script "$root" default 90-gate.sh
condition '[-s][Warning][-m][could not be judged: not observed: GPUs: not queried]'
ln -sf "$folder/sick.json" "$root/node.json"

# muster's tell program, with an event of muster.event/1.
tell() {
  printf '{"kind":"%s","check":"gpu.ecc_remapped_rows","device":"gpu5","message":"row \\"5\\" failed"}\n' "$1" |
    env -i PATH=/usr/bin:/bin MUSTER_DATA_DIR="$MUSTER_DATA_DIR" \
      "$root/usr/local/libexec/muster/muster-condition.sh" "$1" n1
}
tell drained
condition '[-s][Error][-m][drained: row "5" failed][-r][report to provider]' HpcRowRemapFailure
tell resumed
condition '[-s][OK]'

# The site's own muster.yaml.
echo 'schema: muster.site/1' >"$root/sched/my-cluster/muster.yaml"
expect 0 'wrote /etc/muster/muster.yaml' run_script "$root" default 20-configure.sh
grep -q 'A copy of' "$root/etc/muster/muster.yaml" || fail "the site's file was not copied"
echo 'schem: muster.site/1' >"$root/sched/my-cluster/muster.yaml"
before=$(tree)
expect 0 'has a mistake and is not used' run_script "$root" default 20-configure.sh
[[ $(tree) == "$before" ]] || fail 'a file with a mistake is used'
echo 'profile: nd96isr_h100_v5' >>"$root/etc/muster/muster.yaml"
sed -i '/^#/d' "$root/etc/muster/muster.yaml"
expect 0 "the site's own: left alone" run_script "$root" default 20-configure.sh
rm "$root/etc/muster/muster.yaml" "$root/sched/my-cluster/muster.yaml"
set_config "$root" muster.profile nd96isr_h200_v5
expect 0 'wrote' run_script "$root" default 20-configure.sh
grep -qx 'profile: nd96isr_h200_v5' "$root/etc/muster/muster.yaml" || fail 'muster.profile is not used'

# The page shows what was printed, and every setting.
page=$sources/docs/deploy/cyclecloud.md
sed "s|$folder/project|build/cyclecloud|g" "$folder/printed" >"$folder/transcript"
check_page "$page" 'printed by tools/package-cyclecloud.sh' "$folder/transcript"
check_page "$page" 'printed by a node' "$folder/transcript"
used=$(grep -rhoE '(setting|config) muster\.[a-z_]+' "$sources/deploy/cyclecloud/specs" | sed 's/.* //' | sort -u)
[[ $used ]] || fail 'no setting is used'
[[ $used == "$(grep -oP '^\| `\Kmuster\.[a-z_]+' "$page" | sort -u)" ]] || fail "the page does not list $used"
[[ $used == "$(grep -oP '^\s*(# )?\Kmuster\.[a-z_]+(?= = )' "$sources/deploy/cyclecloud/templates/muster.txt" | sort -u)" ]] ||
  fail "muster.txt does not list $used"

# Removed.
expect 0 '' run_script "$root" default 10-install.sh --remove
for file in etc/muster/muster.yaml usr/local/libexec/muster/muster-condition.sh; do
  [[ ! -e $root/$file ]] || fail "$file is left"
done
grep -q 'apt-get remove.* muster$' "$root/calls" || fail 'the package is not removed'

[[ $failures -eq 0 ]] && echo ok
exit $((failures > 0))
