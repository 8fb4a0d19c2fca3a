#!/usr/bin/env bash
# Installs muster's dependencies: `install-deps.sh build` to build it, `package` to make packages, `arm64` to
# cross-compile, `test` (default) to run every test except those of deploy/, `deploy` for those. If it cannot
# install something, it prints the missing command or package. `install-deps.sh libraries` installs nothing
# and prints the Debian libraries that muster is built with.
set -euo pipefail

debian_build=(g++ cmake ninja-build pkg-config libfmt-dev libexpected-dev libyaml-cpp-dev
  nlohmann-json3-dev libsimdjson-dev libcli11-dev libhwloc-dev libibverbs-dev libssl-dev
  libopenmpi-dev libpugixml-dev libkainjow-mustache-dev libboost-math-dev liburing-dev
  libsqlite3-dev zlib1g-dev)
debian_test=(openmpi-bin openssh-server slurm-wlm munge iproute2 libgtest-dev libgmock-dev libbenchmark-dev
  cppcheck shellcheck shfmt prometheus prometheus-node-exporter pciutils hwloc man-db procps util-linux jq
  python3-jsonschema python3-yaml tidy)
# Installed if the release has them: the oldest supported compiler, linters, SimGrid, and the tools of a guest
# with software RDMA.
debian_offered=(g++-11 clang-format-14 clang-tidy-14 clang-14 lld-14 libclang-rt-14-dev
  libsimgrid-dev qemu-system-x86 busybox-static cpio kmod ibverbs-providers perftest)
debian_package=(binutils dpkg-dev rpm)
debian_arm64=(g++-aarch64-linux-gnu qemu-user-static debootstrap)
# Programs that deep tests run: one line for each ecosystem of deploy/, and the database of the fleet's export.
debian_deploy=(
  docker.io iptables podman buildah runc mmdebstrap    # container
  python3-azure python3-marshmallow python3-strictyaml # azureml
  jq                                                   # cyclecloud
  postgresql                                           # fleet
  # packages, ansible
  lintian rpmlint rpm reprepro createrepo-c dnf gnupg ansible-core ansible-lint
)
# NodeSource's nodejs contains npm, and conflicts with Debian's npm.
command -v npm >/dev/null || debian_deploy+=(npm)
# RHEL and its family have no package of kainjow's Mustache: put its one header into
# /usr/local/include/kainjow.
redhat_build=(gcc-c++ cmake ninja-build pkgconf-pkg-config fmt-devel expected-devel yaml-cpp-devel
  json-devel simdjson-devel cli11-devel hwloc-devel rdma-core-devel openssl-devel
  openmpi-devel pugixml-devel boost-devel liburing-devel sqlite-devel zlib-devel)
redhat_test=(openssh-server slurm slurm-slurmctld slurm-slurmd munge iproute gtest-devel gmock-devel google-benchmark-devel clang lld clang-tools-extra compiler-rt
  cppcheck ShellCheck golang-github-prometheus pciutils hwloc man-db procps-ng util-linux)
redhat_package=(binutils rpm-build)

usage() {
  echo "usage: tools/install-deps.sh [build|package|arm64|test|deploy|libraries]" >&2
  exit 64
}

# Runs a command as root, or prints the command that root must run.
as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  else
    echo "install-deps: not root and no sudo without a password; run this as root:" >&2
    echo "  $*" >&2
    exit 1
  fi
}

debian_missing() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      echo "$package"
  done
}

redhat_missing() {
  local package
  for package in "$@"; do
    rpm --quiet --query --whatprovides "$package" || echo "$package"
  done
}

scope=${1:-test}
[[ $# -le 1 && $scope =~ ^(build|package|arm64|test|deploy|libraries)$ ]] || usage
if [[ $scope == libraries ]]; then
  printf '%s\n' "${debian_build[@]}" | grep -e '-dev$'
  exit
fi

if command -v apt-get >/dev/null; then
  wanted=("${debian_build[@]}")
  [[ $scope != package ]] || wanted+=("${debian_package[@]}")
  [[ $scope != arm64 ]] || wanted+=("${debian_arm64[@]}")
  [[ $scope != deploy ]] || wanted+=("${debian_deploy[@]}")
  [[ $scope != test ]] || wanted+=("${debian_test[@]}" "${debian_offered[@]}")
  mapfile -t missing < <(debian_missing "${wanted[@]}")
  [[ ${#missing[@]} -eq 0 ]] && exit 0
  as_root apt-get update --quiet
  for package in "${debian_offered[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 || mapfile -t missing < <(printf '%s\n' "${missing[@]}" | grep -vxF "$package")
  done
  [[ ${#missing[@]} -eq 0 ]] && exit 0
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends \
    "${missing[@]}"
elif command -v dnf >/dev/null; then
  wanted=("${redhat_build[@]}")
  [[ $scope != package ]] || wanted+=("${redhat_package[@]}")
  [[ $scope != test ]] || wanted+=("${redhat_test[@]}")
  mapfile -t missing < <(redhat_missing "${wanted[@]}")
  [[ ${#missing[@]} -eq 0 ]] && exit 0
  echo "install-deps: on RHEL and its family some of these come from EPEL and CRB"
  as_root dnf install --assumeyes "${missing[@]}"
else
  echo "install-deps: neither apt-get nor dnf is here; install the equivalents of:" >&2
  echo "  ${debian_build[*]}" >&2
  [[ $scope != test ]] || echo "  ${debian_test[*]}" >&2
  exit 1
fi
