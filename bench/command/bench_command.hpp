// SPDX-License-Identifier: Apache-2.0
// The command line of `muster-bench`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/collectives/operation.hpp"
#include "bench/launch/place.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/command/options.hpp"
#include "lib/report/format.hpp"

namespace muster::bench {

enum class BackendKind { automatic, nccl, mpi, tcp, sim };
enum class Placement { both, out, in };
enum class Bind { gpu, none };
enum class VariableSource { profile, job };

// Divides the ranks into separate communicators: the ranks of each node, those with the same index
// on their nodes, or `count` consecutive ones.
struct Split {
  enum class By { node, rail, count };
  By by = By::node;
  int count = 0;

  bool operator==(const Split&) const = default;
};

enum class SplitOrder { at_once, in_turn };

struct BenchCommand {
  Collective collective = Collective::all_reduce;
  std::vector<Collective> collectives;  // all of them, if there are several
  bool whichever = false;               // "all" was given instead of names

  // Operations. Default sizes depend on the back end and the profile's limits.
  std::vector<std::uint64_t> sizes;
  std::optional<std::uint64_t> min, max;
  std::optional<std::uint64_t> factor;   // default 2
  std::optional<std::uint64_t> step;     // bytes from one size to the next, replaces the factor
  Type type = Type::f32;                 // the first type, which is judged
  Reduction reduction = Reduction::sum;  // the first reduction, which is judged
  std::vector<Type> types;               // all of them, if there are several
  std::vector<Reduction> reductions;
  int root = 0;
  Placement placement = Placement::both;

  // Repetitions.
  int warm_up = 5;
  int iterations = 20;               // the minimum if `precision` is set
  std::optional<Percent> precision;  // until the median is this precise
  bool pipelined = false;
  bool graph = false;
  bool registered = false;      // buffers registered with NCCL
  bool diagnose = false;        // NCCL tests its paths first
  int together = 1;             // operations in one NCCL group
  bool cpu_time = false;        // in the table, instead of the time
  int cycles = 1;               // of all sizes, at least
  std::optional<Seconds> soak;  // and more, until this time is over

  // Back end and ranks.
  BackendKind backend = BackendKind::automatic;
  std::string sim;         // the simulated cluster
  Bind bind = Bind::gpu;   // of the nccl back end: the CPUs of a rank's threads
  std::string cuda, nccl;  // libraries that replace the system's
  LaunchFlags launch;
  std::optional<int> local;  // ranks that this process starts on this node
  std::string secret_file;
  std::optional<Split> split;
  SplitOrder split_order = SplitOrder::at_once;

  // Limits.
  std::string profile;
  std::vector<std::string> settings;
  VariableSource environment = VariableSource::profile;  // of NCCL, UCX and Open MPI
  std::optional<BytesPerSecond> min_busbw;
  std::optional<std::uint64_t> at;  // the size of min_busbw; default: the largest
  bool acceptance = false;          // judge by the provider's promise
  std::vector<std::string> require_transport;

  // Report and deadlines.
  Format format = Format::text;
  std::string output;
  bool each_iteration = false;
  bool verbose = false, quiet = false;
  bool version = false;
  Seconds join_deadline{60}, operation_deadline{60};
};

// The first words of command lines that are not collectives.
inline constexpr std::array<std::string_view, 3> kSubcommands{"node", "locate", "train_step"};

// Returns the arguments in `words`, which begin with the program's name. A program that was started
// by a name of nccl-tests, such as all_reduce_perf, gets that name as its collective.
[[nodiscard]] std::vector<const char*> with_collective_of_name(std::span<const char* const> words);

// The text of --help or --version, or the command; an error is bad usage.
template <class Command>
using Parsed = Result<std::variant<std::string, Command>>;

// `arguments` without the program's name.
[[nodiscard]] Parsed<BenchCommand> parse(std::span<const char* const> arguments);

// Translates nccl-tests' options: "-b 8 -e 8G -f 2 -g 1" into "--min 8 --max 8G --factor 2". An
// error names an unsupported one.
[[nodiscard]] Result<std::vector<std::string>> from_nccl_tests(
    std::span<const char* const> arguments);

// Returns a command for each of its collectives.
[[nodiscard]] std::vector<BenchCommand> of_each_collective(const BenchCommand& command);

// Checks that the options about this process's rank fit together.
[[nodiscard]] Result<void> place_fits(const BenchCommand& command);

// Returns the command line without the options that may differ between the processes of a run:
// their ranks and files.
[[nodiscard]] std::string common_words(std::span<const char* const> arguments);

[[nodiscard]] std::span<const Option<BenchCommand>> options();
// Returns the options that all commands with ranks share: back end, launch, profile and report.
[[nodiscard]] std::span<const Option<BenchCommand>> job_options();

[[nodiscard]] CommandText command_text();

[[nodiscard]] inline std::uint64_t factor_of(const BenchCommand& command) {
  return command.factor.value_or(2);
}

// Returns --sizes, or --min to --max by the factor; their defaults are `smallest` and `largest`.
// With --step it may stop early, which check_steps() refuses.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const BenchCommand& command,
                                                  std::uint64_t smallest, std::uint64_t largest);

// An error if --step results in too many sizes.
[[nodiscard]] Result<void> check_steps(const BenchCommand& command,
                                       const std::vector<std::uint64_t>& sizes);

}  // namespace muster::bench
