#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The LBNL NHC plug-in: every exit status of muster, and hostile text. MUSTER_NHC_TREE names an unpacked LBNL NHC to use;
# otherwise driver.sh is used.
#
#   nhc_test.sh SOURCES MUSTER MUSTER_NODE
set -uo pipefail

sources=$1 muster=$2 muster_node=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
name=""
status=0

fail() {
  echo "not ok: $name: $*" >&2
  failures=$((failures + 1))
}

# Programs that NHC calls to drain and resume a node, and its log.
text_of() { cat "$folder/$1" 2>/dev/null; }

begin() {
  name=$1
  rm -rf "$folder"/{conf,offline,online,log,output,calls,trap}
  mkdir -p "$folder/conf/scripts" "$folder/trap"
  [[ -z ${MUSTER_NHC_TREE:-} ]] || cp "$MUSTER_NHC_TREE"/scripts/*.nhc "$folder/conf/scripts/"
  cp "$sources/nhc-plugins/muster.nhc" "$folder/conf/scripts/"
  : >"$folder/log"
  : >"$folder/conf/nhc.conf"
}

# A stand-in for muster that records its arguments and runs the given lines.
fake() {
  {
    printf '#!/bin/bash\necho "$*" >>%q\n' "$folder/calls"
    printf '%s\n' "$@"
  } >"$folder/fake"
  chmod +x "$folder/fake"
  conf "* || export MUSTER_PROGRAM=$folder/fake"
}

conf() { printf '%s\n' "$@" >>"$folder/conf/nhc.conf"; }

# Host name, then NHC options.
run_on() {
  local host=$1
  shift
  local -a settings=("CONFDIR=$folder/conf" "INCDIR=$folder/conf/scripts"
    "CONFFILE=$folder/conf/nhc.conf" "HOSTNAME=$host" "HOSTNAME_S=${host%%.*}" NHC_RM=slurm "LOGFILE=$folder/log"
    "OFFLINE_NODE=$folder/node_offline" "ONLINE_NODE=$folder/node_online")
  cd "$folder/trap" || exit 1
  if [[ -n ${MUSTER_NHC_TREE:-} ]]; then
    timeout 60 bash "$MUSTER_NHC_TREE/nhc" "$@" "${settings[@]}" \
      "HELPERDIR=$MUSTER_NHC_TREE/helpers" >"$folder/output" 2>&1 </dev/null
  else
    timeout 60 bash "$sources/tests/nhc/driver.sh" "$@" "${settings[@]}" \
      >"$folder/output" 2>&1 </dev/null
  fi
  status=$?
  cd / || exit 1
}

expect_healthy() {
  [[ $status -eq 0 ]] || fail "status $status: $(text_of output) $(text_of log)"
  [[ ! -e $folder/offline ]] || fail "was drained: $(text_of offline)"
  [[ $(text_of online) == "$1" ]] || fail "was not marked online: $(text_of output) $(text_of log)"
}

# The node was not judged, so it is neither drained nor resumed.
expect_left() {
  [[ $status -eq 0 ]] || fail "status $status: $(text_of output) $(text_of log)"
  [[ ! -e $folder/offline ]] || fail "was drained: $(text_of offline)"
  [[ ! -e $folder/online ]] || fail "was marked online"
}

# Status, then the text as NHC passes it to Slurm.
expect_drained() {
  [[ $status -eq $1 ]] || fail "status $status, expected $1: $(text_of output) $(text_of log)"
  [[ $(text_of offline) == "$2" ]] || fail "drained with: $(text_of offline); expected: $2"
  [[ ! -e $folder/online ]] || fail "was marked online"
}

expect_logged() {
  [[ $(text_of log) == *"$1"* ]] || fail "not in the log: $1; there is: $(text_of log)"
}

for mark in offline online; do
  printf '#!/bin/bash\necho "$*" >>%q\n' "$folder/$mark" >"$folder/node_$mark"
  chmod +x "$folder/node_$mark"
done

verdicts() {
  begin "a healthy node"
  fake 'echo "healthy: 60 checks: 60 pass"'
  conf '* || check_muster'
  run_on n1
  expect_healthy n1
  [[ $(text_of calls) == "check --format nhc --deadline 20s --context periodic" ]] ||
    fail "called with: $(text_of calls)"

  begin "an unhealthy node"
  fake 'echo "a warning first" >&2' \
    'echo "unhealthy: gpu.present gpu3: lost, reboot the node"' 'exit 1'
  conf '* || check_muster'
  run_on n1
  expect_drained 1 "n1 check_muster: gpu.present gpu3: lost, reboot the node"

  begin "status 1 without output is not a verdict"
  fake 'exit 1'
  conf '* || check_muster'
  run_on n1
  expect_left
  expect_logged "could not judge"
}

undecided() {
  local line
  for line in 'exit 2' 'exit 64' 'exit 78' 'exit 127' 'kill -SEGV $$' 'kill -KILL $$'; do
    begin "undecided: $line"
    fake 'echo "unknown: gpu.ecc gpu3: no answer"' "$line"
    conf '* || check_muster'
    run_on n1
    expect_left
    expect_logged "could not judge, the node is left as it is: status "
    expect_logged "unknown: gpu.ecc gpu3: no answer"
  done

  begin "a program that is missing or not executable"
  conf '* || export MUSTER_PROGRAM=/nonexistent/muster' '* || check_muster'
  run_on n1
  expect_left
  expect_logged "/nonexistent/muster is missing or not executable"

  begin "undecided, and the site wants it drained"
  fake 'echo "unknown: nothing"' 'exit 2'
  conf '* || export MUSTER_UNDECIDED=fail' '* || check_muster'
  run_on n1
  expect_drained 1 "n1 check_muster: could not judge: status 2: unknown: nothing"
}

# Only a run that judged everything resumes a node that NHC drained. With -f each check is a process of its
# own.
marking() {
  local option text
  for option in -t30 -f; do
    text="nhc $option"
    begin "$text: one line undecided and one healthy"
    fake '[[ $* == *gpu* ]] && echo "unknown: gpu.ecc gpu3: no answer" && exit 2' 'echo "healthy: 9 checks"'
    conf '* || check_muster_gpu' '* || check_muster_host'
    run_on n1 $option
    expect_left

    begin "$text: one line undecided and one sick"
    fake '[[ $* == *gpu* ]] && echo "unknown: gpu.ecc gpu3: no answer" && exit 2' \
      'echo "unhealthy: host.nvme md0: degraded"' 'exit 1'
    conf '* || check_muster_gpu' '* || check_muster_host'
    run_on n1 $option
    expect_drained 1 "n1 check_muster_host: host.nvme md0: degraded"

    begin "$text: a sick node"
    fake 'echo "unhealthy: x.y: bad"' 'exit 1'
    conf '* || check_muster'
    run_on n1 $option
    expect_drained 1 "n1 check_muster: x.y: bad"

    begin "$text: a healthy node"
    fake 'echo "healthy: 9 checks"'
    conf '* || check_muster' '* || check_muster_host'
    run_on n1 $option
    expect_healthy n1

    begin "$text: undecided in a run before"
    fake "[[ -e $folder/judged ]] || { touch $folder/judged; exit 2; }" 'echo "healthy: 9 checks"'
    rm -f "$folder/judged"
    conf '* || check_muster'
    run_on n1 $option
    expect_left
    run_on n1 $option
    expect_healthy n1
  done

  begin "nhc -a -f forgets that a check failed"
  fake 'echo "unhealthy: x.y: bad"' 'exit 1'
  conf '* || check_muster'
  run_on n1 -a -f
  [[ $(text_of offline) == "n1 check_muster: x.y: bad" ]] || fail "drained with: $(text_of offline)"
  [[ ! -e $folder/online ]] || fail "was marked online"
}

deadlines() {
  begin "a program that hangs ends before NHC does"
  fake 'trap "" TERM' 'sleep 100 & wait'
  conf '* || check_muster' '* || check_muster_gpu'
  SECONDS=0
  run_on n1 -t 7
  expect_left
  expect_logged "status 137"
  ((SECONDS <= 20)) || fail "took $SECONDS s"

  begin "its own time"
  fake 'echo "healthy: 1 check"'
  conf '* || export MUSTER_TIMEOUT=5' '* || check_muster'
  run_on n1
  expect_healthy n1
  [[ $(text_of calls) == *"--deadline 5s"* ]] || fail "called with: $(text_of calls)"

  begin "less than NHC has"
  fake 'echo "healthy: 1 check"'
  conf '* || export MUSTER_TIMEOUT=500' '* || check_muster'
  run_on n1 -t 12
  expect_healthy n1
  [[ $(text_of calls) =~ --deadline\ [89]s ]] || fail "called with: $(text_of calls)"
}

# None of it may run, be expanded, or reach NHC's eval.
hostile() {
  local text allowed='^n1 check_muster: [A-Za-z0-9 .,:_/%+=@-]*$'
  local -a texts=("\$(touch $folder/trap/a)" "\`touch $folder/trap/b\`" "'; touch $folder/trap/c; echo '"
    "\"; touch $folder/trap/d; \"" "* ? [a-z]* {x,y} ~root !!" $'two\nlines\rand\ta\001\033[2Jbell\007'
    "x' || touch $folder/trap/e #" "\\'; touch $folder/trap/f; \\'" "--nodelete -rf /" "grüße 漢字" "%s %n"
    "$(printf 'y%.0s' {1..5000})")
  for text in "${texts[@]}"; do
    begin "hostile text: ${text:0:40}"
    printf 'unhealthy: %s' "$text" >"$folder/hostile"
    fake "cat $folder/hostile" 'exit 1'
    touch "$folder/trap/file_of_a_glob"
    conf '* || check_muster'
    run_on n1
    [[ $status -eq 1 ]] || fail "status $status: $(text_of output)"
    [[ $(text_of offline) =~ $allowed ]] || fail "drained with: $(text_of offline)"
    [[ $(text_of offline) != *file_of_a_glob* ]] || fail "a glob was expanded"
    [[ $(text_of offline | wc -c) -le 200 ]] || fail "$(text_of offline | wc -c) characters"
    [[ $(ls "$folder/trap") == file_of_a_glob ]] || fail "something ran: $(ls "$folder/trap")"
    [[ $(text_of online) == "" ]] || fail "marked online"
  done

  begin "hostile text of a run that was not decided"
  fake "printf '%s' \"x' ; touch $folder/trap/a ; echo '\"" 'exit 2'
  conf '* || export MUSTER_UNDECIDED=fail' '* || check_muster'
  run_on n1
  [[ -z $(ls "$folder/trap") ]] || fail "something ran"
  [[ $(text_of offline) =~ $allowed ]] || fail "drained with: $(text_of offline)"

  begin "bytes of zero, and no end of line"
  fake "printf 'unhealthy: a\\0b'" 'exit 1'
  conf '* || check_muster'
  run_on n1
  expect_drained 1 "n1 check_muster: ab"
}

arguments() {
  begin "context and checks"
  fake 'echo "healthy: 2 checks"'
  conf '* || check_muster prolog gpu.xid ib.*' '* || check_muster_gpu' '* || check_muster_ib' \
    '* || check_muster_host' '* || check_muster_topo boot'
  run_on n1
  expect_healthy n1
  local wanted="check --format nhc --deadline 20s --context"
  [[ $(text_of calls) == "$wanted prolog --only gpu.xid,ib.*
$wanted periodic --only gpu.*,pci.*
$wanted periodic --only ib.*
$wanted periodic --only host.*,env.*,muster.*
$wanted boot --only topo.*" ]] || fail "called with: $(text_of calls)"

  begin "a name in the message"
  fake 'echo "unhealthy: ib.rate mlx5_0: slow"' 'exit 1'
  conf '* || check_muster_ib'
  run_on n1
  expect_drained 1 "n1 check_muster_ib: ib.rate mlx5_0: slow"

  begin "the profile"
  fake 'echo "healthy: 2 checks"'
  conf '{n[01-10]} || export MUSTER_PROFILE=nd96isr_h100_v5' 'm* || export MUSTER_PROFILE=generic' \
    '* || check_muster'
  run_on n07
  expect_healthy n07
  [[ $(text_of calls) == *"--profile nd96isr_h100_v5" ]] || fail "called with: $(text_of calls)"

  local word
  for word in --help "'gpu;reboot'" "'a b'" "'\$(true)'" "''" "Gpu"; do
    begin "no name of a check: $word"
    fake 'echo "healthy: 2 checks"'
    conf "* || check_muster $word"
    run_on n1
    expect_left
    expect_logged "invalid name in the configuration"
    [[ -z $(text_of calls) ]] || fail "called with: $(text_of calls)"
  done
}

several() {
  begin "one run for each group"
  fake 'echo "healthy: 2 checks"'
  conf '* || check_muster' '* || check_muster' '* || check_muster_gpu' '* || check_muster periodic'
  run_on n1
  expect_healthy n1
  [[ $(text_of calls | wc -l) -eq 2 ]] || fail "called with: $(text_of calls)"

  begin "all failures are counted with -a"
  fake 'echo "unhealthy: x.y: $*"' 'exit 1'
  conf '* || check_muster_gpu' '* || check_muster_ib' 'other || check_muster_topo'
  run_on n1 -a
  [[ $status -eq 2 ]] || fail "status $status"
  [[ $(text_of offline | wc -l) -eq 1 ]] || fail "drained with: $(text_of offline)"
  expect_logged "check_muster_gpu: x.y"
  expect_logged "check_muster_ib: x.y"
  [[ $(text_of log) != *check_muster_topo* ]] || fail "another host's line was run"
  [[ ! -e $folder/online ]] || fail "was marked online"

  begin "the first failure ends a run without -a"
  fake 'echo "unhealthy: x.y: $*"' 'exit 1'
  conf '* || check_muster_gpu' '* || check_muster_ib'
  run_on n1
  [[ $(text_of calls | wc -l) -eq 1 ]] || fail "called with: $(text_of calls)"
}

targets() {
  local target host expected
  while read -r target host expected; do
    begin "target $target on $host"
    fake 'echo "unhealthy: x.y: bad"' 'exit 1'
    conf "$target || check_muster"
    run_on "$host"
    if [[ $expected == runs ]]; then
      expect_drained 1 "$host check_muster: x.y: bad"
    else
      expect_healthy "$host"
    fi
  done <<'END'
n* n1 runs
n[12] n2 runs
n[12] n3 not
!n[12] n3 runs
/^n[0-9]+$/ n12 runs
/^n[0-9]+$/ m12 not
!/^n[0-9]+$/ m12 runs
{n[1-4],x[01-10]} x07 runs
{n[1-4],x[01-10]} x7 not
{n[1-4],x[01-10]} n4 runs
!{n[1-4]} n4 not
END
}

shipped() {
  local -a profiles
  local profile
  begin "the configuration that is shipped"
  fake 'echo "unhealthy: x.y: bad"' 'exit 1'
  cat "$sources/nhc-plugins/muster.conf" >>"$folder/conf/nhc.conf"
  run_on node7.example.com
  expect_drained 1 "node7 check_muster: x.y: bad"
  mapfile -t profiles < <(sed -n 's/^#.*MUSTER_PROFILE=//p' "$sources/nhc-plugins/muster.conf")
  [[ ${#profiles[@]} -gt 10 ]] || fail "only ${#profiles[@]} profiles"
  for profile in "${profiles[@]}"; do
    [[ -e $sources/configs/profiles/$profile.yaml ]] || fail "there is no profile $profile"
  done
}

# The program itself, on simulated nodes.
real() {
  local fault expected
  while read -r fault expected; do
    begin "muster on a node with: $fault"
    rm -rf "$folder/node"
    if [[ $fault == nothing ]]; then
      "$muster_node" render nd96isr_h100_v5 "$folder/node" >/dev/null || fail "not rendered"
    else
      "$muster_node" render nd96isr_h100_v5 "$folder/node" --fault "$fault" >/dev/null ||
        fail "not rendered"
    fi
    # The plug-in adds muster's options; the test sets where to look.
    printf '#!/bin/sh\nexec %q "$@" --root %q --nvml %q\n' "$muster" "$folder/node" \
      "$folder/node/nvml/libnvidia-ml.so.1" >"$folder/wrapped"
    chmod +x "$folder/wrapped"
    conf "* || export MUSTER_PROGRAM=$folder/wrapped" '* || export MUSTER_PROFILE=nd96isr_h100_v5' \
      '* || check_muster_gpu' '* || check_muster_host'
    run_on n1
    if [[ $fault == nothing ]]; then
      expect_healthy n1
    else
      [[ $status -eq 1 && $(text_of offline) == "n1 $expected "* ]] ||
        fail "status $status: $(text_of offline) $(text_of log)"
      [[ $(text_of offline | tr -d 'A-Za-z0-9 .,:_/%+=@\n-') == "" ]] || fail "$(text_of offline)"
    fi
  done <<'END'
nothing
gpu_off_the_bus check_muster_gpu: pci.devices 0003:00:00.0:
array_degraded check_muster_host: host.nvme md0:
file_system_read_only check_muster_host: host.kernel_log sda1:
END
}

verdicts
undecided
marking
deadlines
hostile
arguments
several
targets
shipped
real
if [[ $failures -gt 0 ]]; then
  echo "$failures failures" >&2
  exit 1
fi
echo "all as expected"
