#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds muster's hooks to a CycleCloud-Slurm 4 cluster: scripts in prolog.d and epilog.d, and a block in
# site_specific.conf, which slurm.conf includes and upgrades preserve. `50-slurm.sh --remove` removes
# everything.
set -uo pipefail
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
spec=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Tests run this in a folder with the layout of a node; on a node it is /.
root=
[[ $spec != */mnt/cluster-init/* ]] || root=${spec%%/mnt/cluster-init/*}
jetpack=$root/opt/cycle/jetpack/bin/jetpack
libexec=$root/usr/libexec/muster/slurm # of muster's package, on each node
keeper=$root/usr/local/sbin/muster-keep-drained
begin='# BEGIN muster: written by its CycleCloud project, and removed by 50-slurm.sh --remove'
end='# END muster'

say() { echo "muster: $*"; }

# Ends the script: the cluster is configured without muster.
leave() {
  say "$*"
  exit 0
}

setting() {
  local value
  value=$(timeout 30 "$jetpack" config "$1" "$2" 2>/dev/null) || value=$2
  printf '%s\n' "${value:-$2}"
}

# Sets $before and $after to the text around our block in $site. The line break before the block
# belongs to it, because the file may end without one.
split_site() {
  before=$site after=
  [[ $site == *$'\n'"$begin"* ]] || return 0
  before=${site%%$'\n'"$begin"*}
  after=${site#*$'\n'"$end"$'\n'}
  [[ ! $after || $before == *$'\n' || ! $before ]] || before+=$'\n'
}

# value KEY <TEXT: prints the value of the key; the last one counts.
value() {
  sed --quiet --regexp-extended "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*//Ip" |
    tail --lines=1 | sed 's/"//g;s/[[:space:]]*$//'
}

# base KEY: prints the value without our block.
base() { printf '%s\n' "$(<"$shared/slurm.conf")" "$before" "$after" | value "$1"; }

# The text of `slurm.additional.config` is in slurm.conf below the line that includes our block.
warn_of_overrides() {
  local key
  while IFS='=' read -r key _; do
    [[ ! $(sed '1,/^Include site_specific.conf/Id' "$shared/slurm.conf" | value "$key") ]] ||
      say "slurm.additional.config sets $key, which overrides muster's line in site_specific.conf"
  done < <(block | grep --invert-match '^#')
}

# write FILE MODE <TEXT: replaces a file that nodes may be reading, if it differs. Writes it elsewhere
# first, because Slurm runs every file in prolog.d.
write() {
  local new=$shared/muster/new
  cat >"$new" && chmod "$2" "$new" || return 1
  if cmp --silent "$new" "$1"; then rm "$new"; else mv "$new" "$1"; fi
}

# Prints a script for the shared folder that runs the node's own copy of muster's hook. The braces make
# the shell read the whole script first, so that it cannot hang on the file server later. On a node
# without muster the job starts: Slurm would drain a node whose prolog fails.
stub() {
  cat <<END
#!/bin/sh
# Written by muster's CycleCloud project.
{
  [ -x $libexec/$1 ] || exit 0
  $libexec/$1
  [ \$? -eq 1 ] && exit 1
  exit 0
}
END
}

# Slurm has only one HealthCheckProgram. This one first runs the cluster's other one, with a limit of
# some seconds, because Slurm ends both after 60 s.
health_check() {
  cat <<END
#!/bin/sh
# Written by muster's CycleCloud project.
{
  ${1:+[ -x $1 ] && /usr/bin/timeout -k 1 10 $1}
  [ -x $libexec/health_check ] && $libexec/health_check
  exit 0
}
END
}

# Prints our lines for slurm.conf. Later lines override earlier ones, so lists must be complete.
block() {
  local parameters other
  parameters=$(base SchedulerParameters)
  if [[ ,$parameters, != *,nohold_on_prolog_fail,* ]]; then
    echo "SchedulerParameters=${parameters:+$parameters,}nohold_on_prolog_fail"
  fi
  # The IMEX prolog waits for more than two minutes.
  [[ $(base PrologEpilogTimeout) ]] || echo 'PrologEpilogTimeout=300'
  other=$(base HealthCheckProgram)
  if [[ $health == off || ($health == leave && $other) ]]; then
    return
  fi
  echo "HealthCheckProgram=$shared/muster/health_check"
  [[ $(base HealthCheckInterval) =~ ^[1-9] ]] || echo 'HealthCheckInterval=300'
  echo 'HealthCheckNodeState=ANY,CYCLE'
}

reconfigure() {
  if ! timeout 30 scontrol ping >/dev/null 2>&1; then
    say 'slurmctld does not run: it reads site_specific.conf at its start'
  elif timeout 120 scontrol reconfigure; then
    say 'Slurm has read site_specific.conf'
  else
    say 'scontrol reconfigure failed: run it on this node'
  fi
}

# Keeps the file's owner and mode.
write_site() {
  [[ $1 != "$site" ]] || return 0
  local file=$shared/site_specific.conf new=$shared/muster/new
  printf '%s' "$1" >"$new" && chown --reference="$file" "$new" && chmod --reference="$file" "$new" &&
    mv "$new" "$file" && changed=yes
}

keep_drained() {
  local unit
  for unit in muster-keep-drained.service muster-keep-drained.timer; do
    install -D --mode=644 "$spec/files/$unit" "$root/etc/systemd/system/$unit" || return 1
  done
  install -D --mode=755 "$spec/files/muster-keep-drained.sh" "$keeper" && systemctl daemon-reload &&
    systemctl enable --quiet --now muster-keep-drained.timer
}

let_go() {
  [[ -e $keeper ]] || return 0
  systemctl disable --quiet --now muster-keep-drained.timer
  "$keeper" --release
  rm -f "$keeper" "$root"/etc/systemd/system/muster-keep-drained.{service,timer}
  systemctl daemon-reload
}

add() {
  local new hook
  mkdir -p "$shared/muster" || leave "cannot write $shared: Slurm does not run muster"
  for hook in prolog epilog; do
    stub "$hook" | write "$shared/$hook.d/50-muster_$hook.sh" 755 ||
      leave "cannot write $shared/$hook.d"
    say "Slurm runs $shared/$hook.d/50-muster_$hook.sh"
  done
  health_check "$(base HealthCheckProgram)" | write "$shared/muster/health_check" 755
  new=$before$'\n'$begin$'\n'$(block)$'\n'$end$'\n'$after
  write_site "$new" || leave "cannot write $shared/site_specific.conf"
  if [[ $(setting muster.drained release) == keep ]]; then keep_drained; else let_go; fi ||
    say "muster.drained: cannot change muster-keep-drained.timer"
  warn_of_overrides
  [[ $new != *muster/health_check* ]] || say "Slurm runs $shared/muster/health_check"
  [[ $changed == no ]] || reconfigure
}

remove() {
  mkdir -p "$shared/muster"
  write_site "$before$after" || leave "cannot write $shared/site_specific.conf"
  let_go
  [[ $changed == no ]] || reconfigure
  # Last: until now Slurm may use them.
  rm -rf "$shared"/{prolog.d/50-muster_prolog.sh,epilog.d/50-muster_epilog.sh,muster}
  say "removed from $shared"
}

name=$(setting cyclecloud.cluster.name '')
shared=$root/sched/$(tr '[:upper:]' '[:lower:]' <<<"$name" | sed 's/[^a-z0-9-]/-/g')
for file in site_specific.conf slurm.conf prolog.d epilog.d; do
  [[ $name && -e $shared/$file ]] ||
    leave "$shared/$file is missing, which CycleCloud-Slurm 4 has: Slurm does not run muster"
done
[[ $(setting slurm.is_primary_scheduler true) =~ ^[Tt]rue$ ]] ||
  leave 'the primary scheduler does this'
health=$(setting muster.health_check chain)
site=$(cat "$shared/site_specific.conf" && printf .) || leave "cannot read $shared/site_specific.conf"
site=${site%.} # with the line breaks at its end
changed=no
split_site
if [[ ${1:-} == --remove ]]; then remove; else add; fi
