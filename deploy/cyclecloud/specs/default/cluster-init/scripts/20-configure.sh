#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes /etc/muster/muster.yaml: the site's file, or one that reports drains to CycleCloud. The
# profile is recognised from the hardware, unless the cluster's template has `muster.profile`.
# shellcheck source=deploy/cyclecloud/specs/default/cluster-init/files/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../files/common.sh"

content() {
  local profile
  profile=$(setting muster.profile '')
  echo "$mark To replace it, put your own into $site."
  echo 'schema: muster.site/1'
  [[ ! $profile ]] || echo "profile: $profile"
  cat <<END
slurm:
  tell:
    program: ${condition#"$root"}
    user: root
    deadline: 20 s
    events: [drained, refused, resumed, released, over]
END
}

[[ -x $muster ]] || leave "not installed: not configured"
# The package's own file sets nothing.
if [[ -f $yaml ]] && ! grep --quiet "^$mark" "$yaml" &&
  grep --extended-regexp --invert-match '^[[:space:]]*(#|$|schema:)' "$yaml" >/dev/null; then
  leave "$yaml is the site's own: left alone"
fi
mkdir -p "${yaml%/*}" || leave "cannot make ${yaml%/*}: not configured"
site=$(setting muster.config "$(shared_folder)/muster.yaml")
timeout --signal=KILL 20 test -f "$site" # on a file server, which may hang
case $? in
  0) echo "$mark A copy of $site." && timeout --signal=KILL 20 cat "$site" ;;
  1) content ;;
  *) false ;;
esac >"$yaml.new" || leave "cannot read $site or write $yaml.new: not configured"
chmod 644 "$yaml.new"
if cmp --silent "$yaml.new" "$yaml"; then
  rm -f "$yaml.new"
  leave "$yaml is up to date"
fi
[[ ! -f $yaml ]] || cp --preserve "$yaml" "$yaml.old"
mv "$yaml.new" "$yaml" || leave "cannot write $yaml: not configured"
if ! timeout 60 "$muster" validate --root "${root:-/}"; then
  if [[ -f $yaml.old ]]; then mv "$yaml.old" "$yaml"; else rm -f "$yaml"; fi
  leave "the new $yaml has a mistake and is not used"
fi
rm -f "$yaml.old"
say "wrote $yaml"
