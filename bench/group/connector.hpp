// SPDX-License-Identifier: Apache-2.0
// Connects to rank 0 at one of its addresses, again and again until it is there, and shakes hands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group/group.hpp"
#include "bench/group/handshake.hpp"
#include "bench/group/message_socket.hpp"
#include "bench/group/poller.hpp"
#include "bench/sockets/sockets.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

struct Welcome {
  MessageSocket socket;
  Clock::duration patience{};  // rank 0's, from now on
};

class Connector {
 public:
  explicit Connector(const JoinOptions& options) : options_(options) {}

  // Empty if nobody let this rank in before `until`: last_failure() then says what the last address
  // answered. An error if rank 0 refused this rank.
  [[nodiscard]] Result<std::optional<Welcome>> connect(Clock::time_point until);

  [[nodiscard]] const std::string& last_failure() const { return last_failure_; }

 private:
  struct Target {
    Address address;
    std::string label;  // "node1 port 6105"
  };

  struct Candidate {
    MessageSocket socket;
    std::string label;
    Clock::time_point deadline;
    Hello hello;
    std::size_t slot = 0;
    enum class State { connecting, asking, proving, welcome, over } state = State::connecting;
  };

  void look_up_targets();
  // Tries each address once, a little after each other. Returns the first that lets this rank in.
  [[nodiscard]] Result<std::optional<Welcome>> try_all(Clock::time_point until);
  void begin(const Target& target);
  void wait(Clock::time_point until);
  void advance(Candidate& attempt);
  void take(Candidate& attempt, const Message& message);
  void prove_to(Candidate& attempt, const Message& message);
  void fail(Candidate& attempt, std::string_view why);
  void refuse(Candidate& attempt, std::string_view why);

  const JoinOptions& options_;
  Poller poller_;
  std::vector<Target> targets_;
  Clock::time_point look_up_again_{};
  std::vector<Candidate> attempts_;
  std::string last_failure_;
  std::string refusal_;  // by rank 0; or of a rank 0 that does not have this rank's secret
  Clock::duration patience_{};
};

}  // namespace muster::bench
