// SPDX-License-Identifier: Apache-2.0
// The options of `muster-bench` and what their values mean.
#include "bench/command/bench_options.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "bench/backends/nccl/requirements.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"

namespace muster::bench {
namespace {

using C = BenchCommand;
using Text = std::string_view;

constexpr Text kBackends = "auto|nccl|mpi|tcp|sim";
constexpr Text kBinds = "gpu|none";
constexpr Text kPlacements = "both|out|in";
constexpr Text kTypes = "f32|f64|f16|bf16|i32|u8";
constexpr Text kReductions = "sum|min|max|avg";
constexpr Text kLaunchers = "torchrun|open_mpi|hydra|pmix|slurm|tf_config|alone";

template <class Number>
Result<Number> whole_number(Text value, Number least) {
  const auto number = parse_unsigned(value);
  if (number && *number >= static_cast<std::uint64_t>(least) &&
      *number <= static_cast<std::uint64_t>(std::numeric_limits<Number>::max())) {
    return static_cast<Number>(*number);
  }
  return make_error(
      fmt::format("expects a whole number from {} on, got \"{}\"", least, printable(value, 80)));
}

// A member that is a whole number, or may be one.
template <auto kMember, int kLeast>
Result<void> set_number(C& command, Text value) {
  const auto number = whole_number<int>(value, kLeast);
  if (!number) return tl::unexpected(number.error());
  command.*kMember = *number;
  return {};
}

template <auto kMember>
Result<void> set_launch_number(C& command, Text value) {
  const auto number = whole_number<int>(value, 0);
  if (!number) return tl::unexpected(number.error());
  command.launch.*kMember = *number;
  return {};
}

template <auto kMember>
Result<void> set_words(C& command, Text value) {
  return take_text(command.*kMember, value);
}

template <auto kMember>
Result<void> set_flag(C& command, Text /*value*/) {
  command.*kMember = true;
  return {};
}

// A choice whose words stand in the order of the enumeration.
template <auto kMember, const Text& kChoices>
Result<void> set_choice(C& command, Text value) {
  const auto choice = take_choice(kChoices, value);
  if (!choice) return tl::unexpected(choice.error());
  using Kind = std::remove_reference_t<decltype(command.*kMember)>;
  command.*kMember = static_cast<Kind>(*choice);
  return {};
}

// "8", "64KiB", "8 GiB": bytes, with binary units or none, as every tool of this kind takes them.
Result<std::uint64_t> size_from(Text value) {
  constexpr double kLargest = 1ULL << 50U;
  const auto plain = parse_unsigned(value);
  const auto quantity =
      plain ? Result<Bytes>(Bytes{static_cast<double>(*plain)}) : parse_quantity<BytesKind>(value);
  if (!quantity) return tl::unexpected(quantity.error());
  if (quantity->value < 1 || quantity->value > kLargest) {
    return make_error(
        fmt::format("expects a size from 1 B to 1024 TiB, got \"{}\"", printable(value, 80)));
  }
  return static_cast<std::uint64_t>(quantity->value);
}

template <auto kMember>
Result<void> set_size(C& command, Text value) {
  const auto size = size_from(value);
  if (!size) return tl::unexpected(size.error());
  command.*kMember = *size;
  return {};
}

Result<void> set_sizes(C& command, Text value) {
  command.sizes.clear();
  for (const auto word : split(value, ',')) {
    const auto size = size_from(trim(word));
    if (!size) return tl::unexpected(size.error());
    command.sizes.push_back(*size);
  }
  return {};
}

Result<void> set_factor(C& command, Text value) {
  const auto number = whole_number<int>(value, 2);
  if (!number) return tl::unexpected(number.error());
  command.factor = static_cast<std::uint64_t>(*number);
  return {};
}

Result<void> set_precision(C& command, Text value) {
  const auto share = parse_quantity<PercentKind>(value);
  if (!share) return tl::unexpected(share.error());
  if (share->value <= 0 || share->value > 50) return make_error("expects a share up to 50%");
  command.precision = *share;
  return {};
}

Result<void> set_launcher(C& command, Text value) {
  const auto launcher = parse_launcher(value);
  if (!launcher) return tl::unexpected(launcher.error());
  command.launch.launcher = *launcher;
  return {};
}

Result<void> set_rendezvous(C& command, Text value) {
  const auto rendezvous = parse_rendezvous(value);
  if (!rendezvous) return tl::unexpected(rendezvous.error());
  command.launch.rendezvous = *rendezvous;
  return {};
}

Result<void> add_setting(C& command, Text value) {
  if (!well_formed_setting(value)) {
    return make_error(
        fmt::format("expects KEY=VALUE as bench.node_all_reduce.fail_below='220 "
                    "GB/s', got \"{}\"",
                    printable(value, 80)));
  }
  command.settings.emplace_back(value);
  return {};
}

Result<void> set_min_busbw(C& command, Text value) {
  const auto rate = parse_quantity<BytesPerSecondKind>(value);
  if (!rate) return tl::unexpected(rate.error());
  if (rate->value <= 0) return make_error("expects a rate above zero");
  command.min_busbw = *rate;
  return {};
}

Result<void> set_transport(C& command, Text value) {
  const auto ways = parse_ways(value);
  if (!ways) return tl::unexpected(ways.error());
  for (const auto way : *ways) command.require_transport.emplace_back(to_string(way));
  return {};
}

template <auto kMember>
Result<void> set_duration(C& command, Text value) {
  std::optional<Seconds> duration;
  if (auto taken = take_duration(duration, value); !taken) return taken;
  command.*kMember = *duration;
  return {};
}

using enum Arity;

constexpr std::array kOptions{
    Option<C>{"--min", "SIZE", one, "smallest message (default 8 B)", set_size<&C::min>},
    Option<C>{"--max",
              "SIZE",
              one,
              "largest message (default: the largest size that a limit names; without one 8 GiB "
              "on GPUs and 64 MiB on host memory)",
              set_size<&C::max>},
    Option<C>{"--factor", "N", one, "each size is N times the last (default 2)", set_factor},
    Option<C>{"--sizes", "SIZE,...", one, "these sizes, in place of the above", set_sizes},
    Option<C>{"--type", kTypes, one, "of an element (default f32)", set_choice<&C::type, kTypes>},
    Option<C>{"--op",
              kReductions,
              one,
              "how elements are reduced (default sum)",
              set_choice<&C::reduction, kReductions>},
    Option<C>{"--root",
              "RANK",
              one,
              "of broadcast, reduce, gather, scatter (default 0)",
              set_number<&C::root, 0>},
    Option<C>{"--placement",
              kPlacements,
              one,
              "out of place, in place, or both (default both)",
              set_choice<&C::placement, kPlacements>},
    Option<C>{"--warm-up",
              "N",
              one,
              "operations before the timed ones of each size (default 5)",
              set_number<&C::warm_up, 0>},
    Option<C>{"--iterations",
              "N",
              one,
              "timed operations of each size (default 20)",
              set_number<&C::iterations, 1>},
    Option<C>{"--precision",
              "SHARE",
              one,
              "go on until the 95% interval of the median is this narrow, as 1%",
              set_precision},
    Option<C>{"--pipelined",
              "",
              flag,
              "start operations back to back; without it each one is waited for",
              set_flag<&C::pipelined>},
    Option<C>{"--graph", "", flag, "run them as a CUDA graph", set_flag<&C::graph>},
    Option<C>{"--backend",
              kBackends,
              one,
              "what runs them (default auto: nccl where there are GPUs, mpi under an MPI launcher, "
              "else tcp)",
              set_choice<&C::backend, kBackends>},
    Option<C>{"--sim",
              "WORD=VALUE,...",
              one,
              "the cluster that --backend sim is a model of",
              set_words<&C::sim>},
    Option<C>{"--local",
              "N",
              one,
              "start N ranks on this node (default: one per GPU where no launcher says)",
              set_number<&C::local, 1>},
    Option<C>{"--bind",
              kBinds,
              one,
              "on GPUs, run each rank on the CPUs local to its own unless its launcher bound it "
              "(default gpu)",
              set_choice<&C::bind, kBinds>},
    Option<C>{"--launch", kLaunchers, one, "trust this launcher's variables", set_launcher},
    Option<C>{"--rank", "N", one, "who this process is", set_launch_number<&LaunchFlags::rank>},
    Option<C>{"--world", "N", one, "among how many", set_launch_number<&LaunchFlags::world>},
    Option<C>{
        "--rendezvous", "HOST:PORT", one, "where rank 0 listens and all meet", set_rendezvous},
    Option<C>{"--secret-file",
              "FILE",
              one,
              "what all ranks must know to meet (default: the variable MUSTER_JOB_SECRET)",
              set_words<&C::secret_file>},
    Option<C>{"--profile",
              "NAME|FILE",
              one,
              "judge by this profile, and use its settings; without it the site's muster.yaml or "
              "the hardware tells",
              set_words<&C::profile>},
    Option<C>{"--set",
              "KEY=VALUE",
              each,
              "override one value of the profile; may be repeated",
              add_setting},
    Option<C>{"--min-busbw",
              "RATE",
              one,
              "fail below this bus bandwidth, as '185 GB/s', in place of the profile's limits",
              set_min_busbw},
    Option<C>{"--at",
              "SIZE",
              one,
              "the size that --min-busbw holds for (default the largest)",
              set_size<&C::at>},
    Option<C>{"--require-transport",
              "WORD,...",
              one,
              "fail where NCCL does not use these: ib,gdr,p2p,nvlink,mnnvl,nvls,sharp",
              set_transport},
    Option<C>{"--format",
              kFormats,
              one,
              "form of the report (default text)",
              set_choice<&C::format, kFormats>},
    Option<C>{
        "--output", "FILE", one, "write it to FILE, replacing it at once", set_words<&C::output>},
    Option<C>{"--each-iteration",
              "",
              flag,
              "the time of each iteration, too, in a JSON report",
              set_flag<&C::each_iteration>},
    Option<C>{"--join-deadline",
              "TIME",
              one,
              "how long ranks wait for each other at the start (default 60 s)",
              set_duration<&C::join_deadline>},
    Option<C>{"--operation-deadline",
              "TIME",
              one,
              "how long one operation may take (default 60 s)",
              set_duration<&C::operation_deadline>},
    Option<C>{"--cuda", "FILE", one, "in place of the driver's libcuda.so.1", set_words<&C::cuda>},
    Option<C>{"--nccl", "FILE", one, "in place of libnccl.so.2", set_words<&C::nccl>},
    Option<C>{"-v,--verbose",
              "",
              flag,
              "say what was recognised and why, and what passed",
              set_flag<&C::verbose>},
    Option<C>{"-q,--quiet", "", flag, "no table, only what is wrong", set_flag<&C::quiet>},
    Option<C>{"--version", "", flag, "print the version", set_flag<&C::version>},
};

}  // namespace

std::span<const Option<BenchCommand>> options() { return kOptions; }

}  // namespace muster::bench
