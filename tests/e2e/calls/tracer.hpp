// SPDX-License-Identifier: Apache-2.0
// Makes one system call of a program, or of any process that it forks, fail or never return. The
// program is traced, and calls are counted in each of its processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::e2e {

// Kinds of faults. Positive values are the errno that the call returns.
enum class CallFault { none, never_returns, eio, enomem, emfile, enospc, eintr };

inline constexpr std::string_view kCallFaultNames[] = {"none",   "never returns", "EIO",  "ENOMEM",
                                                       "EMFILE", "ENOSPC",        "EINTR"};

inline constexpr CallFault kCallFaults[] = {CallFault::never_returns, CallFault::eio,
                                            CallFault::enomem,        CallFault::emfile,
                                            CallFault::enospc,        CallFault::eintr};

// A call of a program, in the same place in each of its runs, and a fault of it.
struct FaultyCall {
  CallFault fault = CallFault::none;
  std::string process;       // "" is the program, ".2" its third child, ".2.0" that one's first
  std::uint64_t number = 0;  // in its process, from 1 and from the start of main()
};

struct TracedRun {
  std::uint64_t calls = 0;            // the number of counted calls
  std::vector<FaultyCall> possible;   // in a run without a fault: all faults of all calls
  std::string call;                   // the call that failed: "openat in muster:state"; else empty
  int status = -1;                    // as shells count it
  std::vector<std::string> troubles;  // "it does not end", "a pipe is held by …"
  std::chrono::milliseconds took{};
};

// Runs a program whose standard streams are pipes, and makes one call fail. Programs that it
// executes are not traced. A call that cannot have this fault is left alone. A process whose call
// never returns cannot be killed until the program has ended.
[[nodiscard]] TracedRun trace(const std::vector<std::string>& words,
                              const std::map<std::string, std::string>& variables,
                              const FaultyCall& fault);

}  // namespace muster::e2e
