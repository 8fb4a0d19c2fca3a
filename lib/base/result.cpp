// SPDX-License-Identifier: Apache-2.0
#include "lib/base/result.hpp"

#include <cerrno>
#include <system_error>

namespace muster {

std::string errno_text(int code) { return std::generic_category().message(code); }

tl::unexpected<Error> os_error(std::string_view operation, std::string_view object, int code) {
  return make_error("{} {}: {}", operation, object, errno_text(code));
}

tl::unexpected<Error> file_error(std::string_view operation, std::string_view path, int code) {
  auto error = os_error(operation, path, code);
  error.value().missing = code == ENOENT || code == ENOTDIR;
  return error;
}

}  // namespace muster
