#!/usr/bin/env bash
# Fails if a folder includes one it must not depend on, or mentions what only probes may mention. Run by CTest
# from the source root.
set -euo pipefail

# folder : folders it may include in addition to itself
rules='
lib/base     :
lib/hosts    : lib/base
lib/statistics :
lib/process  : lib/base
lib/node     : lib/base
lib/profile  : lib/base lib/node lib/report
lib/report   : lib/base lib/hosts lib/node
lib/state    : lib/base lib/node
lib/probes   : lib/base lib/process lib/node lib/state
lib/command  : lib/base lib/process lib/report
lib/kubernetes : lib/base lib/process lib/report
lib/accept   : lib/base lib/hosts lib/node lib/repair lib/report lib/statistics
lib/fleet    : lib/base lib/statistics
lib/repair   : lib/base lib/node lib/report
accept       : lib/base lib/process lib/hosts lib/node lib/command lib/profile lib/report lib/accept bench/model bench/locate
fleet        : lib/base lib/command lib/fleet lib/hosts lib/node lib/report lib/statistics bench/locate
repair       : accept lib/accept lib/base lib/process lib/command lib/node lib/profile lib/report lib/repair slurm/cluster slurm/commands slurm/policy slurm/rules
slurm/rules  : lib/base lib/report
slurm/cluster : lib/base lib/process lib/hosts slurm/rules
slurm/policy : lib/base lib/report slurm/rules slurm/cluster
slurm/history : lib/base slurm/cluster
slurm/drains : lib/base lib/report slurm/cluster slurm/policy slurm/history
slurm/sweeps : lib/base lib/hosts lib/report slurm/rules slurm/cluster slurm/history
slurm/status : lib/base slurm/rules slurm/cluster slurm/policy slurm/history
slurm/tell   : lib/base lib/process slurm/rules slurm/cluster slurm/history
slurm/commands : lib/base lib/process lib/hosts lib/report lib/command lib/profile slurm/rules slurm/cluster slurm/policy slurm/history slurm/drains slurm/sweeps slurm/tell slurm/status
checks/nhc_conf : lib/base lib/report checks checks/shared lib/hosts
checks/make_profile : lib/base lib/node lib/profile checks/shared
checks/app   : accept fleet repair lib/base lib/process lib/command lib/fleet lib/kubernetes lib/node lib/profile lib/report lib/state lib/probes checks checks/nhc_conf checks/make_profile slurm/commands lib/hosts
checks       : lib/base lib/node lib/profile lib/report lib/state
checks/shared : lib/base lib/node lib/state checks
checks/xid   : lib/base lib/node checks/shared
checks/gpu   : lib/state checks checks/shared checks/xid
checks/env   : checks checks/shared
checks/host  : checks checks/shared
checks/ib    : checks checks/shared
checks/muster: checks checks/shared
checks/pci   : checks checks/shared
checks/topo  : checks checks/shared
bench/collectives : lib/base
bench/model  : lib/base lib/profile bench/collectives
bench/sockets : lib/base
bench/launch : lib/base lib/process lib/hosts bench/sockets
bench/group  : lib/base bench/launch bench/sockets
bench/backends : lib/base lib/process bench/collectives bench/model bench/sockets
bench/results : lib/base lib/profile lib/report lib/statistics bench/collectives bench/backends bench/group
bench/command : lib/base lib/command lib/profile lib/report bench/collectives bench/model bench/launch bench/backends
bench/run    : lib/base lib/process lib/command lib/profile lib/report lib/probes bench/collectives bench/model bench/launch bench/sockets bench/group bench/backends bench/results bench/command
bench/node   : lib/base lib/process lib/command lib/node lib/profile lib/report lib/probes lib/statistics bench/collectives bench/backends bench/command bench/run
bench/locate : lib/base lib/command lib/hosts lib/profile lib/report lib/statistics bench/model bench/backends bench/command bench/results bench/run bench/node
bench/train  : lib/base lib/command lib/report lib/statistics bench/backends bench/command bench/results bench/run bench/node
bench        : lib/process lib/command lib/report bench/run bench/node bench/locate bench/train
bench/micro  : lib/node lib/profile lib/report lib/probes checks
'

status=0

# Sets `folder` to the longest folder with a rule that contains a path.
find_folder() {
  case $1 in
    checks/app/* | checks/main.cpp) folder=checks/app ;;
    lib/*/* | checks/*/* | bench/*/* | slurm/*/*)
      local below=${1#*/}
      folder=${1%%/*}/${below%%/*}
      ;;
    *) folder=${1%%/*} ;;
  esac
}

declare -A allowed
while IFS=: read -r folder may; do
  folder=${folder%% *}
  if [[ $folder ]]; then allowed[$folder]=" $may "; fi
done <<<"$rules"

# A cycle in the rules would allow anything.
if ! circle=$(awk -F' *: *' 'NF > 1 { n = split($2, may, " "); for (i = 1; i <= n; i++) print $1, may[i] }' <<<"$rules" |
  tsort 2>&1 >/dev/null); then
  echo "layering: folders that may include each other in a circle:"
  echo "$circle"
  status=1
fi

declare -A used
while IFS=: read -r file _ include; do
  header=${include#*\"}
  find_folder "${header%%\"*}"
  target=$folder
  find_folder "$file"
  used[$folder]+=" $target "
  [[ $target == "$folder" || ${allowed[$folder]:-} == *" $target "* ]] && continue
  echo "layering: $file includes $target: $include"
  status=1
done < <(grep -rnE '^#include "' lib checks bench slurm accept fleet repair --include='*.cpp' --include='*.hpp')

# A permission that no include uses could hide a step backwards.
for folder in "${!allowed[@]}"; do
  for target in ${allowed[$folder]}; do
    [[ ${used[$folder]:-} == *" $target "* ]] && continue
    echo "layering: $folder may include $target, and does not"
    status=1
  done
done

# Headers and paths that only one folder may mention.
confined() {
  local what=$1 where=$2 hits
  hits=$(grep -rnE "$what" lib checks bench slurm accept fleet repair --include='*.cpp' --include='*.hpp') || {
    echo "layering: nothing mentions $what"
    status=1
    return
  }
  hits=$(grep -vE "^$where" <<<"$hits") || return 0
  echo "layering: only $where may mention $what:"
  echo "$hits"
  status=1
}
confined '#include <(hwloc|infiniband/)' 'lib/probes/'
confined '#include <(nccl|mpi)\.h>' 'bench/backends/'
confined '#include <yaml-cpp/' 'lib/profile/yaml\.cpp'
confined '#include <pugixml' 'lib/probes/environment\.cpp'
confined '#include <simdjson' 'lib/base/json_read\.cpp'
confined '#include <kainjow/' 'lib/report/formats/page\.cpp'
confined '#include <boost/' 'lib/statistics/statistics\.cpp'
confined '#include <sqlite3' 'fleet/sqlite\.cpp'
confined '#include <CLI/' 'lib/command/'
confined '#include <openssl/ssl' 'lib/kubernetes/'
confined '#include <openssl/evp' 'lib/base/digest\.cpp'

exit "$status"
