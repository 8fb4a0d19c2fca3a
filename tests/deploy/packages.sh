#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The packages of tools/package.sh: lintian and rpmlint find no error; apt and dnf install them from signed repositories
# in fresh roots, and refuse changed ones; Slurm drains no node after the package was removed or purged.
#
#   packages.sh PACKAGES        as root; PACKAGES is the folder of tools/package.sh
set -uo pipefail

packages=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
skip() {
  echo "skipped: $*" >&2
  exit 77
}
for program in lintian rpmlint rpmbuild reprepro createrepo_c rpmsign gpg mmdebstrap unshare dnf; do
  command -v "$program" >/dev/null || skip "$program is not installed (tools/install-deps.sh deploy)"
done
ls "$packages"/*.deb "$packages"/*.rpm >/dev/null 2>&1 || skip "$packages: no packages (tools/package.sh)"
[[ $(id -u) -eq 0 ]] || skip "not root"
unshare --mount --pid --fork --net --uts --ipc true || skip "namespaces are not permitted"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}
# Runs a command, and shows its output if it fails.
expect() {
  "$@" >"$folder/log" 2>&1 || fail "$*: status $?: $(tail -n 20 "$folder/log")"
}

# Linters. The programs are linked statically on purpose, and rpmlint's list of licenses is old.
lintian --fail-on error --allow-root "$packages"/*.deb >"$folder/log" 2>&1 || fail "lintian: $(grep '^E:' "$folder/log")"
cat >"$folder/rpmlint.toml" <<'END'
Filters = ["no-signature", "invalid-license", "statically-linked-binary", "no-changelogname-tag", "crypto-policy",
  "no-dependency-on locales-mpi"]
END
rpmlint --config "$folder/rpmlint.toml" "$packages"/*.rpm >"$folder/log" 2>&1 || fail "rpmlint: $(grep ': E: ' "$folder/log")"

# Signed repositories, made twice: the second run changes nothing that apt or dnf sees.
export GNUPGHOME=$folder/keys
mkdir -m 700 "$GNUPGHOME"
expect gpg --batch --passphrase '' --quick-generate-key 'muster test <test@example.org>' rsa3072 sign never
root=$folder/root
mkdir "$root"
for run in 1 2; do
  expect "$source/deploy/packages/repositories.sh" "$packages" "$folder/repository" test@example.org file:///srv/muster
  find "$folder/repository/apt/dists" -name Packages -exec sha256sum {} + >"$folder/packages.$run"
done
cmp -s "$folder/packages.1" "$folder/packages.2" || fail "a second run of repositories.sh changes the apt repository"
"$source/deploy/packages/repositories.sh" "$packages" "$folder/other" stranger@example.org file:///srv/muster \
  >"$folder/log" 2>&1 && fail "repositories.sh took an unknown key"
grep -q 'stranger@example.org: no secret key' "$folder/log" || fail "an unknown key: $(cat "$folder/log")"

# A root of this Debian release with Slurm, which has never seen muster.
mmdebstrap --quiet --variant=apt --include=slurm-wlm,munge,iproute2 "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" \
  "$root" "$("$source/tools/debian-mirror.sh")" >"$folder/log" 2>&1 || fail "mmdebstrap: $(tail -n 5 "$folder/log")"
# slurmd needs the machine's control groups.
inside() {
  # shellcheck disable=SC2016 # the inner shell's arguments
  unshare --mount --pid --fork --kill-child --net --uts --ipc --mount-proc="$root/proc" \
    sh -c 'mount --rbind /sys "$0/sys" && exec chroot "$0" "$@"' "$root" \
    /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}
rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/*
cp -r "$folder/repository" "$root/srv/muster"
mkdir -p "$root/etc/apt/keyrings"
cp "$root/srv/muster/muster.asc" "$root/etc/apt/keyrings/"
cp "$root/srv/muster/muster.sources" "$root/etc/apt/sources.list.d/"
expect inside apt-get --quiet update
expect inside apt-get --quiet --yes --no-install-recommends install muster
expect inside muster --version
expect inside test -f /usr/lib/systemd/system/muster-boot.service
# shellcheck disable=SC2016 # a field of dpkg
[[ $(inside dpkg-query --show --showformat='${Conffiles}' muster) == *' /etc/muster/muster.yaml '* ]] ||
  fail "/etc/muster/muster.yaml is not a conffile"

# A node with muster's hooks, and a job on it. Prints the node's state and reason after the job.
cat >"$root/root/job" <<'END'
set -eu
hostname n1
ip link set lo up
ip link add v0 type veth peer name v1
ip addr add 10.99.0.1/24 dev v0
ip link set v0 up
ip link set v1 up
echo '127.0.0.1 localhost n1' >/etc/hosts
mkdir -p /run/munge /var/spool/slurmd /var/lib/slurm/state /dev/shm
chown munge: /run/munge
rm -rf /var/lib/slurm/state/*
setpriv --reuid munge --regid munge --clear-groups munged --force
cat >/etc/slurm/slurm.conf <<CONF
ClusterName=test
SlurmctldHost=n1
SlurmUser=root
StateSaveLocation=/var/lib/slurm/state
SlurmdSpoolDir=/var/spool/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
Prolog=/usr/libexec/muster/slurm/prolog
Epilog=/usr/libexec/muster/slurm/epilog
NodeName=n1 CPUs=1
PartitionName=all Nodes=ALL Default=YES
CONF
slurmctld
slurmd
timeout 60 srun --nodes 1 --immediate=40 echo 'the job ran' || true
for try in $(seq 50); do
  state=$(sinfo --noheader --format '%T %E')
  [ "$state" = 'completing none' ] || [ "$state" = 'allocated none' ] || break
  sleep 0.2
done
echo "$state"
END
job() {
  local output
  output=$(inside sh /root/job 2>&1)
  [[ $output == *$'the job ran\nidle none'* ]] || fail "$1: $output"
}
job "with muster"
echo '# ours' >>"$root/etc/muster/muster.yaml"
expect inside apt-get --quiet --yes remove muster
[[ ! -e $root/usr/bin/muster ]] || fail "muster was not removed"
grep -q '# ours' "$root/etc/muster/muster.yaml" || fail "the site's settings were removed"
job "after muster was removed"
expect inside apt-get --quiet --yes purge muster
[[ ! -e $root/etc/muster/muster.yaml ]] || fail "the settings were not purged"
job "after muster was purged"
rm -r "$root/usr/libexec/muster" # proves that the jobs above needed what the package left behind
output=$(inside sh /root/job 2>&1)
[[ $output == *drain* ]] || fail "Slurm ran a job without the prolog: the package need not leave it behind: $output"
expect inside apt-get --quiet --yes --no-install-recommends install muster
job "with muster again"

# A repository that was tampered with.
sed -i 's/^Version: .*/&+changed/' "$root"/srv/muster/apt/dists/stable/main/binary-*/Packages
rm -f "$root"/srv/muster/apt/dists/stable/main/binary-*/Packages.*
rm -rf "$root"/var/lib/apt/lists/*
inside apt-get --quiet update >"$folder/log" 2>&1 && fail "apt took changed lists of packages"

# dnf, in a root with one package that stands for the C library and the shell.
cat >"$folder/base.spec" <<'END'
Name: base
Version: 1
Release: 1
Summary: Stands for glibc
License: Apache-2.0
BuildArch: noarch
%{lua: for line in io.lines(os.getenv("NEEDS")) do print("Provides: " .. line .. "\n") end}
%description
Stands for glibc.
%files
END
rpm --query --requires --package "$packages"/muster-[0-9]*.rpm 2>/dev/null | grep -v -e '^rpmlib' -e '^config' | sort -u >"$folder/needs"
NEEDS=$folder/needs rpmbuild --define "_topdir $folder/rpm" -bb "$folder/base.spec" >"$folder/log" 2>&1 ||
  fail "rpmbuild: $(tail -n 3 "$folder/log")"
expect createrepo_c --quiet "$folder/rpm/RPMS"
dnf_install() {
  dnf --assumeyes --installroot "$1" --setopt=reposdir="$folder/repos" --setopt=cachedir="$1/cache" --setopt=keepcache=0 \
    --setopt=install_weak_deps=False --releasever 9 --repofrompath "base,$folder/rpm/RPMS" --setopt=base.gpgcheck=0 install muster
}
mkdir "$folder/repos"
sed "s#file:///srv/muster#file://$folder/repository#" "$folder/repository/muster.repo" >"$folder/repos/muster.repo"
expect dnf_install "$folder/dnf"
[[ -x $folder/dnf/usr/bin/muster ]] || fail "dnf did not install muster"
for rpm in "$folder"/repository/yum/muster-[0-9]*.rpm; do
  cp "$packages/${rpm##*/}" "$rpm" # without its signature
done
expect createrepo_c --quiet --update "$folder/repository/yum"
rm "$folder/repository/yum/repodata/repomd.xml.asc"
expect gpg --batch --detach-sign --armor "$folder/repository/yum/repodata/repomd.xml"
dnf_install "$folder/unsigned" >"$folder/log" 2>&1 && fail "dnf installed a package without a signature"

((failures == 0)) && echo ok
exit $((failures > 0))
