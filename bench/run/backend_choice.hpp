// SPDX-License-Identifier: Apache-2.0
// Which back end runs the collectives here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "lib/choice/choice.hpp"

namespace muster::bench {

// Never `automatic`. Nodes that should have GPUs are not measured on their host memory unless that
// was asked for: it would say nothing about what they are for.
[[nodiscard]] Attempt<BackendKind> pick_backend(const BenchCommand& command,
                                                const Place& place,
                                                const Profile& profile,
                                                std::vector<std::string>& evidence);

[[nodiscard]] std::string_view to_string(BackendKind kind);

}  // namespace muster::bench
