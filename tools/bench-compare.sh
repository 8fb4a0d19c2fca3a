#!/usr/bin/env bash
# Compares muster-bench's all-reduce times with those of programs that you have: runs them in turns and
# prints for each size the median over the rounds and its ratio to theirs.
#
#   tools/bench-compare.sh [--osu PATH] [--imb PATH] [--nccl-tests PATH] [--rounds N] [--ranks N] [--max BYTES]
#                          [--pages large|own]
#
#   --osu         osu_allreduce; --imb IMB-MPI1; --nccl-tests all_reduce_perf, built with MPI
#   --rounds      how often each program runs (default and minimum 5); each run prints a line
#   --pages       large: all programs and their MPI library get huge pages from glibc (default);
#                 own: each uses its own, which for muster-bench are huge pages from 64 KiB on
#   MUSTER_BENCH  the program (default build/release/bin/muster-bench)
#   MPIRUN        the launcher (default mpirun); `-n RANKS` is added
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

osu='' imb='' nccl_tests='' rounds=5 ranks=2 max=$((64 << 20)) pages=large
while (($#)); do
  case $1 in
    --osu) osu=${2:?} ;;
    --imb) imb=${2:?} ;;
    --nccl-tests) nccl_tests=${2:?} ;;
    --rounds) rounds=${2:?} ;;
    --ranks) ranks=${2:?} ;;
    --max) max=${2:?} ;;
    --pages) pages=${2:?} ;;
    *)
      sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
      exit 64
      ;;
  esac
  shift 2
done
if [[ -z $osu$imb$nccl_tests ]]; then
  echo "bench-compare.sh: give --osu, --imb or --nccl-tests: the path of a program to compare with" >&2
  exit 64
fi
if ((rounds < 5)); then
  echo "bench-compare.sh: fewer than 5 rounds prove nothing" >&2
  exit 64
fi

if [[ ! $pages =~ ^(large|own)$ ]]; then
  echo "bench-compare.sh: --pages is large or own" >&2
  exit 64
fi

bench=${MUSTER_BENCH:-build/release/bin/muster-bench}
read -r -a mpirun <<<"${MPIRUN:-mpirun}"
mpirun+=(-n "$ranks")
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT

# Small messages run more often, with osu_allreduce's default counts.
small_max=$((max < 8192 ? max : 8192))
small=(8 "$small_max" 200 1000) large=(16384 "$max" 10 100)

# The MPI library's own buffers matter as much as the program's.
if [[ $pages == large ]]; then export GLIBC_TUNABLES=glibc.malloc.hugetlb=1; fi

# Since version 7.3 OSU adds bytes by default; make it add floats like the others.
osu_type=()
if [[ -n $osu ]] && "$osu" --help 2>&1 | grep -q mpi_float; then osu_type=(-T mpi_float); fi

# Each prints lines with a size in bytes and a time in microseconds, the mean over ranks.
run_muster() { # MIN MAX WARM_UP ITERATIONS OPTION...
  # Any bandwidth will do, because limits do not matter here.
  "${mpirun[@]}" "$bench" all_reduce --min "$1" --max "$2" --warm-up "$3" --iterations "$4" \
    --placement out --min-busbw 1B/s "${@:5}" | awk '$1 ~ /^[0-9]+$/ { print $1, $6 }'
}
run_osu() {
  "${mpirun[@]}" "$osu" "${osu_type[@]}" -m "$1:$2" -x "$3" -i "$4" | awk '$1 ~ /^[0-9]+$/ { print $1, $2 }'
}
log2() {
  local power=0
  while ((1 << (power + 1) <= $1)); do power=$((power + 1)); done
  echo "$power"
}
run_imb() { # it also runs 0 bytes
  "${mpirun[@]}" "$imb" Allreduce -npmin "$ranks" -msglog "$(log2 "$1"):$(log2 "$2")" \
    -iter "$4" -iter_policy off | awk '$1 ~ /^[0-9]+$/ && $1 > 0 && NF >= 5 { print $1, $5 }'
}
run_nccl_tests() {
  "${mpirun[@]}" "$nccl_tests" -b "$1" -e "$2" -f 2 -g 1 -w "$3" -n "$4" |
    awk '$1 ~ /^[0-9]+$/ { print $1, $6 }'
}

# run NAME FUNCTION OPTION...: runs all sizes and appends the times of NAME.
run() {
  "$2" "${small[@]}" "${@:3}" >>"$work/$1"
  if ((max > 8192)); then "$2" "${large[@]}" "${@:3}" >>"$work/$1"; fi
  [[ -s $work/$1 ]] && return
  echo "bench-compare.sh: no times of $1: run it by hand to see why" >&2
  exit 2
}

seconds() {
  local start=${EPOCHREALTIME/./}
  "${mpirun[@]}" "$@" >/dev/null
  echo $((${EPOCHREALTIME/./} - start))
}

# Prints the ratios of the latest round at every fourth size.
print_round() { # NAME
  join <(tail -n "$sizes" "$work/$1_muster" | sort -k1,1) <(tail -n "$sizes" "$work/$1" | sort -k1,1) |
    sort -n | awk -v round="$((round + 1)) of $rounds, $1:" \
    'BEGIN { printf "round %s", round } NR % 4 == 1 { printf "  %d B %.2f", $1, $2 / $3 } END { print "" }'
}
sizes=$(($(log2 "$max") - 2))

for ((round = 0; round < rounds; ++round)); do
  # osu_allreduce waits for each operation; the others start them back to back.
  if [[ -n $osu ]]; then
    run osu_muster run_muster --backend mpi
    run osu run_osu
    print_round osu
  fi
  if [[ -n $imb ]]; then
    run imb_muster run_muster --backend mpi --pipelined
    run imb run_imb
    print_round imb
  fi
  if [[ -n $nccl_tests ]]; then
    run nccl_tests_muster run_muster --backend nccl --pipelined
    run nccl_tests run_nccl_tests
    print_round nccl_tests
  fi
  seconds true >>"$work/start_true"
  seconds "$bench" all_reduce --sizes 8 --warm-up 0 --iterations 1 --min-busbw 1B/s >>"$work/start_muster"
done

# "SIZE MEDIAN" for each size of a file.
medians() {
  sort -k1,1n -k2,2g "$1" | awk '
    function out() { if (n) print size, (n % 2 ? t[(n + 1) / 2] : (t[n / 2] + t[n / 2 + 1]) / 2) }
    $1 != size { out(); n = 0; size = $1 }
    { t[++n] = $2 }
    END { out() }'
}

# "SIZE LOW HIGH": the range of the rounds' ratios without the outermost sixth at each end, which for 11
# rounds contains the median with 99% confidence.
intervals() { # NAME
  paste <(sort -s -k1,1n "$work/$1_muster") <(sort -s -k1,1n "$work/$1") |
    awk '{ print $1, $2 / $4 }' | sort -k1,1n -k2,2g | awk '
    function out() { if (n) { k = int(n / 6); print size, t[k + 1], t[n - k] } }
    $1 != size { out(); n = 0; size = $1 }
    { t[++n] = $2 }
    END { out() }'
}

compare() { # NAME WORDS
  [[ -s $work/$1 ]] || return 0
  printf '\n%s\n%12s  %14s  %14s  %6s  %s\n' "$2" bytes muster-bench peer ratio "of rounds"
  join <(medians "$work/$1_muster" | sort -k1,1) <(medians "$work/$1" | sort -k1,1) |
    join - <(intervals "$1" | sort -k1,1) | sort -n |
    awk '{ printf "%12d  %14.2f  %14.2f  %6.3f  %.2f to %.2f\n", $1, $2, $3, $2 / $3, $4, $5 }'
}

echo "medians of $rounds rounds in turns, $ranks ranks on $(nproc) cores, $(uname --machine), pages: $pages; microseconds"
compare osu "osu_allreduce, one operation at a time"
compare imb "IMB-MPI1 Allreduce, back to back"
compare nccl_tests "all_reduce_perf, back to back"

middle() { sort --numeric-sort "$1" | sed -n "$(((rounds + 1) / 2))p"; }
printf '\nfrom start to end: muster-bench of 8 bytes %d ms, true %d ms\n' \
  $(($(middle "$work/start_muster") / 1000)) $(($(middle "$work/start_true") / 1000))
