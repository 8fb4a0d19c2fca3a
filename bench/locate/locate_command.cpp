// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate_command.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "bench/command/shared_options.hpp"

namespace muster::bench::locate {
namespace {

using C = LocateCommand;
using Text = std::string_view;

Result<void> take_backend(std::optional<LocateBackend>& target, Text value) {
  const auto choice = take_choice("sim", value);
  if (!choice) return tl::unexpected(choice.error());
  target = static_cast<LocateBackend>(*choice);
  return {};
}

Result<void> take_model(ModelCluster& target, Text value) {
  return put(target, parse_model(value, target));
}

Result<void> take_setting(std::vector<std::string>& target, Text value) {
  return add_setting(target, value, "");
}

constexpr std::array kOptions{
    option<&C::backend, take_backend>(
        "--backend", "sim", "what runs the pairs: a model of a cluster"),
    option<&C::model, take_model>(
        "--sim", "WORD=VALUE,...", "the cluster that --backend sim is a model of"),
    option<&C::strategy>("--strategy",
                         "auto|screen|tournament",
                         "screen: disjoint pairs, then suspects with proven partners; tournament: "
                         "all pairs (default auto: tournament up to 16 nodes)"),
    option<&C::topology>(
        "--topology", "FILE", "Slurm's topology.conf, or lines with a switch and its nodes"),
    option<&C::min_busbw, take_rate>(
        "--min-busbw", "RATE", "what a healthy pair of nodes reaches at least, as '180 GB/s'"),
    option<&C::profile>("--profile",
                        "NAME|FILE",
                        "judge by this profile; without it the site's muster.yaml or the hardware "
                        "tells"),
    option<&C::settings, take_setting>(
        "--set", "KEY=VALUE", "override one value of the profile; may be repeated"),
    option<&C::format>("--format", kFormats, "form of the report (default text)"),
    option<&C::output>("--output", "FILE", "write it to FILE, replacing it at once"),
    option<&C::matrix>("--matrix", "FILE", "the rates of all pairs that were measured, as JSON"),
    option<&C::csv>("--csv", "FILE", "the same as CSV"),
    option<&C::exclude>(
        "--exclude", "FILE", "the accused nodes, as a list for srun and sbatch --exclude"),
    option<&C::verbose>("-v,--verbose", "", "what passed, too"),
    option<&C::quiet>("-q,--quiet", "", "only what is wrong"),
};

}  // namespace

CommandText command_text() {
  return {.program = "muster-bench",
          .name = "locate",
          .synopsis = "--backend sim [OPTION]...",
          .about =
              "Names the node, device, link or leaf switch that is slow: runs pairs of nodes "
              "side by side, and suspects again with partners that have proven good",
          .options = texts_of(std::span<const Option<LocateCommand>>(kOptions))};
}

Result<std::variant<std::string, LocateCommand>> parse(std::span<const char* const> arguments) {
  return parse_subcommand<LocateCommand>(
      arguments,
      command_text(),
      kOptions,
      [] { return fmt::format("{}\n{}", command_help(command_text()), kExitStatuses); },
      [](const LocateCommand& command) -> Result<void> {
        if (!command.backend) return make_error("--backend is missing");
        if (command.verbose && command.quiet) return make_error("-v and -q exclude each other");
        return {};
      });
}

}  // namespace muster::bench::locate
