// SPDX-License-Identifier: Apache-2.0
// One line for node-problem-detector, which keeps 80 bytes of a plug-in's output and reads the exit
// status; and one for LBNL NHC, which evaluates the text in a shell and may expand its words as
// globs when it passes them to Slurm: that text must not contain special characters.
#include <cstddef>

#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"

namespace muster {

std::string to_npd(const Report& report, const RenderOptions& /*options*/) {
  return one_line(report, kNpdOutput - 1).append("\n");
}

std::string to_nhc(const Report& report, const RenderOptions& /*options*/) {
  constexpr std::size_t kMaxLength = 199;  // 200 with the newline
  return harmless(one_line(report, kMaxLength), kMaxLength).append("\n");
}

}  // namespace muster
