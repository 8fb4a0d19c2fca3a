// SPDX-License-Identifier: Apache-2.0
// One line for node-problem-detector, which keeps 80 bytes of a plug-in's output and reads the exit
// status.
#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"

namespace muster {

std::string to_npd(const Report& report, const RenderOptions& /*options*/) {
  constexpr std::size_t kMaxOutput = 80;  // with the newline
  auto line = one_line(report, kMaxOutput - 1);
  line.push_back('\n');
  return line;
}

}  // namespace muster
