# SPDX-License-Identifier: Apache-2.0
# Completion of muster's command line for bash. The tests hold it to the program's own options.

_muster_files() {
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
  compopt -o filenames 2>/dev/null
}

_muster_words() {
  mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# Words that a command that runs from here would list: nothing where muster cannot run.
_muster_asked() {
  "${COMP_WORDS[0]}" "$@" 2>/dev/null | cut -d ' ' -f 1
}

# The same behind the last comma of a list.
_muster_list() {
  local begun=''
  [[ $1 == *,* ]] && begun=${1%,*},
  mapfile -t COMPREPLY < <(compgen -P "$begun" -W "$2" -- "${1##*,}")
}

# Readline takes '=' for a word of its own: --format=json is three.
_muster() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]}
  local contexts='manual prolog epilog periodic boot'
  COMPREPLY=()

  if ((COMP_CWORD == 1)); then
    if [[ $current == -* ]]; then
      _muster_words "$current" '-h --help --version'
    else
      _muster_words "$current" 'check snapshot list explain profiles hook drain resume history events hostfile sweep'
    fi
    return
  fi

  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ ${COMP_WORDS[COMP_CWORD]} == '=' || ${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
    [[ $previous == -* ]] || return # the value within --set KEY=VALUE
  elif [[ $current == -* ]]; then
    _muster_options "$command" "$current"
    return
  fi
  case $command:$previous in
    history:--format | events:--format | sweep:--format) _muster_words "$current" 'text json' ;;
    list:--format) _muster_words "$current" 'text json markdown' ;;
    *:--format) _muster_words "$current" 'text json prometheus junit npd nhc' ;;
    *:--context) _muster_words "$current" "$contexts" ;;
    *:--profile | profiles:show) _muster_words "$current" "$(_muster_asked profiles)" ;;
    *:--only | *:--skip) _muster_list "$current" "$(_muster_asked list)" ;;
    *:--output | *:--snapshot | *:--save-snapshot | *:--nhc-conf | *:--root | *:--nvml | *:--state) _muster_files "$current" ;;
    *:--set | *:--deadline | *:--since | *:--reason | *:--slots) ;;
    *:--partition) _muster_words "$current" "$(sinfo -h -o %R 2>/dev/null)" ;;
    hook:hook) _muster_words "$current" 'prolog epilog periodic boot' ;;
    explain:*) _muster_words "$current" "$(_muster_asked list)" ;;
    *) _muster_options "$command" "$current" ;;
  esac
}

_muster_options() {
  local command=$1 current=$2 options=''
  case $command in
    check)
      options='--profile --context --only --skip --nhc-conf --active --set --format --output --snapshot
        --save-snapshot --root --nvml --state --deadline -v --verbose -q --quiet'
      ;;
    snapshot) options='--profile --context --output --root --nvml --state --deadline --describe' ;;
    list) options='--format' ;;
    explain) options='--profile --set --root' ;;
    profiles) options='--set --root' ;;
    hook) options='--profile --set --nhc-conf --dry-run --root --nvml --state' ;;
    drain) options='--reason --dry-run --root --state' ;;
    resume) options='--dry-run --root --state' ;;
    history) options='--since --format --state' ;;
    events) options='--since --follow --format --state' ;;
    hostfile) options='--partition --slots --output --root' ;;
    sweep) options='--status --dry-run --format --root --state' ;;
    *) return ;;
  esac
  [[ $command == profiles && $current != -* ]] && options='show export'
  if [[ $command == check && $current != -* ]]; then
    _muster_files "$current"
    return
  fi
  [[ $options == show* ]] || options+=' -h --help'
  _muster_words "$current" "$options"
}

complete -F _muster muster
