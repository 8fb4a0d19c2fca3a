// SPDX-License-Identifier: Apache-2.0
// What the command line of `muster-bench` asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

// How the ranks are divided among communicators of their own: those of each node, those with the
// same place on their nodes, or so many in a row.
struct Split {
  enum class By { node, rail, count };
  By by = By::node;
  int count = 0;  // of `count`

  bool operator==(const Split&) const = default;
};

enum class SplitOrder { at_once, in_turn };

struct BenchCommand {
  Collective collective = Collective::all_reduce;
  std::vector<Collective> collectives;  // all that are run, where there are several
  bool whichever = false;               // "all" was asked for, and none of them named

  // What is run. Sizes that were not asked for depend on the back end and the profile's limits.
  std::vector<std::uint64_t> sizes;
  std::optional<std::uint64_t> min, max;
  std::uint64_t factor = 2;
  std::optional<std::uint64_t> step;     // bytes from one size to the next, in place of the factor
  Type type = Type::f32;                 // the first, which is judged
  Reduction reduction = Reduction::sum;  // likewise
  std::vector<Type> types;               // all that are run, where there are several
  std::vector<Reduction> reductions;
  int root = 0;
  Placement placement = Placement::both;

  // How often.
  int warm_up = 5;
  int iterations = 20;               // the least, where `precision` is set
  std::optional<Percent> precision;  // until the median is known this well
  bool pipelined = false;
  bool graph = false;
  bool registered = false;      // buffers, with NCCL
  bool diagnose = false;        // NCCL tries its paths first
  int together = 1;             // operations in one group of NCCL
  bool cpu_time = false;        // in the table, in place of the time
  int cycles = 1;               // of all sizes, at the least
  std::optional<Seconds> soak;  // and as many more as begin in this time

  // With what, and among whom.
  BackendKind backend = BackendKind::automatic;
  std::string sim;         // what the model of a cluster is made of
  Bind bind = Bind::gpu;   // of the nccl back end: where a rank's threads run
  std::string cuda, nccl;  // libraries in place of the system's
  LaunchFlags launch;
  std::optional<int> local;  // processes that this one starts on this node
  std::string secret_file;
  std::optional<Split> split;
  SplitOrder split_order = SplitOrder::at_once;

  // What it is judged by.
  std::string profile;
  std::vector<std::string> settings;
  VariableSource environment =
      VariableSource::profile;  // whose variables of NCCL, UCX and Open MPI
  std::optional<BytesPerSecond> min_busbw;
  std::optional<std::uint64_t> at;  // the size that min_busbw holds for; the largest if not set
  bool acceptance = false;          // judge by what the provider promises
  std::vector<std::string> require_transport;

  // What is reported, and when the run is given up.
  Format format = Format::text;
  std::string output;
  bool each_iteration = false;
  bool verbose = false, quiet = false;
  bool version = false;
  Seconds join_deadline{60}, operation_deadline{60};
};

// The words of a program that was started by the name of one of nccl-tests', such as
// all_reduce_perf, with that name as the collective; `words` begins with the program's own.
[[nodiscard]] std::vector<const char*> with_collective_of_name(std::span<const char* const> words);

// The text of --help or --version, or what is to be done; an error is bad usage.
template <class Command>
using Parsed = Result<std::variant<std::string, Command>>;

// `arguments` without the program's name.
[[nodiscard]] Parsed<BenchCommand> parse(std::span<const char* const> arguments);

// The words with nccl-tests' own options turned into muster-bench's: "-b 8 -e 8G -f 2 -g 1" into
// "--min 8 --max 8G --factor 2". An error names one that asks for what there is not, and what to
// write in its place.
[[nodiscard]] Result<std::vector<std::string>> from_nccl_tests(
    std::span<const char* const> arguments);

// A command for each of its collectives.
[[nodiscard]] std::vector<BenchCommand> of_each_collective(const BenchCommand& command);

// Whether the options that say who this process is go together.
[[nodiscard]] Result<void> place_fits(const BenchCommand& command);

// The command line less what each process may have of its own: who it is, and where its files lie.
// It is the same for all processes of a run.
[[nodiscard]] std::string common_words(std::span<const char* const> arguments);

// The one table of options: parsing, --help and the man page's test read it.
[[nodiscard]] std::span<const Option<BenchCommand>> options();
// The options among them that any run of a job has: what runs it, among whom, by which profile it
// is judged, and how that is told.
[[nodiscard]] std::span<const Option<BenchCommand>> job_options();

[[nodiscard]] CommandText command_text();

// --sizes, or --min to --max by the factor; `smallest` and `largest` where those were not given.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const BenchCommand& command,
                                                  std::uint64_t smallest, std::uint64_t largest);

}  // namespace muster::bench
