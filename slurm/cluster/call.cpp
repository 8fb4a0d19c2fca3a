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

// The last line is the one that says why.
std::string complaint_of(const Ended& ended) {
  for (const auto* stream : {&ended.err, &ended.out}) {
    std::string_view last;
    for (const auto line : split_lines(*stream)) {
      if (!trim(line).empty()) last = trim(line);
    }
    if (!last.empty()) return printable(last, 200);
  }
  return "it said nothing";
}

}  // namespace

Result<std::string> call(const std::filesystem::path& program,
                         std::vector<std::string> arguments,
                         const std::map<std::string, std::string>& environment,
                         const CallLimits& limits) {
  auto ended = run_program({.program = program,
                            .arguments = std::move(arguments),
                            .environment = environment,
                            .deadline = std::min(Clock::now() + limits.deadline, limits.end)});
  if (!ended) return tl::unexpected(ended.error());
  if (ended->status == 0) return std::move(ended->out);
  return make_error(fmt::format("{} ended with status {}: {}",
                                program.filename().string(),
                                ended->status,
                                complaint_of(*ended)));
}

Result<void> check_node_name(std::string_view node) {
  constexpr std::size_t kLongest = 255;
  const bool plain = !node.empty() && node.size() <= kLongest &&
                     std::all_of(node.begin(), node.end(), [](unsigned char letter) {
                       return letter < 0x80 && (std::isalnum(letter) != 0 || letter == '.' ||
                                                letter == '_' || letter == '-');
                     });
  std::string upper(node);
  for (char& letter : upper) {
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  if (plain && upper != "ALL") return {};
  return make_error(fmt::format("\"{}\" is not the name of one node", printable(node)));
}

}  // namespace muster::slurm
