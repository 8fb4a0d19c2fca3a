// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/config.hpp"

#include "lib/base/text.hpp"

namespace muster::slurm {

Config parse_config(std::string_view text) {
  Config config;
  for (const auto line : split_lines(text)) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    auto key = trim(line.substr(0, equals));
    const auto given = trim(line.substr(equals + 1));
    const std::string value(given == "(null)" ? "" : given);
    // From 24.05 on: "Prolog[0]", "Prolog[1]".
    const auto number = key.ends_with(']') ? key.find('[') : std::string_view::npos;
    key = key.substr(0, number);
    const auto [place, is_new] = config.emplace(key, value);
    if (!is_new && number != std::string_view::npos) place->second += "," + value;
  }
  return config;
}

Result<Config> ask_config(const Installation& installation, const CallLimits& limits) {
  TRY_ASSIGN(const auto out,
             call(installation.scontrol, {"show", "config"}, installation.environment, limits));
  auto config = parse_config(out);
  if (config.contains("SLURM_VERSION")) return config;
  return make_error("scontrol show config: SLURM_VERSION is missing");
}

}  // namespace muster::slurm
