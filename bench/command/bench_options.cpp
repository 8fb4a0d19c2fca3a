// SPDX-License-Identifier: Apache-2.0
// The options of `muster-bench`, and how their values are parsed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "bench/backends/nccl/requirements.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/command/shared_options.hpp"
#include "bench/launch/local.hpp"
#include "bench/model/cluster.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"

namespace muster::bench {
namespace {

// "128MiB" for "128M", as in nccl-tests and OSU.
std::string with_whole_unit(std::string_view value) {
  constexpr std::string_view kLetters = "KMGT";
  if (value.empty()) return "";
  const auto letter = static_cast<char>(std::toupper(static_cast<unsigned char>(value.back())));
  const auto number = value.substr(0, value.size() - 1);
  const bool whole = kLetters.find(letter) != std::string_view::npos && parse_number(trim(number));
  return whole ? fmt::format("{}{}iB", number, letter) : std::string(value);
}

using C = BenchCommand;
using Text = std::string_view;

constexpr Text kTypeChoices = "f32|f64|f16|bf16|f8e4m3|f8e5m2|i8|i32|i64|u8|u32|u64";
constexpr Text kReductionChoices = "sum|prod|min|max|avg";

// Also accepts the names of nccl-tests and torch.
Result<void> take_one_type(Type& target, Text value) {
  constexpr auto kNames = std::to_array<std::pair<Text, Text>>({
      {"f32", "float float32 fp32"},
      {"f64", "double float64"},
      {"f16", "half float16 fp16"},
      {"bf16", "bfloat16"},
      {"f8e4m3", "fp8_e4m3 float8_e4m3"},
      {"f8e5m2", "fp8_e5m2 float8_e5m2"},
      {"i32", "int32 int"},
      {"i8", "int8 char"},
      {"i64", "int64"},
      {"u8", "uint8"},
      {"u32", "uint32"},
      {"u64", "uint64"},
  });
  auto ours = value;
  std::vector<std::string> words;
  for (const auto word : split(kTypeChoices, '|')) words.emplace_back(word);
  for (const auto& [type, names] : kNames) {
    for (const auto name : split_words(names)) {
      words.emplace_back(name);
      if (name == value) ours = type;
    }
  }
  if (take_value(target, kTypeChoices, ours)) return {};
  return make_error(
      "expects {}, or nccl-tests' float, double, half, bfloat16, int8, int32, int64, uint8, uint32 "
      "or uint64, got \"{}\"{}",
      kTypeChoices, printable(value, 80), suggestion(value, words));
}

// Accepts one, several with commas, or all of them.
template <class Word, std::size_t Count, class TakeOne>
Result<void> take_several(std::vector<Word>& target, Text value, TakeOne take_one) {
  target.clear();
  if (value == "all") {
    target = all_of<Word, Count>();
    return {};
  }
  for (const auto part : split(value, ',')) {
    const auto word = trim(part);
    if (word == "all") return make_error("\"all\" excludes other words, got \"{}\"", value);
    Word taken;
    TRY(take_one(taken, word));
    if (std::ranges::count(target, taken) > 0) return make_error("{} is listed twice", word);
    target.push_back(taken);
  }
  return {};
}

Result<void> take_types(std::vector<Type>& target, Text value) {
  return take_several<Type, kTypes>(target, value, take_one_type);
}

Result<void> take_reductions(std::vector<Reduction>& target, Text value) {
  return take_several<Reduction, kReductions>(target, value, [](Reduction& one, Text word) {
    return take_value(one, kReductionChoices, word);
  });
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
  TRY_ASSIGN(target, parse_quantity<PercentKind>(value));
  if (target->value <= 0 || target->value > 50) {
    return make_error("expects a share above 0% and up to 50%, got \"{}\"", printable(value, 80));
  }
  return {};
}

Result<void> take_split(std::optional<Split>& target, Text value) {
  constexpr std::uint64_t kMax = 1U << 20U;
  const auto count = parse_unsigned(value);
  if (value == "node") {
    target = Split{.by = Split::By::node};
  } else if (value == "rail") {
    target = Split{.by = Split::By::rail};
  } else if (count && *count >= 2 && *count <= kMax) {
    target = Split{.by = Split::By::count, .count = static_cast<int>(*count)};
  } else {
    return make_error("expects node, rail or a number of ranks of at least 2, got \"{}\"",
                      printable(value, 80));
  }
  return {};
}

Result<void> take_launcher(LaunchFlags& target, Text value) {
  TRY_ASSIGN(target.launcher, parse_launcher(value));
  return {};
}

Result<void> take_rank(LaunchFlags& target, Text value) { return AtLeast<0>()(target.rank, value); }

Result<void> take_world(LaunchFlags& target, Text value) {
  return AtLeast<1>()(target.world, value);
}

Result<void> take_rendezvous(LaunchFlags& target, Text value) {
  TRY_ASSIGN(target.rendezvous, parse_endpoint(value));
  return {};
}

Result<void> take_setting(std::vector<std::string>& target, Text value) {
  return add_setting(target, value, " as bench.node_all_reduce.fail_below='220 GB/s'");
}

Result<void> take_transport(std::vector<std::string>& target, Text value) {
  TRY_ASSIGN(const auto requirements, parse_requirements(value));
  for (const auto requirement : requirements) target.emplace_back(to_string(requirement));
  return {};
}

constexpr std::array kOptions{
    option<&C::min, take_size>("--min", "SIZE", "smallest message (default 8 B)"),
    option<&C::max, take_size>("--max", "SIZE",
                               "largest message (default: the largest size of a limit, else 8 GiB "
                               "on GPUs and 64 MiB on host memory)"),
    option<&C::factor, AtLeast<2>{}>("--factor", "N", "each size is N times the last (default 2)"),
    option<&C::step, take_size>("--step", "SIZE",
                                "each size is this much larger than the last, instead of --factor"),
    option<&C::sizes, take_sizes>("--sizes", "SIZE,...", "these sizes, instead of the above"),
    option<&C::types, take_types>("--type", "TYPE,...",
                                  "element type, several, or all (default f32)", Arity::one),
    option<&C::reductions, take_reductions>("--op", "OP,...",
                                            "reduction, several, or all (default sum)", Arity::one),
    option<&C::root, AtLeast<0>{}>("--root", "RANK",
                                   "root of broadcast, reduce, gather, scatter (default 0)"),
    option<&C::placement>("--placement", "both|out|in",
                          "out of place, in place, or both (default both)"),
    option<&C::warm_up, AtLeast<0>{}>("--warm-up", "N",
                                      "untimed operations before those of each size (default 5)"),
    option<&C::iterations, AtLeast<1>{}>("--iterations", "N",
                                         "timed operations of each size (default 20)"),
    option<&C::precision, take_precision>(
        "--precision", "SHARE",
        "repeat until the 95% interval of the median is this narrow, such as 1%"),
    option<&C::pipelined>("--pipelined", "",
                          "start operations back to back, instead of waiting for each one"),
    option<&C::graph>("--graph", "", "run operations as a CUDA graph"),
    option<&C::diagnose>("--diagnose", "",
                         "let NCCL test each path between GPUs first (NCCL 2.31)"),
    option<&C::registered>("--registered", "",
                           "allocate buffers with NCCL, and register them (NCCL 2.19)"),
    option<&C::together, AtLeast<1>{}>(
        "--together", "N",
        "start N operations in one NCCL group; times are for one operation (default 1)"),
    option<&C::cpu_time>("--cpu-time", "",
                         "print the CPU time of a rank's thread per operation in the table, "
                         "instead of the time; on GPUs, the CPU time to start it"),
    option<&C::cycles, AtLeast<1>{}>("--cycles", "N", "run all sizes N times (default 1)"),
    option<&C::soak>("--soak", "TIME", "repeat all sizes for TIME"),
    option<&C::sim, take_sim>("--sim", "WORD=VALUE,...", kSimHelp, Arity::each),
    option<&C::split, take_split>("--split", "node|rail|N",
                                  "compare parts of the job, each with its own communicator: "
                                  "the ranks of each node, the "
                                  "same GPU of every node, or N consecutive ranks"),
    option<&C::split_order>("--split-order", "at_once|in_turn",
                            "run the parts at once, or one after the other (default at_once)"),

    // Shared by all commands with ranks.
    option<&C::backend>("--backend", "auto|nccl|mpi|tcp|sim",
                        "back end (default auto: nccl with GPUs, mpi under an MPI launcher, else "
                        "tcp)"),
    option<&C::local, AtLeast<1, kMaxLocalRanks>{}>(
        "--local", "N", "start N ranks on this node (default without a launcher: one per GPU)"),
    option<&C::bind>("--bind", "gpu|none",
                     "gpu: run each rank on the CPUs near its GPU unless its launcher bound it "
                     "(default gpu)"),
    option<&C::launch, take_launcher>("--launch",
                                      "torchrun|open_mpi|hydra|pmix|slurm|tf_config|alone",
                                      "use this launcher's variables"),
    option<&C::launch, take_rank>("--rank", "N", "rank of this process"),
    option<&C::launch, take_world>("--world", "N", "number of ranks"),
    option<&C::launch, take_rendezvous>("--rendezvous", "HOST:PORT",
                                        "address of rank 0, where all ranks meet"),
    option<&C::secret_file>("--secret-file", "FILE",
                            "shared secret of all ranks (default: the variable MUSTER_JOB_SECRET)"),
    option<&C::profile>("--profile", "NAME|FILE",
                        "judge by this profile, and use its settings (default: the site's "
                        "muster.yaml, or by hardware)"),
    option<&C::settings, take_setting>("--set", "KEY=VALUE",
                                       "override one value of the profile; may be repeated"),
    option<&C::environment>("--environment", "profile|job",
                            "profile: set the profile's variables of NCCL unless the job or "
                            "/etc/nccl.conf does; job: set none (default profile)"),
    option<&C::format>("--format", kFormats, "format of the report (default text)"),
    option<&C::output>(
        "--output", "FILE",
        "write the report to FILE, replacing it atomically; %h in its name stands for this host"),
    option<&C::join_deadline>("--join-deadline", "TIME",
                              "time for all ranks to meet (default 60 s)"),
    option<&C::operation_deadline>("--operation-deadline", "TIME",
                                   "time for one operation (default 60 s)"),
    option<&C::cuda>("--cuda", "FILE", "load this instead of the driver's libcuda.so.1"),
    option<&C::nccl>("--nccl", "FILE", "load this instead of libnccl.so.2"),
    option<&C::verbose>("-v,--verbose", "",
                        "print the recognised hardware and why, and passed checks"),
    option<&C::quiet>("-q,--quiet", "", "print no table, only what is wrong"),

    option<&C::min_busbw, take_rate>(
        "--min-busbw", "RATE",
        "fail below this bus bandwidth, such as '185 GB/s', instead of the profile's limits"),
    option<&C::at, take_size>("--at", "SIZE", "the size for --min-busbw (default the largest)"),
    option<&C::acceptance>("--acceptance", "",
                           "judge by the provider's promise: fail clearly below it, and warn if "
                           "it is too close to call"),
    option<&C::require_transport, take_transport>(
        "--require-transport", "WORD,...",
        "fail unless NCCL uses these: ib,gdr,p2p,nvlink,mnnvl,nvls,sharp", Arity::one),
    option<&C::each_iteration>("--each-iteration", "",
                               "include the time of each iteration in a JSON report"),
    option<&C::version>("--version", "", "print the version"),
};

}  // namespace

Result<void> refuse_any(std::initializer_list<Refusal> refusals) {
  for (const auto& [is_so, message] : refusals) {
    if (is_so) return make_error(std::string(message));
  }
  return {};
}

Result<void> add_setting(std::vector<std::string>& target, std::string_view value,
                         std::string_view example) {
  if (!well_formed_setting(value)) {
    return make_error("expects KEY=VALUE{}, got \"{}\"", example, printable(value, 80));
  }
  target.emplace_back(value);
  return {};
}

Result<void> take_rate(std::optional<BytesPerSecond>& target, std::string_view value) {
  const auto rate = parse_quantity<BytesPerSecondKind>(value);
  if (rate && rate->value <= 0) {
    return make_error("expects a rate above zero, got \"{}\"", printable(value, 80));
  }
  return put(target, rate);
}

Result<void> take_sim(std::string& target, std::string_view value) {
  std::string words;
  TRY(take_text(words, value));
  target.append(target.empty() ? "" : ",").append(words);
  return {};
}

Result<std::uint64_t> size_from(std::string_view given) {
  constexpr double kLargest = 1ULL << 50U;
  const auto value = with_whole_unit(given);
  const auto plain = parse_unsigned(value);
  const auto quantity =
      plain ? Result<Bytes>(Bytes{static_cast<double>(*plain)}) : parse_quantity<BytesKind>(value);
  if (!quantity) return tl::unexpected(quantity.error());
  if (quantity->value < 1 || quantity->value > kLargest) {
    return make_error("expects a size from 1 B to 1024 TiB, got \"{}\"", printable(value, 80));
  }
  return static_cast<std::uint64_t>(quantity->value);
}

Result<void> take_size(std::optional<std::uint64_t>& target, std::string_view value) {
  return put(target, size_from(value));
}

std::span<const Option<BenchCommand>> options() { return kOptions; }

std::span<const Option<BenchCommand>> job_options() {
  const auto at = [](Text name) {
    return std::ranges::find(kOptions, name, &Option<BenchCommand>::name);
  };
  return {at("--backend"), at("-q,--quiet") + 1};
}

}  // namespace muster::bench
