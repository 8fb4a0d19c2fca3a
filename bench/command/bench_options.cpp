// SPDX-License-Identifier: Apache-2.0
// The options of `muster-bench` and what their values mean.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/backends/nccl/requirements.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/command/shared_options.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

using C = BenchCommand;
using Text = std::string_view;

constexpr Text kTypeWords = "f32|f64|f16|bf16|f8e4m3|f8e5m2|i8|i32|i64|u8|u32|u64";
constexpr Text kReductionWords = "sum|prod|min|max|avg";

// The types as nccl-tests and torch call them.
Result<void> take_one_type(Type& target, Text value) {
  constexpr std::array<std::pair<Text, Text>, 21> kNames{{{"float", "f32"},
                                                          {"float32", "f32"},
                                                          {"fp32", "f32"},
                                                          {"double", "f64"},
                                                          {"float64", "f64"},
                                                          {"half", "f16"},
                                                          {"float16", "f16"},
                                                          {"fp16", "f16"},
                                                          {"bfloat16", "bf16"},
                                                          {"int32", "i32"},
                                                          {"int", "i32"},
                                                          {"uint8", "u8"},
                                                          {"int8", "i8"},
                                                          {"char", "i8"},
                                                          {"uint32", "u32"},
                                                          {"int64", "i64"},
                                                          {"uint64", "u64"},
                                                          {"fp8_e4m3", "f8e4m3"},
                                                          {"float8_e4m3", "f8e4m3"},
                                                          {"fp8_e5m2", "f8e5m2"},
                                                          {"float8_e5m2", "f8e5m2"}}};
  const auto* const known = std::ranges::find(kNames, value, &std::pair<Text, Text>::first);
  return take(target, kTypeWords, known == kNames.end() ? value : known->second);
}

// One, several, or all of them.
template <class Word, std::size_t Count, class TakeOne>
Result<void> take_several(std::vector<Word>& target, Text value, TakeOne take_one) {
  target.clear();
  if (value == "all") {
    target = all_of<Word, Count>();
    return {};
  }
  for (const auto part : split(value, ',')) {
    if (auto taken = take_one(target.emplace_back(), trim(part)); !taken) return taken;
  }
  return {};
}

Result<void> take_types(std::vector<Type>& target, Text value) {
  return take_several<Type, kTypes>(target, value, take_one_type);
}

Result<void> take_reductions(std::vector<Reduction>& target, Text value) {
  return take_several<Reduction, kReductions>(
      target, value, [](Reduction& one, Text word) { return take(one, kReductionWords, word); });
}

Result<void> take_sizes(std::vector<std::uint64_t>& target, Text value) {
  target.clear();
  for (const auto word : split(value, ',')) {
    TRY_ASSIGN(const auto size, size_from(trim(word)));
    target.push_back(size);
  }
  return {};
}

Result<void> take_precision(std::optional<Percent>& target, Text value) {
  const auto share = parse_quantity<PercentKind>(value);
  const bool fits = !share || (share->value > 0 && share->value <= 50);
  if (!fits) return make_error("expects a share up to 50%");
  return put(target, share);
}

Result<void> take_split(std::optional<Split>& target, Text value) {
  constexpr std::uint64_t kMost = 1U << 20U;
  const auto count = parse_unsigned(value);
  if (value == "node") {
    target = Split{.by = Split::By::node};
  } else if (value == "rail") {
    target = Split{.by = Split::By::rail};
  } else if (count && *count >= 2 && *count <= kMost) {
    target = Split{.by = Split::By::count, .count = static_cast<int>(*count)};
  } else {
    return make_error(fmt::format("expects node, rail or a number of ranks from 2 on, got \"{}\"",
                                  printable(value, 80)));
  }
  return {};
}

Result<void> take_launcher(LaunchFlags& target, Text value) {
  return put(target.launcher, parse_launcher(value));
}

Result<void> take_rank(LaunchFlags& target, Text value) { return AtLeast<0>()(target.rank, value); }

Result<void> take_world(LaunchFlags& target, Text value) {
  return AtLeast<0>()(target.world, value);
}

Result<void> take_rendezvous(LaunchFlags& target, Text value) {
  return put(target.rendezvous, parse_rendezvous(value));
}

Result<void> take_setting(std::vector<std::string>& target, Text value) {
  return add_setting(target, value, " as bench.node_all_reduce.fail_below='220 GB/s'");
}

Result<void> take_transport(std::vector<std::string>& target, Text value) {
  TRY_ASSIGN(const auto ways, parse_ways(value));
  for (const auto way : ways) target.emplace_back(to_string(way));
  return {};
}

constexpr std::array kOptions{
    option<&C::min, take_size>("--min", "SIZE", "smallest message (default 8 B)"),
    option<&C::max, take_size>("--max", "SIZE",
                               "largest message (default: the largest size that a limit names; "
                               "without one 8 GiB on GPUs and 64 MiB on host memory)"),
    option<&C::factor, AtLeast<2>{}>("--factor", "N", "each size is N times the last (default 2)"),
    option<&C::step, take_size>("--step", "SIZE",
                                "each size is so much larger than the last, in place of --factor"),
    option<&C::sizes, take_sizes>("--sizes", "SIZE,...", "these sizes, in place of the above"),
    option<&C::types, take_types>("--type", "TYPE,...",
                                  "of an element, several, or all (default f32)", Arity::one),
    option<&C::reductions, take_reductions>(
        "--op", "OP,...", "how elements are reduced, several, or all (default sum)", Arity::one),
    option<&C::root, AtLeast<0>{}>("--root", "RANK",
                                   "of broadcast, reduce, gather, scatter (default 0)"),
    option<&C::placement>("--placement", "both|out|in",
                          "out of place, in place, or both (default both)"),
    option<&C::warm_up, AtLeast<0>{}>("--warm-up", "N",
                                      "operations before the timed ones of each size (default 5)"),
    option<&C::iterations, AtLeast<1>{}>("--iterations", "N",
                                         "timed operations of each size (default 20)"),
    option<&C::precision, take_precision>(
        "--precision", "SHARE", "go on until the 95% interval of the median is this narrow, as 1%"),
    option<&C::pipelined>("--pipelined", "",
                          "start operations back to back; without it each one is waited for"),
    option<&C::graph>("--graph", "", "run them as a CUDA graph"),
    option<&C::diagnose>("--diagnose", "", "let NCCL try each path between GPUs first (NCCL 2.31)"),
    option<&C::registered>("--registered", "",
                           "take NCCL's memory for buffers, and register it (NCCL 2.19)"),
    option<&C::together, AtLeast<1>{}>(
        "--together", "N",
        "start N operations at a time, in one group of NCCL; times are of one (default 1)"),
    option<&C::cpu_time>("--cpu-time", "",
                         "in the table, and beside times in a JSON report: the CPU time of a "
                         "rank's thread in each operation; on GPUs what starting it takes"),
    option<&C::cycles, AtLeast<1>{}>("--cycles", "N", "run all sizes N times (default 1)"),
    option<&C::soak>("--soak", "TIME", "run all sizes again until so much time is over"),
    option<&C::sim>("--sim", "WORD=VALUE,...", "the cluster that --backend sim is a model of"),
    option<&C::split, take_split>(
        "--split", "node|rail|N",
        "run it in communicators of their own: of the ranks of each "
        "node, of those with the same GPU of each node, or of N in a row; "
        "they are compared"),
    option<&C::split_order>("--split-order", "at_once|in_turn",
                            "all of them at once, or one after the other (at_once)"),

    // What every run of a job has.
    option<&C::backend>("--backend", "auto|nccl|mpi|tcp|sim",
                        "what runs them (default auto: nccl where there are GPUs, mpi under an MPI "
                        "launcher, else tcp)"),
    option<&C::local, AtLeast<1>{}>(
        "--local", "N", "start N ranks on this node (default: one per GPU where no launcher says)"),
    option<&C::bind>("--bind", "gpu|none",
                     "on GPUs, run each rank on the CPUs local to its own unless its launcher "
                     "bound it (default gpu)"),
    option<&C::launch, take_launcher>("--launch",
                                      "torchrun|open_mpi|hydra|pmix|slurm|tf_config|alone",
                                      "trust this launcher's variables"),
    option<&C::launch, take_rank>("--rank", "N", "who this process is"),
    option<&C::launch, take_world>("--world", "N", "among how many"),
    option<&C::launch, take_rendezvous>("--rendezvous", "HOST:PORT",
                                        "where rank 0 listens and all meet"),
    option<&C::secret_file>(
        "--secret-file", "FILE",
        "what all ranks must know to meet (default: the variable MUSTER_JOB_SECRET)"),
    option<&C::profile>("--profile", "NAME|FILE",
                        "judge by this profile, and use its settings; without it the site's "
                        "muster.yaml or the hardware tells"),
    option<&C::settings, take_setting>("--set", "KEY=VALUE",
                                       "override one value of the profile; may be repeated"),
    option<&C::environment>("--environment", "profile|job",
                            "profile: set the profile's variables of NCCL where neither the job "
                            "nor /etc/nccl.conf does; job: set none (default profile)"),
    option<&C::format>("--format", kFormats, "form of the report (default text)"),
    option<&C::output>("--output", "FILE", "write it to FILE, replacing it at once"),
    option<&C::join_deadline>("--join-deadline", "TIME",
                              "how long ranks wait for each other at the start (default 60 s)"),
    option<&C::operation_deadline>("--operation-deadline", "TIME",
                                   "how long one operation may take (default 60 s)"),
    option<&C::cuda>("--cuda", "FILE", "in place of the driver's libcuda.so.1"),
    option<&C::nccl>("--nccl", "FILE", "in place of libnccl.so.2"),
    option<&C::verbose>("-v,--verbose", "", "say what was recognised and why, and what passed"),
    option<&C::quiet>("-q,--quiet", "", "no table, only what is wrong"),

    option<&C::min_busbw, take_rate>(
        "--min-busbw", "RATE",
        "fail below this bus bandwidth, as '185 GB/s', in place of the profile's limits"),
    option<&C::at, take_size>("--at", "SIZE",
                              "the size that --min-busbw holds for (default the largest)"),
    option<&C::acceptance>("--acceptance", "",
                           "judge by what the provider promises of such nodes: what is clearly "
                           "below fails, what cannot be told from it warns"),
    option<&C::require_transport, take_transport>(
        "--require-transport", "WORD,...",
        "fail where NCCL does not use these: ib,gdr,p2p,nvlink,mnnvl,nvls,sharp", Arity::one),
    option<&C::each_iteration>("--each-iteration", "",
                               "the time of each iteration, too, in a JSON report"),
    option<&C::version>("--version", "", "print the version"),
};

}  // namespace

std::span<const Option<BenchCommand>> options() { return kOptions; }

std::span<const Option<BenchCommand>> job_options() {
  const auto at = [](Text name) {
    return std::ranges::find(kOptions, name, &Option<BenchCommand>::name);
  };
  return {at("--backend"), at("-q,--quiet") + 1};
}

}  // namespace muster::bench
