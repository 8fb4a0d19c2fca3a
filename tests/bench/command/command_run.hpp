// SPDX-License-Identifier: Apache-2.0
// A subcommand of `muster-bench`, run in this process: its exit status and output.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/run/bench_run.hpp"

namespace muster::bench {

struct Ended {
  int status = -1;
  std::string out, notes;
};

template <class Run>
Ended ended_of(Run run, const std::vector<const char*>& words) {
  Ended ended;
  const RunInput input{.console = {.out = [&](std::string_view text) -> Result<void> {
                                     ended.out += text;
                                     return {};
                                   },
                                   .note = [&](std::string_view line) { ended.notes += line; }},
                       .variables = {},
                       .command_line = {}};
  ended.status = run(std::span<const char* const>(words), input);
  return ended;
}

}  // namespace muster::bench
