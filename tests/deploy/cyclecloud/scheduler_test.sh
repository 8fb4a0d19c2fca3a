#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The script of the CycleCloud project on a scheduler: the files that it adds to CycleCloud-Slurm's folder, its behaviour
# next to another HealthCheckProgram, and that it leaves nothing behind.
#
#   scheduler_test.sh SOURCES
set -uo pipefail
sources=$1
command -v jq >/dev/null || {
  echo 'jq is not installed'
  exit 77
}
# shellcheck source=tests/deploy/cyclecloud/node.sh
. "$sources/tests/deploy/cyclecloud/node.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
root=$folder/scheduler
shared=$root/sched/my-cluster
site=$shared/site_specific.conf

fail() {
  echo "not ok: $*" >&2
  failures=$((failures + 1))
}

# run TEXT [ARGUMENT]...: 50-slurm.sh ends with 0 and prints the text.
run() {
  local text=$1 out
  shift
  out=$(run_script "$root" scheduler 50-slurm.sh "$@") || fail "50-slurm.sh $* failed: $out"
  [[ $out == *"$text"* ]] || fail "50-slurm.sh $* does not print '$text': $out"
  printf '%s\n' "$out" >>"$folder/printed"
}

# lines TEXT: our block is this.
lines() {
  local found
  found=$(sed -n "/^# BEGIN muster/,/^# END muster/{/^#/d;s|$root||;p}" "$site")
  [[ $found == "$1" ]] || fail "the block is $found"
}

# round TEXT: with the text in site_specific.conf, adding and removing muster restores it.
round() {
  printf '%s' "$1" >"$site"
  cp --preserve "$site" "$folder/before"
  run ''
  grep -q '^# BEGIN muster' "$site" || fail 'there is no block'
  run 'removed' --remove
  cmp "$folder/before" "$site" || fail 'site_specific.conf is not what it was'
  [[ $(stat -c '%a %u' "$site") == "$(stat -c '%a %u' "$folder/before")" ]] || fail 'its mode has changed'
  [[ $(cd "$shared" && echo *.d/* muster*) == 'epilog.d/10-health_epilog.sh prolog.d/10-health_prolog.sh muster*' ]] ||
    fail 'files are left'
}

cp -r "$sources/deploy/cyclecloud" "$folder/project"
make_node "$root" "$folder/project"
fake "$root" scontrol 'exit 0'
touch "$site" "$shared/slurm.conf"
rm -r "$shared/prolog.d"
run 'prolog.d is missing, which CycleCloud-Slurm 4 has'
mkdir "$shared/prolog.d"
touch "$shared/prolog.d/10-health_prolog.sh" "$shared/epilog.d/10-health_epilog.sh"

# The lines of CycleCloud-Slurm's slurm.conf that matter here.
slurm_conf() {
  printf '%s\n' 'SchedulerParameters=max_switch_wait=24:00:00' "HealthCheckInterval=$1" 'HealthCheckNodeState=ANY' \
    "HealthCheckProgram=$2" 'Include site_specific.conf' '' 'SlurmCtldHost=head' >"$shared/slurm.conf"
}
slurm_conf 60 "$shared/health.sh"
round '# site specific slurm configuration. This is preserved during upgrades' # it ends without a line break
chmod 640 "$site"
round $'SuspendExcParts=gpu\n\n'
round ''
round $'\n'

# Twice: nothing changes, and Slurm is not asked again. The block stays where it is, with lines before and after it.
: >"$root/calls"
printf 'SuspendExcParts=gpu' >"$site"
run 'Slurm has read site_specific.conf'
echo 'MessageTimeout=60' >>"$site"
cp "$site" "$folder/with-lines"
run ''
cp "$site" "$folder/first"
: >"$root/calls"
run "Slurm runs /sched/my-cluster/muster/health_check"
cmp "$folder/first" "$site" || fail 'the second run changed site_specific.conf'
[[ ! -s $root/calls ]] || fail "the second run called $(cat "$root/calls")"
run '' --remove
[[ $(<"$site") == $'SuspendExcParts=gpu\nMessageTimeout=60' ]] || fail "two lines became $(<"$site")"

# Next to another HealthCheckProgram, and without one.
chain=$'SchedulerParameters=max_switch_wait=24:00:00,nohold_on_prolog_fail\nPrologEpilogTimeout=300'
ours=$'HealthCheckProgram=/sched/my-cluster/muster/health_check'
run ''
lines "$chain"$'\n'"$ours"$'\nHealthCheckNodeState=ANY,CYCLE'
sed "s|$root||" "$site" >"$folder/block"
page=$sources/docs/deploy/cyclecloud.md
check_page "$page" 'the block' "$folder/block"
check_page "$page" 'printed by the scheduler' "$folder/printed"
set_config "$root" muster.health_check leave
run ''
lines "$chain"
slurm_conf 0 '""'
run ''
lines "$chain"$'\n'"$ours"$'\nHealthCheckInterval=300\nHealthCheckNodeState=ANY,CYCLE'
set_config "$root" muster.health_check off
run ''
lines "$chain"
set_config "$root" muster.health_check chain
echo 'PrologEpilogTimeout=120' >>"$shared/slurm.conf"
run ''
lines "${chain%$'\n'*}"$'\n'"$ours"$'\nHealthCheckInterval=300\nHealthCheckNodeState=ANY,CYCLE'
echo 'SchedulerParameters=bf_interval=60' >>"$shared/slurm.conf"
run 'slurm.additional.config sets SchedulerParameters, which overrides'

# Scripts that Slurm runs: without muster on the node the job starts, and only muster's own 1 fails a hook.
hooks=$root/usr/libexec/muster/slurm
mkdir -p "$hooks"
stub=$shared/prolog.d/50-muster_prolog.sh
"$stub" || fail 'without muster the prolog fails'
for status in 0 1 2 127; do
  printf '#!/bin/sh\nexit %d\n' "$status" >"$hooks/prolog"
  chmod 755 "$hooks/prolog"
  "$stub"
  [[ $? -eq $((status == 1)) ]] || fail "the prolog passes on $status"
done
slurm_conf 60 "$shared/health.sh"
run ''
for program in "$shared/health.sh" "$hooks/health_check"; do
  printf '#!/bin/sh\necho %s\nexit 3\n' "${program##*/}" >"$program"
  chmod 755 "$program"
done
[[ $("$shared/muster/health_check") == $'health.sh\nhealth_check' ]] || fail 'the health check does not run both'
rm "$hooks/health_check"
[[ $("$shared/muster/health_check") == health.sh ]] || fail 'without muster the other health check does not run'

# Drained nodes are kept up if muster drained them and nothing else keeps them.
set_config "$root" muster.drained keep
run ''
grep -q 'systemctl enable .*muster-keep-drained.timer' "$root/calls" || fail 'the timer is not enabled'
# shellcheck disable=SC2016
fake "$root" sinfo 'cat '"$root"'/nodes'
fake "$root" azslurm ''
# shellcheck disable=SC2016
fake "$root" scontrol 'case "$*" in "show config") echo "SuspendExcNodes         = $(cat '"$root"'/excluded)" ;;
  "show hostnames"*) echo "$3" | tr , "\n" ;; esac'
keep() {
  printf '%s\n' "$1" | tr / '\n' >"$root/nodes"
  echo "$2" >"$root/excluded"
  : >"$root/calls"
  PATH=$root/fake:$PATH "$root/usr/local/sbin/muster-keep-drained" "${@:4}" || fail 'muster-keep-drained failed'
  [[ $(grep azslurm "$root/calls") == "$3" ]] || fail "azslurm was called so: $(grep azslurm "$root/calls")"
}
keep 'n1 drain muster: a/n2 drng muster: b/n3 drain Healthcheck failures/n4 idle none/n5 drain~ muster: c' '(null)' \
  'azslurm keep_alive --node-list n1,n2'
keep 'n1 drain muster: a/n2 drain muster: b' 'n1,n2' ''
keep 'n1 drain muster: a/n2 idle none/n6 drain muster: d' 'n1,n2,n6' 'azslurm keep_alive --remove --node-list n2'
keep 'n1 idle none/n6 idle none' 'n1,n6' 'azslurm keep_alive --remove --node-list n1'
keep 'n1 drain muster: a' 'n6' 'azslurm keep_alive --node-list n1'
keep 'n1 drain muster: a' 'n1,n6' 'azslurm keep_alive --remove --node-list n1' --release
set_config "$root" muster.drained release
run ''
[[ ! -e $root/usr/local/sbin/muster-keep-drained && ! -e $root/etc/systemd/system/muster-keep-drained.timer ]] ||
  fail 'the timer is still there'

[[ $failures -eq 0 ]] && echo ok
exit $((failures > 0))
