// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate_command.hpp"

#include <array>
#include <string_view>

#include "bench/command/shared_options.hpp"
#include "bench/node/test.hpp"

namespace muster::bench::locate {
namespace {

using C = LocateCommand;
using Text = std::string_view;

Result<void> take_model(std::optional<ModelCluster>& target, Text value) {
  return put(target, parse_model(value, target.value_or(ModelCluster{.noise = 0})));
}

Result<void> take_tests(std::string& target, Text value) {
  if (value != "none") {
    if (const auto tests = node::tests_called(value); !tests) return tl::unexpected(tests.error());
  }
  target = value;
  return {};
}

constexpr std::array kOptions{
    option<&C::model, take_model>("--sim", "WORD=VALUE,...",
                                  "the cluster that --backend sim is a model of"),
    option<&C::strategy>("--strategy", "auto|screen|tournament|bisect|rails|fabric",
                         "screen: disjoint pairs, then suspects with proven partners; tournament: "
                         "all pairs; bisect: as screen; rails: and each device by itself; "
                         "fabric: first below and across the switches of --topology (default auto: "
                         "all pairs up to 16 nodes, else screen; then what is found asks for)"),
    option<&C::topology>("--topology", "FILE",
                         "Slurm's topology.conf, or lines with a switch and its nodes"),
    option<&C::size, take_size>("--size", "SIZE",
                                "of the all-reduce (default on GPUs what the profile's limit is "
                                "for, or 512 MiB; else 8 MiB)"),
    option<&C::per_repeat, AtLeast<1>{}>(
        "--per-repeat", "N", "so many operations are one value, their median (default 5)"),
    option<&C::floor, take_rate>("--min-busbw", "RATE",
                                 "what a healthy pair of nodes reaches at least, as '180 GB/s'"),
    option<&C::matrix>("--matrix", "FILE", "the rates of all pairs that were measured, as JSON"),
    option<&C::csv>("--csv", "FILE", "the same as CSV"),
    option<&C::exclude>("--exclude", "FILE",
                        "the accused nodes, as a list for srun and sbatch --exclude"),
    option<&C::node_tests, take_tests>(
        "--node-tests", "TEST,...|none",
        "what a slow node is tested by from within, of muster-bench node "
        "(default on GPUs gpu.*,ib.*; else none)"),
    option<&C::drain>("--drain", "",
                      "drain the accused nodes by the rules of muster.yaml: muster drain --report"),
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
      "Names the node, device, link or leaf switch that is slow: runs pairs of a job's nodes "
      "side by side, and suspects again with partners that have proven good",
      kOptions);
}

Parsed<LocateCommand> parse(std::span<const char* const> arguments) {
  return parse_subcommand<LocateCommand>(
      arguments, command_text(), kOptions, [](const LocateCommand& command) {
        const bool sim = command.backend == BackendKind::sim;
        const bool unknown = command.strategy == Strategy::fabric && command.topology.empty();
        auto fit = refuse_any(
            {{command.verbose && command.quiet, "-v and -q exclude each other"},
             {command.model && !sim, "--sim goes with --backend sim"},
             {command.size && sim, "--size goes with no model: it knows rates, whatever the size"},
             {command.drain && sim, "--drain goes with no model"},
             {unknown && !sim, "--strategy fabric needs --topology"}});
        return fit ? place_fits(command) : fit;
      });
}

}  // namespace muster::bench::locate
