// SPDX-License-Identifier: Apache-2.0
// Makes one system call of a program, or of any process that it forks, fail or never return. The
// program is traced, and calls are counted over all of its processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::e2e {

// Kinds of faults. Positive values are the errno that the call returns.
enum class CallFault { none, never_returns, eio, enomem, emfile, enospc, eintr };

inline constexpr std::string_view kCallFaultNames[] = {"none",   "never returns", "EIO",  "ENOMEM",
                                                       "EMFILE", "ENOSPC",        "EINTR"};

struct TracedRun {
  std::uint64_t calls = 0;            // the number of counted calls
  std::string call;                   // the call that failed: "openat in muster:state"; else empty
  int status = -1;                    // as shells count it
  std::vector<std::string> troubles;  // "it does not end", "a pipe is held by …"
  std::chrono::milliseconds took{};
};

// Runs a program whose standard streams are pipes, and makes call number `at` fail, counted from 1
// and from the start of main(). Programs that it executes are not counted. A call that cannot have
// this fault is left alone. A process whose call never returns cannot be killed until the program
// has ended.
[[nodiscard]] TracedRun trace(const std::vector<std::string>& words,
                              const std::map<std::string, std::string>& variables, std::uint64_t at,
                              CallFault fault);

}  // namespace muster::e2e
