// SPDX-License-Identifier: Apache-2.0
// Why a command cannot go on, and with which exit status it ends.
#pragma once

#include <string>

#include "lib/base/result.hpp"
#include "lib/report/report.hpp"

namespace muster {

struct Failure {
  int status = 0;
  std::string message;  // empty where there is nothing to say
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
