// SPDX-License-Identifier: Apache-2.0
// Parses and checks the command line.
#include "bench/command/bench_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "bench/command/shared_options.hpp"
#include "bench/model/cluster.hpp"
#include "lib/base/text.hpp"
#include "lib/command/options.hpp"
#include "lib/command/version.hpp"

namespace muster::bench {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kMaxSteps = 10'000;

Words collective_names() { return {kCollectiveWords.begin(), kCollectiveWords.end()}; }

// Accepts the names of nccl-tests, MPI and torch: all_reduce_perf, allreduce, MPI_Alltoall, bcast.
std::string plain_name(std::string_view word) {
  const auto letters = [](std::string_view text) {
    std::string kept;
    for (const char c : text) {
      if (c != '_' && c != '-')
        kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return kept;
  };
  auto name = letters(word);
  if (name.starts_with("mpi")) name.erase(0, 3);
  if (name.ends_with("perf")) name.erase(name.size() - 4);
  if (name == "bcast") return "broadcast";
  for (const auto& known : collective_names()) {
    if (letters(known) == name) return known;
  }
  return std::string(word);
}

Result<Collective> collective_called(std::string_view word) {
  const auto found = parse_word<Collective>(plain_name(word));
  if (found) return *found;
  auto names = collective_names();
  names.insert(names.end(), kSubcommands.begin(), kSubcommands.end());
  const auto near = suggestion(word, names);
  return make_error(
      "unknown collective \"{}\"{}", printable(word, 80),
      near.empty() ? fmt::format("; there are {}, and the commands {}",
                                 fmt::join(collective_names(), ", "), fmt::join(kSubcommands, ", "))
                   : near);
}

// Accepts one, several with commas, or all of them.
Result<void> take_collective(BenchCommand& command, const Words& words) {
  if (words.size() != 1) {
    return make_error("expects one collective of {}, as muster-bench all_reduce",
                      fmt::join(collective_names(), ", "));
  }
  auto& all = command.collectives;
  if (words.front() == "all") {
    command.whichever = true;
    all = all_of<Collective, kCollectives>();
  } else {
    for (const auto word : split(words.front(), ',')) {
      TRY_ASSIGN(const auto found, collective_called(trim(word)));
      if (std::ranges::find(all, found) != all.end()) {
        return make_error("{} is listed twice", to_string(found));
      }
      all.push_back(found);
    }
  }
  command.collective = all.front();
  if (all.size() == 1) all.clear();
  return {};
}

Result<void> check_sizes(const BenchCommand& command) {
  const bool range = command.min || command.max;
  const bool listed = !command.sizes.empty();
  const bool sized = range || listed || command.step;
  if (!moves_data(command.collective) && (sized || command.min_busbw || command.acceptance)) {
    return make_error("{} moves no data: it has no sizes and no bandwidth",
                      to_string(command.collective));
  }
  TRY(refuse_any({{listed && range, "--sizes and --min or --max exclude each other"},
                  {listed && command.step, "--sizes and --step exclude each other"},
                  {listed && command.factor, "--sizes and --factor exclude each other"},
                  {command.step && command.factor, "--step and --factor exclude each other"}}));
  // Without --max, the largest size is known only when the ranks have met.
  if (command.max) TRY(check_steps(command, sizes_of(command, 1, 1)));
  // Two rows of one size would count as repeats.
  auto sizes = command.sizes;
  std::ranges::sort(sizes);
  if (const auto twice = std::ranges::adjacent_find(sizes); twice != sizes.end()) {
    return make_error("--sizes: {} is listed twice", size_text(*twice));
  }
  // The judged size must run.
  const auto at = command.at.value_or(0);
  const bool named = !listed || std::ranges::find(sizes, at) != sizes.end();
  const bool within = command.min.value_or(0) <= at && at <= command.max.value_or(at);
  if (command.min && command.max && *command.min > *command.max) {
    return make_error("--min of {} is larger than --max of {}", size_text(*command.min),
                      size_text(*command.max));
  }
  TRY(refuse_any({{command.at && !command.min_busbw, "--at requires --min-busbw"},
                  {command.acceptance && command.min_busbw,
                   "--acceptance uses the profile's limit; it excludes --min-busbw"}}));
  if (command.at && !(named && within)) {
    return make_error("--at: {} is not among the sizes that are run", size_text(at));
  }
  return {};
}

// Moves the judged type and reduction to the front: those of limits, or else the first.
void choose_judged(BenchCommand& command) {
  const auto judged = [](auto& all, auto usual) {
    if (all.empty()) return usual;
    const auto found = std::ranges::find(all, usual);
    if (found != all.end()) std::iter_swap(all.begin(), found);
    const auto first = all.front();
    if (all.size() == 1) all.clear();
    return first;
  };
  command.type = judged(command.types, Type::f32);
  command.reduction = judged(command.reductions, Reduction::sum);
}

Result<void> check_command(const BenchCommand& command) {
  if (command.verbose && command.quiet) return make_error("-v and -q exclude each other");
  TRY(check_sizes(command));
  TRY(place_fits(command));
  TRY(refuse_any({{command.each_iteration && command.format != Format::json,
                   "--each-iteration requires --format json"},
                  {!command.sim.empty() && command.backend != BackendKind::sim,
                   "--sim requires --backend sim"},
                  {command.cpu_time && command.backend == BackendKind::sim,
                   "--cpu-time: --backend sim uses no CPU time of ranks"}}));
  TRY(check_sim(command.sim));
  const bool is_split = command.split.has_value();
  const bool types = !command.types.empty() || !command.reductions.empty();
  const bool collectives = !command.collectives.empty();
  const bool other_backend =
      command.backend != BackendKind::nccl && command.backend != BackendKind::automatic;
  return refuse_any(
      {{is_split && types, "--split and several types or operations exclude each other"},
       {is_split && collectives, "--split runs one collective"},
       {collectives && command.min_busbw, "--min-busbw requires a single collective"},
       {is_split && command.precision, "--split and --precision exclude each other"},
       {!is_split && command.split_order != SplitOrder::at_once, "--split-order requires --split"},
       {is_split && (command.cycles > 1 || command.soak),
        "--split runs all sizes once: it excludes --cycles and --soak"},
       {is_split && command.diagnose, "--split and --diagnose exclude each other"},
       {is_split && command.acceptance, "--split and --acceptance exclude each other"},
       {other_backend && command.graph, "--graph requires --backend nccl"},
       {other_backend && command.registered, "--registered requires --backend nccl"},
       {other_backend && command.diagnose, "--diagnose requires --backend nccl"},
       {other_backend && command.together > 1, "--together requires --backend nccl"}});
}

std::string help_text() {
  return fmt::format(
      "{}\nCollectives: {}.\n"
      "Several with commas, or all, run one after the other in one launch.\n\n"
      "muster-bench node runs the active tests of this node (muster-bench node --help),\n"
      "muster-bench locate names what is slow among nodes (muster-bench locate --help),\n"
      "muster-bench train_step times a training step (muster-bench train_step --help).\n\n"
      "Types: {}.\n"
      "nccl-tests' float, double, half, bfloat16, int8, int32, int64, uint8, uint32 and\n"
      "uint64 are accepted as well.\n"
      "Operations: {}.\n\n"
      "{}",
      command_help(command_text()),
      wrapped(fmt::format("{}", fmt::join(collective_names(), ", ")), 13),
      wrapped(fmt::format("{}", fmt::join(kTypeWords, ", ")), 7), fmt::join(kReductionWords, ", "),
      kExitStatuses);
}

// Whether this is a misspelled subcommand, whose options are not those of a collective.
bool resembles_subcommand(std::string_view word) {
  const Words subcommands(kSubcommands.begin(), kSubcommands.end());
  return !word.starts_with('-') && !parse_word<Collective>(plain_name(word)) &&
         !nearest(word, subcommands).empty() && nearest(word, collective_names()).empty();
}

Parsed<BenchCommand> parse_words(std::span<const char* const> arguments) {
  if (!arguments.empty() && resembles_subcommand(arguments.front())) {
    TRY(collective_called(arguments.front()));
  }
  TRY_ASSIGN(auto given, from_nccl_tests(arguments));
  BenchCommand command;
  TRY_ASSIGN(const auto line, take_line(std::move(given), command_text(),
                                        takers_for<BenchCommand>(command, options())));
  if (line.help) return help_text();
  if (command.version) return fmt::format("muster-bench {}\n", kVersion);
  TRY(take_collective(command, line.words));
  choose_judged(command);
  TRY(check_command(command));
  return command;
}

}  // namespace

Result<void> place_fits(const BenchCommand& command) {
  const auto& [launcher, rank, world, rendezvous] = command.launch;
  const bool placed = launcher || rank || world || rendezvous || command.local;
  if (command.backend == BackendKind::sim && (placed || !command.secret_file.empty())) {
    return make_error(
        "--backend sim runs as one process: it excludes --local, --launch, --rank, --world, "
        "--rendezvous and --secret-file; --sim nodes=N,gpus=N sets its ranks");
  }
  if (rank.has_value() != world.has_value()) return make_error("--rank and --world go together");
  if (!rank) return {};
  if (command.local) return make_error("--local and --rank exclude each other");
  if (launcher) return make_error("--rank and --launch exclude each other");
  if (*rank >= *world) {
    return make_error("--rank {}: expected 0 to {}, because --world is {}", *rank, *world - 1,
                      *world);
  }
  if (*world == 1 || rendezvous) return {};
  return make_error("--rank and --world require --rendezvous, the address of rank 0");
}

std::vector<BenchCommand> of_each_collective(const BenchCommand& command) {
  if (command.collectives.empty()) return {command};
  std::vector<BenchCommand> commands;
  for (const auto collective : command.collectives) {
    auto& one = commands.emplace_back(command);
    one.collective = collective;
    one.collectives.clear();
  }
  return commands;
}

CommandText command_text() {
  return {
      .program = "muster-bench",
      .name = "",
      .synopsis = "COLLECTIVE [OPTION]...",
      .about =
          "Times a collective over the ranks that a launcher started, verifies the data of every "
          "rank, and judges the bandwidth by the limits of the nodes' profile",
      .options = texts_of(options()),
      .examples =
          "  muster-bench all_reduce                  on the GPUs of this node\n"
          "  srun muster-bench all_reduce             in a Slurm job, a rank for each task\n"
          "  mpirun muster-bench all_reduce --min-busbw '185 GB/s' --max 8GiB\n"
          "  muster-bench all_reduce --local 2        two processes on this machine\n"
          "  muster-bench all_reduce_perf -b 8 -e 8G -f 2 -g 8    as nccl-tests\n"};
}

Parsed<BenchCommand> parse(std::span<const char* const> arguments) {
  auto parsed = parse_words(arguments);
  if (parsed) return parsed;
  return make_error("{} (see muster-bench --help)", parsed.error().message);
}

std::vector<const char*> with_collective_of_name(std::span<const char* const> words) {
  if (words.empty()) return {};
  const std::string_view path = words.front();
  const auto* const name = words.front() + (path.rfind('/') + 1);
  std::vector<const char*> rest(words.begin() + 1, words.end());
  if (std::string_view(name).ends_with("_perf")) rest.insert(rest.begin(), name);
  return rest;
}

std::string common_words(std::span<const char* const> arguments) {
  constexpr std::array<std::string_view, 6> kOwn{"--rank",   "--rendezvous", "--secret-file",
                                                 "--output", "--cuda",       "--nccl"};
  Words words;
  constexpr std::array<std::string_view, 4> kOwnFlags{"-v", "--verbose", "-q", "--quiet"};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (std::ranges::find(kOwnFlags, word) != kOwnFlags.end()) continue;
    const auto name = word.substr(0, word.find('='));
    if (std::ranges::find(kOwn, name) == kOwn.end()) {
      words.emplace_back(word);
    } else if (name == word) {
      ++i;  // its value is the next word
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

Result<void> check_steps(const BenchCommand& command, const std::vector<std::uint64_t>& sizes) {
  if (!command.step || sizes.size() <= kMaxSteps) return {};
  return make_error("--step {}: more than {} sizes; give a smaller --max or a larger --step",
                    size_text(*command.step), kMaxSteps);
}

std::vector<std::uint64_t> sizes_of(const BenchCommand& command, std::uint64_t smallest,
                                    std::uint64_t largest) {
  if (!command.sizes.empty()) return command.sizes;
  const auto last = command.max.value_or(std::max(largest, command.min.value_or(0)));
  const auto first = std::min(command.min.value_or(smallest), last);
  const auto factor = factor_of(command);
  std::vector<std::uint64_t> sizes;
  for (auto size = first; size <= last && sizes.size() <= kMaxSteps;) {
    sizes.push_back(size);
    if (command.step ? last - size < *command.step : size > last / factor) break;
    size = command.step ? size + *command.step : size * factor;
  }
  // The judged size is always run.
  if (command.at && std::ranges::find(sizes, *command.at) == sizes.end()) {
    sizes.insert(std::ranges::lower_bound(sizes, *command.at), *command.at);
  }
  return sizes;
}

}  // namespace muster::bench
