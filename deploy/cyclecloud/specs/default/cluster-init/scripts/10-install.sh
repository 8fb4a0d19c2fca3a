#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs muster's package. `10-install.sh --remove` removes muster from the node.
# shellcheck source=deploy/cyclecloud/specs/default/cluster-init/files/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../files/common.sh"

installed() { [[ -x $muster && $(timeout 10 "$muster" --version) == "muster $version" ]]; }

os() { sed --quiet --regexp-extended "s/^$1=\"?([^\"]*)\"?$/\\1/p" "$root/etc/os-release"; }

# The package's kind: deb or rpm. Empty for a system that has neither.
kind_of() {
  case " $(os ID) $(os ID_LIKE) " in
    *' debian '* | *' ubuntu '*) echo deb ;;
    *' rhel '* | *' fedora '* | *' azurelinux '*) echo rpm ;;
  esac
}

file_of() {
  case $1-$(uname --machine) in
    deb-x86_64) echo "muster_${version}_amd64.deb" ;;
    deb-aarch64) echo "muster_${version}_arm64.deb" ;;
    rpm-*) echo "muster-$version-1.$(uname --machine).rpm" ;;
  esac
}

# Neither upgrades another package. Both wait for their lock, which updates hold during a first boot.
install_package() {
  case $1 in
    deb) DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install --yes --no-remove \
      --no-install-recommends --allow-downgrades -o DPkg::Lock::Timeout=300 \
      -o Dpkg::Options::=--force-confold "$2" ;;
    rpm) timeout 600 rpm --upgrade --oldpackage --replacepkgs "$2" ;;
  esac
}

remove() {
  rm -f "$condition"
  ! grep --quiet --no-messages "^$mark" "$yaml" || rm -f "$yaml"
  case $(kind_of) in
    deb) apt-get remove --yes -o DPkg::Lock::Timeout=300 muster ;;
    rpm) rpm --erase muster ;;
  esac
}

if [[ ${1:-} == --remove ]]; then
  remove
  exit
fi
[[ -x $jetpack ]] || leave "$jetpack does not exist: not installed"
install -D --mode=755 "$spec/files/muster-condition.sh" "$condition" ||
  leave "cannot write $condition: not installed"
! installed || leave "$version is installed"
kind=$(kind_of)
glibc=$(getconf GNU_LIBC_VERSION)
[[ $kind ]] || leave "there is no package for $(os PRETTY_NAME): not installed"
printf '%s\n' 2.34 "${glibc#glibc }" | sort --version-sort --check=quiet ||
  leave "this system has $glibc, and the packages need glibc 2.34: not installed"
file=$(file_of "$kind")
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder" # apt reads it as another user
cd "$folder" || leave "cannot enter $folder: not installed"
timeout 600 "$jetpack" download --project muster "$file" ||
  leave "cannot download $file: not installed"
install_package "$kind" "$folder/$file" || leave "cannot install $file: not installed"
installed || leave "$file does not run here: $("$muster" --version 2>&1 | tail --lines=1)"
say "$version is installed now"
