#!/usr/bin/env bash
# Builds and tests muster on another Debian release, in a root that debootstrap creates from this machine's
# mirror. Run as root.
#
#   tools/test-on.sh [--build] RELEASE [DIR [COMMAND...]]
#
#   RELEASE   bookworm, trixie, sid
#   DIR       where the root is made and kept, so that a second run is fast; by default a temporary
#             folder, which is removed
#   COMMAND   runs in the source tree there, instead of all tests
#   --build   compiles everything and runs nothing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_only=no
if [[ ${1:-} == --build ]]; then
  build_only=yes
  shift
fi
if [[ $# -lt 1 || $1 == -* ]]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
  exit 64
fi
release=$1
if [[ $(id --user) -ne 0 ]]; then
  echo "test-on.sh: only root can create a root folder of another release" >&2
  exit 1
fi
command -v debootstrap >/dev/null || apt-get install --quiet --yes --no-install-recommends debootstrap

mirror=$(tools/debian-mirror.sh)

if [[ $# -ge 2 ]]; then
  mkdir -p "$2"
  root=$(cd "$2" && pwd)
else
  root=$(mktemp --directory)
fi
if [[ $root == "$PWD"/* ]]; then
  echo "test-on.sh: $root is inside the source tree" >&2
  exit 64
fi

# Runs a command in the root, with the mounts that programs expect.
# shellcheck disable=SC2016 # expanded by the inner shell
inside() {
  unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" bash -c '
    mount --rbind "$0" "$0"  # needed for further mount namespaces
    mount --rbind --make-rslave /dev "$0/dev"
    mount --rbind --make-rslave /sys "$0/sys"
    exec chroot "$0" env --ignore-environment HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
    "$root" "$@"
}

# If a function fails, the trap sees that function's arguments.
if [[ $# -eq 1 ]]; then trap 'rm -rf --one-file-system "$root"' EXIT; fi

[[ -f $root/etc/debian_version ]] || debootstrap --variant=minbase "$release" "$root" "$mirror"
cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
# The Slurm tests mount their own over it, and debootstrap does not create it.
[[ -e $root/etc/hosts ]] || echo '127.0.0.1 localhost' >"$root/etc/hosts"
mkdir -p "$root/src"
find "$root/src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
# The working tree with uncommitted changes; git is needed by tests that list files.
git ls-files -z --cached --others --exclude-standard |
  tar --create --ignore-failed-read --null --files-from=- | tar --extract --directory "$root/src"

inside apt-get install --quiet --quiet --yes --no-install-recommends git ca-certificates
inside git config --global --replace-all safe.directory /src
inside sh -c 'cd /src && git init --quiet && git add --all'
inside sh -c 'cd /src && tools/install-deps.sh test'
if [[ $# -ge 3 ]]; then
  inside env --chdir=/src "${@:3}"
elif [[ $build_only == yes ]]; then
  inside sh -c 'cd /src && cmake --preset dev && cmake --build --preset dev'
else
  inside sh -c 'cd /src && tools/test.sh all'
fi
