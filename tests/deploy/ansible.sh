#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Ansible collection: clean by ansible-lint; the role installs muster from a repository and from a file, changes
# nothing the second time, refuses bad settings, and removes everything. It runs on a disposable copy of this machine.
#
#   ansible.sh PACKAGES         as root; PACKAGES is the folder of tools/package.sh
set -uo pipefail

packages=$(cd "$1" 2>/dev/null && pwd) || packages=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
skip() {
  echo "skipped: $*" >&2
  exit 77
}
for program in ansible-playbook ansible-galaxy ansible-lint reprepro createrepo_c rpmsign gpg shellcheck systemd-analyze; do
  command -v "$program" >/dev/null || skip "$program is not installed (tools/install-deps.sh deploy)"
done
ls "$packages"/*.deb >/dev/null 2>&1 || skip "$packages: no packages (tools/package.sh)"
[[ $(id -u) -eq 0 ]] || skip "not root"

# Everything below happens in a mount namespace whose root is an overlay of this machine, with PACKAGES as /srv.
if [[ ${2:-} != inside ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  cat >"$folder/overlay" <<'END'
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount --bind "$2" "$1/root/srv"
END
  unshare --mount --pid --fork sh "$folder/overlay" "$folder" /srv || skip "an overlay of / is not permitted"
  # shellcheck disable=SC2016 # the inner shell's arguments
  unshare --mount --pid --fork --kill-child sh -c '. "$0"; exec chroot "$1/root" "$3" /srv inside' \
    "$folder/overlay" "$folder" "$packages" "$source/tests/deploy/ansible.sh"
  exit
fi

folder=$(mktemp -d)
failures=0
fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}
export ANSIBLE_COLLECTIONS_PATH=$folder/collections ANSIBLE_LOCALHOST_WARNING=0 ANSIBLE_NOCOLOR=1 HOME=$folder
export GNUPGHOME=$folder/keys
mkdir -m 700 "$GNUPGHOME"
ansible-galaxy collection install --offline "$source/deploy/ansible" --collections-path "$folder/collections" >"$folder/log" 2>&1 ||
  fail "ansible-galaxy: $(cat "$folder/log")"
(cd "$folder/collections/ansible_collections/muster/muster" && ansible-lint --offline -q --nocolor) >"$folder/log" 2>&1 ||
  fail "ansible-lint: $(cat "$folder/log")"
gpg --batch --quiet --passphrase '' --quick-generate-key 'muster test <test@example.org>' rsa3072 sign never 2>"$folder/log"
"$source/deploy/packages/repositories.sh" /srv "$folder/repository" test@example.org "file://$folder/repository" \
  >"$folder/log" 2>&1 || fail "repositories.sh: $(cat "$folder/log")"
chmod -R a+rX "$folder/repository" && chmod a+x "$folder"
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* # only muster's repository
mkdir -p /etc/slurm/prolog.d /etc/slurm/epilog.d /var/lib/metrics

# play STATUS CHANGED VARIABLES: CHANGED is an extended regular expression for the number of changed tasks.
play() {
  local status
  ansible-playbook --inventory localhost, --connection local muster.muster.site --extra-vars "$3" >"$folder/log" 2>&1
  status=$?
  [[ $status -eq $1 ]] || fail "$3: status $status, expected $1: $(tail -n 30 "$folder/log")"
  [[ -z $2 ]] || grep -qE "changed=($2) " "$folder/log" || fail "$3: expected changed=$2: $(tail -n 30 "$folder/log")"
}
settings="'muster_settings': {'profile': 'nd96isr_h100_v5', 'slurm': {'drain': false}}"
slurm="'muster_prolog_d': '/etc/slurm/prolog.d', 'muster_epilog_d': '/etc/slurm/epilog.d'"
metrics="'muster_textfile_directory': '/var/lib/metrics'"
all="{'muster_repository': 'file://$folder/repository', $settings, $slurm, $metrics}"

play 0 '[1-9][0-9]*' "$all"
muster --version >/dev/null || fail "muster is not installed"
muster validate >"$folder/log" 2>&1 || fail "the written settings: $(cat "$folder/log")"
for hook in prolog epilog; do
  shellcheck "/etc/slurm/$hook.d/50-muster.sh" || fail "the hook in $hook.d"
  "/etc/slurm/$hook.d/50-muster.sh" >"$folder/log" 2>&1 || fail "the $hook ends with status $?: $(cat "$folder/log")"
done
systemd-analyze verify --man=no /etc/systemd/system/muster-metrics.timer 2>&1 | grep muster-metrics && fail "the timer's units"
sh -c "$(sed -n 's/^ExecStart=//p' /etc/systemd/system/muster-metrics.service)" >"$folder/log" 2>&1
[[ $? -le 2 && -s /var/lib/metrics/muster.prom ]] || fail "no metrics: $(cat "$folder/log")"
play 0 0 "$all"

play 2 '' "{'muster_repository': 'file://$folder/repository', 'muster_settings': {'slurm': {'dran': false}}}"
grep -q 'dran' "$folder/log" || fail "a misspelt setting is not named: $(tail -n 20 "$folder/log")"
muster validate >"$folder/log" 2>&1 || fail "bad settings were written: $(cat "$folder/log")"
play 2 '' "{'muster_package': ''}"
play 2 '' "{'muster_state': 'gone'}"

play 0 '[1-9][0-9]*' "{'muster_state': 'absent', $slurm, $metrics}"
for left in /usr/bin/muster /etc/slurm/prolog.d/50-muster.sh /etc/slurm/epilog.d/50-muster.sh /etc/systemd/system/muster-metrics.timer \
  /etc/apt/sources.list.d/muster.sources /var/lib/metrics/muster.prom; do
  [[ ! -e $left ]] || fail "$left was not removed"
done
play 0 0 "{'muster_state': 'absent', $slurm, $metrics}"

deb=$(ls /srv/muster_*.deb)
play 0 '[1-9][0-9]*' "{'muster_package': '$deb'}"
play 0 0 "{'muster_package': '$deb'}"
muster --version >/dev/null || fail "muster is not installed from a file"

((failures == 0)) && echo ok
exit $((failures > 0))
