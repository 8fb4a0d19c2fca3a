// SPDX-License-Identifier: Apache-2.0
// What the command line of `muster-bench locate` asks for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "bench/locate/locate.hpp"
#include "bench/locate/model.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/command/options.hpp"
#include "lib/report/format.hpp"

namespace muster::bench::locate {

enum class LocateBackend { sim };

struct LocateCommand {
  std::optional<LocateBackend> backend;
  ModelCluster model{.noise = 0};
  Strategy strategy = Strategy::automatic;
  std::string topology;
  std::optional<BytesPerSecond> min_busbw;
  std::string profile;
  std::vector<std::string> settings;
  Format format = Format::text;
  std::string output;
  std::string matrix, csv, exclude;  // files
  bool verbose = false, quiet = false;
};

// The text of --help, or what is to be done. `arguments` without "locate"; an error is bad usage.
[[nodiscard]] Result<std::variant<std::string, LocateCommand>> parse(
    std::span<const char* const> arguments);

[[nodiscard]] CommandText command_text();

// "nodes=64,leaf=16,noise=3%,fault=slow_hca:7:3:0.48": what is not named is as in `defaults`.
[[nodiscard]] Result<ModelCluster> parse_model(std::string_view text, ModelCluster defaults);

}  // namespace muster::bench::locate
