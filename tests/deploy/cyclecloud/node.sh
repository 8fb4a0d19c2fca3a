# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A folder with the layout of a node that CycleCloud configures: a jetpack that answers from a file and logs the
# conditions that are set, and programs of the system that only log how they were called.

# make_node ROOT PROJECT: PROJECT is the output of tools/package-cyclecloud.sh.
make_node() {
  local root=$1 project=$2 spec
  mkdir -p "$root"/{etc,fake,opt/cycle/jetpack/bin} "$root/sched/my-cluster"/{prolog.d,epilog.d}
  for spec in default scheduler; do
    mkdir -p "$root/mnt/cluster-init/muster/$spec"
    cp -r "$project/specs/$spec/cluster-init/." "$root/mnt/cluster-init/muster/$spec"
  done
  printf 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nID=ubuntu\nID_LIKE=debian\n' >"$root/etc/os-release"
  jq . <<<'{"cyclecloud.cluster.name": "My_Cluster", "version": "8.10.0-3822"}' >"$root/config.json"
  cat >"$root/opt/cycle/jetpack/bin/jetpack" <<END
#!/bin/bash
value() { sed --quiet "s/^ *\"\$1\": \"\(.*\)\",\?\$/\1/p" $root/config.json; }
case \$1 in
  --version) value version ;;
  config) found=\$(value "\$2") && echo "\${found:-\${3-}}" ;;
  download) cp "$project/blobs/\$4" . ;;
  condition) printf '[%s]' "\${@:2}" >>$root/conditions && echo >>$root/conditions ;;
  *) exit 2 ;;
esac
END
  fake "$root" getconf 'echo glibc 2.35'
  fake "$root" apt-get "for deb; do [[ \$deb != *.deb ]] || dpkg-deb --extract \"\$deb\" $root; done"
  fake "$root" systemctl ''
  fake "$root" rpm ''
  chmod 755 "$root/opt/cycle/jetpack/bin/jetpack"
}

# fake ROOT NAME SCRIPT: a program that logs its call in ROOT/calls.
fake() {
  printf '#!/bin/bash\necho "%s $*" >>%s/calls\n%s\n' "$2" "$1" "$3" >"$1/fake/$2"
  chmod 755 "$1/fake/$2"
}

# set_config ROOT KEY VALUE: a value of the cluster's template.
set_config() {
  jq --arg key "$2" --arg value "$3" '.[$key] = $value' "$1/config.json" >"$1/config.new"
  mv "$1/config.new" "$1/config.json"
}

# run_script ROOT SPEC NAME [ARGUMENT]...: runs a script of a spec like CycleCloud.
run_script() {
  local root=$1 spec=$2 name=$3
  shift 3
  PATH=$root/fake:$PATH bash "$root/mnt/cluster-init/muster/$spec/scripts/$name" "$@" 2>&1 | sed "s|$root||g"
  return "${PIPESTATUS[0]}"
}

# check_page PAGE MARK PRINTED: the block of the page below this comment was printed, except for its command lines.
check_page() {
  local line lines=0
  while IFS= read -r line; do
    lines=$((lines + 1))
    [[ $line == '# '* ]] || grep -qxF -- "$line" "$3" || fail "the page shows what is not printed: $line"
  done < <(awk -v mark="<!-- $2 -->" '$0 == mark {on = 1; next} on && /^```/ && ++fences == 2 {exit} on && !/^```/' "$1")
  [[ $lines -gt 0 ]] || fail "$1 has no block $2"
}
