// SPDX-License-Identifier: Apache-2.0
#include "lib/command/caller.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace muster {

int fail(const Caller& caller, const Failure& failure) {
  if (!failure.message.empty()) caller.console.note(fmt::format("muster: {}", failure.message));
  return failure.status;
}

int deliver(const Caller& caller, const std::string& file, std::string_view text, int status,
            unsigned mode) {
  const auto written = write_answer(caller.console, file, text, mode);
  if (written) return status;
  const int failed = fail(caller, undecided(written.error()).value());
  // Print the answer instead, unless only its owner may read it.
  constexpr unsigned kOthers = 077;
  const bool may_print = (mode & kOthers) != 0 && descriptor_named(file) != STDOUT_FILENO;
  if (may_print) static_cast<void>(caller.console.out(text));
  return failed;
}

}  // namespace muster
