#!/bin/sh
# Runs sshd in the foreground, for mpirun in another container. Passes its arguments to sshd, for example `-p 2222`.
# /root/.ssh/authorized_keys lists who may log in. The job mounts it; owner and mode are those of the mount.
set -eu
mkdir -p /run/sshd
ssh-keygen -A >/dev/null
# Sessions get the image's paths, where the base's mpirun may be.
exec /usr/sbin/sshd -D -e -o StrictModes=no -o PasswordAuthentication=no \
  -o "SetEnv=PATH=$PATH LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}" "$@"
