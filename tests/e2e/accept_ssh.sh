#!/usr/bin/env bash
# muster accept reaches nodes by ssh: by a fake ssh that greets, cuts answers off and refuses, by one that hangs
# and loses nodes (`slow`), and by a real sshd on this machine (`sshd`).
set -euo pipefail

muster=$1
what=$2 # fake, slow or sshd
work=$(mktemp --directory)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
export PATH=$work/bin:$PATH
mkdir "$work/bin"

fail() {
  echo "accept_ssh: $1" >&2
  cat "$work/out" "$work/err" >&2
  exit 1
}

# Runs muster accept, which must end with this status.
accept() {
  local want=$1 status=0
  shift
  "$muster" accept --run "$work/run" "$@" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq $want ]] || fail "the status is $status, not $want: accept $*"
}

# The output must have a line with this pattern.
expect() {
  grep --quiet --extended-regexp "$1" "$work/out" || fail "no line has: $1"
}

cat >"$work/bin/ssh" <<'END'
#!/usr/bin/env bash
while [[ $1 != -- ]]; do shift; done
node=$2
line=$3
if [[ $line == *'"stage":"node"'* ]]; then
  echo "$USER@$node: Permission denied (publickey)." >&2
  exit 255
fi
case $node in
  greets)
    echo "Last login: never from nowhere"
    sh -c "$line"
    echo "Bye"
    ;;
  cuts) sh -c "$line" | head --bytes 200 ;;
  refuses)
    echo "Host key verification failed." >&2
    exit 255
    ;;
  gone)
    echo "ssh: connect to host gone port 22: Connection refused" >&2
    exit 255
    ;;
  hangs) sleep 1000 ;;
  *)
    echo "the fake ssh has no node $node" >&2
    exit 1
    ;;
esac
END
chmod +x "$work/bin/ssh"
printf 'soak_s: 60\nslice_s: 60\nwait_s: 0\nreturn_s: 60\nlevel: quick\n' >"$work/short.yaml"

case $what in
  fake)
    accept 1 greets,cuts,refuses --by ssh --muster "$muster" --plan "$work/short.yaml"
    expect ' greets inventory: (pass|warn)'
    expect ' greets node: refused: .*Permission denied'
    expect ' cuts inventory: interrupted: .*cut off'
    expect '^not_tested +cuts: interrupted 5 times'
    expect '^held +refuses: .*Host key verification failed'
    grep --quiet accepted "$work/out" && fail "a node without GPUs is accepted"
    accept 1 --status
    expect '3 nodes: 2 held, 1 not tested'
    # A changed list or plan is refused.
    accept 78 greets,cuts --by ssh
    grep --quiet 'refuses was ordered' "$work/err" || fail "the changed list is not named"
    accept 78 --plan strict
    # A decision is recorded, and the run continues.
    accept 0 --withdraw cuts --why 'sent back'
    accept 1 --by ssh --muster "$muster"
    expect '^withdrawn +cuts'
    ;;
  slow)
    accept 1 gone,hangs --by ssh --muster "$muster" --plan "$work/short.yaml"
    expect ' gone inventory: lost: .*Connection refused'
    expect ' hangs inventory: lost: ssh did not answer within'
    ;;
  sshd)
    sshd=$(command -v sshd || command -v /usr/sbin/sshd) || {
      echo "accept_ssh: sshd is not installed"
      exit 77
    }
    [[ $(id --user) -eq 0 && -d /run/sshd || $(id --user) -ne 0 ]] || mkdir /run/sshd
    rm "$work/bin/ssh"
    ssh=$(command -v ssh)
    ssh-keygen -q -t ed25519 -N '' -f "$work/key"
    ssh-keygen -q -t ed25519 -N '' -f "$work/host_key"
    port=$((20000 + RANDOM % 20000))
    cat >"$work/sshd_config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $work/host_key
PidFile none
AuthorizedKeysFile $work/key.pub
StrictModes no
UsePAM no
END
    printf 'Host *\n  HostName 127.0.0.1\n  Port %s\n  IdentityFile %s\n  StrictHostKeyChecking no\n' \
      "$port" "$work/key" >"$work/config"
    printf '  UserKnownHostsFile %s\n' "$work/known" >>"$work/config"
    printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$ssh" "$work/config" >"$work/bin/ssh"
    chmod +x "$work/bin/ssh"
    "$sshd" -D -e -f "$work/sshd_config" 2>"$work/sshd.log" &
    server=$!
    for _ in {1..50}; do
      ssh -o BatchMode=yes here true 2>"$work/err" && break
      sleep 0.1
    done
    timeout --signal=INT 20 "$muster" accept here --run "$work/run" --by ssh --muster "$muster" \
      --plan "$work/short.yaml" >"$work/out" 2>"$work/err" && fail "a node without GPUs is accepted"
    expect ' here inventory: (pass|warn)'
    expect ' here check: '
    # The steps on the node end with the driver.
    command -v pgrep >/dev/null || fail "pgrep is not installed"
    for _ in {1..100}; do
      pgrep --full "accept --step.*\"node\":\"here\"" >/dev/null || exit 0
      sleep 0.1
    done
    fail "a step still runs"
    ;;
esac
