// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate_command.hpp"

#include <array>
#include <string_view>

#include "bench/command/shared_options.hpp"
#include "bench/model/cluster.hpp"
#include "bench/node/test.hpp"

namespace muster::bench::locate {
namespace {

using C = LocateCommand;

Result<void> take_tests(std::string& target, std::string_view value) {
  target = value;
  if (value != "none") TRY(node::tests_called(value));
  return {};
}

constexpr std::array kOptions{
    option<&C::cluster>("--sim", "WORD=VALUE,...", kSimHelp),
    option<&C::strategy>(
        "--strategy", "auto|screen|tournament|bisect|rails|fabric",
        "screen: disjoint pairs, then suspects with proven partners; tournament: "
        "all pairs; bisect: another name of screen; rails: as auto, and each device "
        "by itself; fabric: the switches first (default auto: tournament up to "
        "16 nodes, else screen)"),
    option<&C::topology>("--topology", "FILE",
                         "Slurm's topology.conf, or lines with a switch and its nodes"),
    option<&C::size, take_size>("--size", "SIZE",
                                "of the all-reduce (default on GPUs the size of the profile's "
                                "limit, or 512 MiB; else 8 MiB)"),
    option<&C::per_repeat, AtLeast<1>{}>("--per-repeat", "N",
                                         "one value is the median of N operations (default 5)"),
    option<&C::floor, take_rate>("--min-busbw", "RATE",
                                 "what a healthy pair of nodes reaches at least, as '180 GB/s'"),
    option<&C::matrix>("--matrix", "FILE", "write the rates of all measured pairs, as JSON"),
    option<&C::csv>("--csv", "FILE", "the same as CSV"),
    option<&C::exclude>("--exclude", "FILE",
                        "write the nodes to avoid, as a list for srun and sbatch --exclude"),
    option<&C::node_tests, take_tests>(
        "--node-tests", "TEST,...|none",
        "tests of muster-bench node that a slow node runs on itself (default on GPUs gpu.*,ib.*; "
        "else none)"),
};

}  // namespace

std::string LocateCommand::tests(BackendKind kind) const {
  if (node_tests == "none") return "";
  if (!node_tests.empty()) return node_tests;
  return kind == BackendKind::nccl ? "gpu.*,ib.*" : "";
}

CommandText command_text() {
  return subcommand_text<LocateCommand>(
      "locate",
      "Names the node, device, link or leaf switch that is slow: measures pairs of a job's nodes "
      "side by side, and suspects again with partners that are proven good",
      kOptions,
      "  srun muster-bench locate --exclude slow-nodes     in a job with GPUs\n"
      "  mpirun muster-bench locate --min-busbw '180 GB/s'\n"
      "  muster-bench locate --backend sim --sim nodes=16,fault=slow_node:5:0.8\n");
}

Parsed<LocateCommand> parse(std::span<const char* const> arguments) {
  return parse_subcommand<LocateCommand>(
      arguments, command_text(), kOptions, [](const LocateCommand& command) -> Result<void> {
        const bool sim = command.backend == BackendKind::sim;
        TRY(refuse_any({{command.verbose && command.quiet, "-v and -q exclude each other"},
                        {!command.cluster.empty() && !sim, "--sim goes with --backend sim"},
                        {command.size && sim, "--size does not go with --backend sim"},
                        {command.strategy == Strategy::fabric && command.topology.empty() && !sim,
                         "--strategy fabric needs --topology"}}));
        TRY(check_sim(command.cluster));
        return place_fits(command);
      });
}

}  // namespace muster::bench::locate
