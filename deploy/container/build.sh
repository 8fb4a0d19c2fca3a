#!/usr/bin/env bash
# Builds a container image of muster from the packages of tools/package.sh, and prints its name and size.
#
#   deploy/container/build.sh muster [BASE]        `muster` alone; BASE (debian:bookworm-slim) is where its libraries
#                                                  are copied from
#   deploy/container/build.sh muster-bench BASE    both programs on top of the image that jobs use: one with
#                                                  PyTorch, with CUDA and NCCL, or Azure ML's ACPT
#
# ENGINE is the program that builds, with its options: by default the first of podman, buildah and docker. PACKAGES is
# the folder with the packages, by default build/package/packages.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$here/../..

usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
  exit 64
}

[[ $# -ge 1 && $# -le 2 ]] || usage
image=$1 base=${2:-}
case $image in
  muster) base=${base:-docker.io/library/debian:bookworm-slim} ;;
  muster-bench) [[ $base ]] || usage ;;
  *) usage ;;
esac
packages=${PACKAGES:-$source/build/package/packages}
version=$(sed -n 's/^project(muster VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
[[ -n ${ENGINE:-} ]] || for ENGINE in podman buildah docker none; do
  ! command -v "$ENGINE" >/dev/null || break
done
[[ $ENGINE != none ]] || {
  echo "build.sh: none of podman, buildah and docker is installed" >&2
  exit 1
}
read -r -a engine <<<"$ENGINE"

context=$(mktemp --directory)
trap 'rm -rf "$context"' EXIT
cp "$packages/muster-$version"-linux-*.tar.gz "$packages/muster.spdx.json" "$context" || {
  echo "build.sh: run tools/package.sh first: it makes the packages of version $version" >&2
  exit 1
}
cp "$here/Containerfile.$image" "$here/start-sshd.sh" "$here/ssh.conf" "$source/tools/sbom.sh" "$context"
"${engine[@]}" build --file "$context/Containerfile.$image" --tag "$image:$version" --tag "$image" \
  --build-arg BASE="$base" --build-arg VERSION="$version" --build-arg REVISION="$(git -C "$source" rev-parse HEAD)" \
  --build-arg CREATED="$(date --utc +%FT%TZ)" "$context" >&2
echo "$image:$version"
