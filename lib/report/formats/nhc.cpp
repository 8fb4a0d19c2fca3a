// SPDX-License-Identifier: Apache-2.0
// One line for LBNL NHC, which evaluates the text in a shell and may expand its words as globs when
// it passes them to Slurm: the text must not contain special characters.
#include <cstddef>

#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxLength = 199;  // 200 with the newline

}  // namespace

std::string to_nhc(const Report& report, const RenderOptions& /*options*/) {
  auto line = harmless(one_line(report, kMaxLength), kMaxLength);
  line.push_back('\n');
  return line;
}

}  // namespace muster
