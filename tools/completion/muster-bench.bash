# SPDX-License-Identifier: Apache-2.0
# Completion of muster-bench's command line for bash. The tests hold it to the program's own options.

_muster_bench_files() {
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
  compopt -o filenames 2>/dev/null
}

_muster_bench_words() {
  mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# The same behind the last comma of a list.
_muster_bench_list() {
  local begun=''
  [[ $1 == *,* ]] && begun=${1%,*},
  mapfile -t COMPREPLY < <(compgen -P "$begun" -W "$2" -- "${1##*,}")
}

# Profiles are muster's, installed beside muster-bench; nothing where it cannot run.
_muster_bench_profiles() {
  local muster=${COMP_WORDS[0]%muster-bench}muster
  "$muster" profiles 2>/dev/null | cut -d ' ' -f 1
}

_muster_bench_values() {
  local current=$2
  case $1 in
    --type) _muster_bench_words "$current" 'f32 f64 f16 bf16 i32 u8' ;;
    --op) _muster_bench_words "$current" 'sum min max avg' ;;
    --placement) _muster_bench_words "$current" 'both out in' ;;
    --backend) _muster_bench_words "$current" 'auto nccl mpi tcp sim' ;;
    --bind) _muster_bench_words "$current" 'gpu none' ;;
    --launch) _muster_bench_words "$current" 'torchrun open_mpi hydra pmix slurm tf_config alone' ;;
    --format) _muster_bench_words "$current" 'text json prometheus junit npd nhc' ;;
    --require-transport) _muster_bench_list "$current" 'ib gdr p2p nvlink mnnvl nvls sharp' ;;
    --profile) _muster_bench_words "$current" "$(_muster_bench_profiles)" ;;
    --output | --secret-file | --cuda | --nccl) _muster_bench_files "$current" ;;
    --min | --max | --factor | --sizes | --root | --warm-up | --iterations | --precision) ;;
    --sim | --local | --rank | --world | --rendezvous | --set | --min-busbw | --at) ;;
    --join-deadline | --operation-deadline) ;;
    *) return 1 ;;
  esac
}

# Readline takes '=' for a word of its own: --format=json is three.
_muster_bench() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()

  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ ${COMP_WORDS[COMP_CWORD]} == '=' || ${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
    [[ $previous == -* ]] || return # the value within --set KEY=VALUE
  elif [[ $current == -* ]]; then
    _muster_bench_words "$current" '--min --max --factor --sizes --type --op --root --placement
      --warm-up --iterations --precision --pipelined --graph --backend --sim --local --bind --launch --rank
      --world --rendezvous --secret-file --profile --set --min-busbw --at --require-transport --format
      --output --each-iteration --join-deadline --operation-deadline --cuda --nccl
      -v --verbose -q --quiet --version -h --help'
    return
  fi
  _muster_bench_values "$previous" "$current" && return
  _muster_bench_words "$current" 'all_reduce all_gather reduce_scatter broadcast reduce alltoall
    sendrecv gather scatter'
}

complete -F _muster_bench muster-bench
