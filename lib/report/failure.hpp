// SPDX-License-Identifier: Apache-2.0
// Why a command failed, and its exit status.
#pragma once

#include <string>

#include "lib/base/result.hpp"
#include "lib/report/report.hpp"

namespace muster {

struct Failure {
  int status = 0;
  std::string message;  // may be empty
};

template <class T>
using Attempt = tl::expected<T, Failure>;

[[nodiscard]] inline tl::unexpected<Failure> bad_configuration(const Error& error) {
  return tl::unexpected<Failure>(Failure{.status = kExitConfiguration, .message = error.message});
}

[[nodiscard]] inline tl::unexpected<Failure> undecided(const Error& error) {
  return tl::unexpected<Failure>(Failure{.status = kExitUndecided, .message = error.message});
}

}  // namespace muster
