#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Creates a signed apt repository and a signed yum repository, which any web server can serve as plain files.
#
#   deploy/packages/repositories.sh PACKAGES DIR KEY URL
#
# PACKAGES is a folder of .deb and .rpm files from tools/package.sh. Run this again with newer packages to add them to DIR.
# KEY is a key in your GnuPG keyring, by fingerprint or address. URL is where nodes find DIR (https://…, file:///…).
# The settings for nodes are DIR/muster.sources (apt) and DIR/muster.repo (dnf).
# Needs reprepro, createrepo_c, rpmsign and gpg.
set -euo pipefail

usage() {
  sed -n '/^#   deploy/,/^# Needs/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 64
}

die() {
  echo "repositories: $*" >&2
  exit 1
}

[[ $# -eq 4 && $1 != -* ]] || usage
packages=$1 out=$2 key=$3 url=${4%/}

for program in reprepro createrepo_c rpmsign gpg; do
  command -v "$program" >/dev/null || die "$program: command not found"
done
listed=$(gpg --batch --with-colons --list-secret-keys "$key" 2>/dev/null) || listed=
fingerprint=$(sed -n '/^fpr:/{s/^fpr:*\([0-9A-F]*\):$/\1/p;q}' <<<"$listed")
[[ -n $fingerprint ]] || die "$key: no secret key in GnuPG's keyring; gpg --quick-generate-key makes one"
shopt -s nullglob
debs=("$packages"/*.deb) rpms=("$packages"/*.rpm)
((${#debs[@]} > 0 && ${#rpms[@]} > 0)) || die "$packages: no .deb and .rpm files; tools/package.sh makes them"
[[ $url =~ ^(https?|file)://[^[:space:]]+$ ]] || die "invalid URL \"$url\", expected https://HOST/PATH"

work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out/apt" "$out/yum"
out=$(cd "$out" && pwd)

# One suite for every release: the packages need glibc alone.
cat >"$work/distributions" <<END
Origin: muster
Label: muster
Codename: stable
Architectures: amd64 arm64
Components: main
Description: muster inspects the nodes of GPU clusters
SignWith: $fingerprint
END
for deb in "${debs[@]}"; do
  reprepro --silent --basedir "$out/apt" --confdir "$work" includedeb stable "$deb"
done

cp "${rpms[@]}" "$out/yum"
for rpm in "${rpms[@]}"; do
  rpmsign --define "__gpg $(command -v gpg)" --define "_gpg_name $fingerprint" --addsign "$out/yum/${rpm##*/}" >/dev/null
done
createrepo_c --quiet --update "$out/yum"
rm -f "$out/yum/repodata/repomd.xml.asc"
gpg --batch --quiet --local-user "$fingerprint" --detach-sign --armor "$out/yum/repodata/repomd.xml"

gpg --batch --armor --export "$fingerprint" >"$out/muster.asc"
cat >"$out/muster.sources" <<END
Types: deb
URIs: $url/apt
Suites: stable
Components: main
Signed-By: /etc/apt/keyrings/muster.asc
END
cat >"$out/muster.repo" <<END
[muster]
name=muster
baseurl=$url/yum
enabled=1
gpgcheck=1
repo_gpgcheck=1
gpgkey=$url/muster.asc
END
echo "$out: ${#debs[@]} .deb and ${#rpms[@]} .rpm files, signed by $fingerprint"
