// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/process/program.hpp"

namespace muster::slurm {
namespace {

std::string complaint_of(const Ended& ended) {
  for (const auto* stream : {&ended.err, &ended.out}) {
    if (auto line = last_line(*stream); !line.empty()) return line;
  }
  return "no output";
}

}  // namespace

Result<std::string> call(const std::filesystem::path& program, std::vector<std::string> arguments,
                         const std::map<std::string, std::string>& environment,
                         const CallLimits& limits) {
  TRY_ASSIGN(auto ended, run_program({.program = program,
                                      .arguments = std::move(arguments),
                                      .environment = environment,
                                      .limit = TimeLimit(limits.deadline).until(limits.end)}));
  if (ended.status == 0) return std::move(ended.out);
  return make_error(fmt::format("{} ended with status {}: {}", program.filename().string(),
                                ended.status, complaint_of(ended)));
}

Result<void> check_node_name(std::string_view node) {
  constexpr std::size_t kLongest = 255;
  const bool plain = !node.empty() && node.size() <= kLongest &&
                     std::all_of(node.begin(), node.end(), [](unsigned char letter) {
                       return letter < 0x80 && (std::isalnum(letter) != 0 || letter == '.' ||
                                                letter == '_' || letter == '-');
                     });
  if (plain && lower_case(node) != "all") return {};
  return make_error(fmt::format("\"{}\" is not the name of one node", printable(node)));
}

}  // namespace muster::slurm
