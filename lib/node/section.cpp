// SPDX-License-Identifier: Apache-2.0
#include "lib/node/section.hpp"

namespace muster {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::absent:
      return "absent";
    case Status::timeout:
      return "timeout";
    case Status::error:
      return "error";
  }
  return "error";
}

}  // namespace muster
