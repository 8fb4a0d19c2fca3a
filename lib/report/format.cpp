// SPDX-License-Identifier: Apache-2.0
#include "lib/report/format.hpp"

namespace muster {

std::string render(const Report& report, Format format, const RenderOptions& options, int indent) {
  switch (format) {
    case Format::json:
      return to_json(report, options, indent);
    case Format::prometheus:
      return to_prometheus(report);
    case Format::junit:
      return to_junit(report);
    case Format::npd:
      return to_npd(report);
    case Format::nhc:
      return to_nhc(report);
    case Format::text:
      break;
  }
  return to_text(report, options);
}

}  // namespace muster
