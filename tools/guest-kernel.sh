#!/usr/bin/env bash
# Downloads Debian's kernel package and unpacks the kernel and the software RDMA modules, for the tests'
# guest, into the folder DIR (usually build/guest-kernel). The package is not installed.
set -euo pipefail

if [[ $# -ne 1 ]]; then
  echo "usage: tools/guest-kernel.sh DIR" >&2
  exit 64
fi
folder=$1
[[ -d $folder ]] && exit 0

for program in apt-get dpkg-deb depmod; do
  command -v "$program" >/dev/null || {
    echo "guest-kernel: $program is not here" >&2
    exit 1
  }
done
package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | head -1)
if [[ -z $package ]]; then
  echo "guest-kernel: apt does not have Debian's package linux-image-amd64" >&2
  exit 1
fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp --directory "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get download --quiet --option APT::Sandbox::User=root "$package" >/dev/null)
mkdir "$work/tree"
dpkg-deb --fsys-tarfile "$work"/*.deb |
  tar --extract --directory "$work/tree" --wildcards './boot/vmlinuz-*' './lib/modules/*/modules.*' \
    './lib/modules/*/kernel/drivers/infiniband/*' './lib/modules/*/kernel/drivers/net/dummy*' \
    './lib/modules/*/kernel/crypto/*' './lib/modules/*/kernel/lib/*' './lib/modules/*/kernel/net/ipv[46]/*'
depmod --basedir "$work/tree" "${package#linux-image-}"
chmod 755 "$work/tree"
mv "$work/tree" "$folder"
