// SPDX-License-Identifier: Apache-2.0
// Which rules `muster check` judges by: the context's checks, or the lines of NHC's configuration.
#pragma once

#include <optional>

#include "checks/app/choice.hpp"
#include "checks/app/commands.hpp"
#include "checks/nhc_conf/benchmark.hpp"
#include "checks/nhc_conf/config.hpp"
#include "checks/run.hpp"

namespace muster::app {

[[nodiscard]] Selection selection_of(const CheckCommand& command);

// The file that --nhc-conf names; nothing without that option. One that cannot be read is bad
// configuration.
[[nodiscard]] Attempt<std::optional<nhc::Config>> nhc_conf_of(const CheckCommand& command);

[[nodiscard]] Report judge_as_asked(const CheckCommand& command,
                                    const std::optional<nhc::Config>& config,
                                    const Snapshot& snapshot,
                                    const Profile& profile,
                                    const nhc::Measured& measured = {});

}  // namespace muster::app
