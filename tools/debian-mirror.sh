#!/usr/bin/env bash
# Prints the mirror of this machine's Debian release, for debootstrap.
set -euo pipefail

own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
# shellcheck disable=SC2016 # fields of apt
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' |
  awk -v own="$own" '$2 == own { print $1; exit }')
if [[ -z $mirror ]]; then
  echo "debian-mirror.sh: apt has no mirror of Debian $own" >&2
  exit 1
fi
echo "$mirror"
