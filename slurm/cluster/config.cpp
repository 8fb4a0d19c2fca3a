// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/config.hpp"

#include "lib/base/text.hpp"

namespace muster::slurm {

Config parse_config(std::string_view text) {
  Config config;
  for (const auto line : split_lines(text)) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto value = trim(line.substr(equals + 1));
    config.emplace(trim(line.substr(0, equals)), value == "(null)" ? "" : value);
  }
  return config;
}

Result<Config> ask_config(const Installation& installation, const CallLimits& limits) {
  const auto out =
      call(installation.scontrol, {"show", "config"}, installation.environment, limits);
  if (!out) return tl::unexpected(out.error());
  auto config = parse_config(*out);
  if (config.contains("SLURM_VERSION")) return config;
  return make_error("scontrol show config does not say its version: is it Slurm's?");
}

}  // namespace muster::slurm
