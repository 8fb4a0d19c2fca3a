#!/bin/sh
# Runs sshd in the foreground, for the mpirun of another container. Arguments are sshd's, for example `-p 2222`.
# Who may log in is in /root/.ssh/authorized_keys, which the job mounts, with the owner and mode of the mount.
set -eu
mkdir -p /run/sshd
ssh-keygen -A >/dev/null
# Sessions get the image's paths, where the base's mpirun may be.
exec /usr/sbin/sshd -D -e -o StrictModes=no -o PasswordAuthentication=no \
  -o "SetEnv=PATH=$PATH LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}" "$@"
