// SPDX-License-Identifier: Apache-2.0
// Finds rank 0 at one of its addresses, again and again until it is there, and gets let in.
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
  Wire wire;
  Clock::duration patience{};  // rank 0's, from now on
};

class Caller {
 public:
  explicit Caller(const JoinOptions& options) : options_(options) {}

  // An error is rank 0's refusal. Nothing: nobody was there before
  // `until`; why_not() then says what the last address answered.
  [[nodiscard]] Result<std::optional<Welcome>> call(Clock::time_point until);

  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  struct Target {
    Address address;
    std::string label;  // "node1 port 6105"
  };

  struct Try {
    Wire wire;
    std::string label;
    Clock::time_point deadline;
    Hello hello;
    std::size_t slot = 0;
    enum class State { connecting, asking, proving, welcome, over } state = State::connecting;
  };

  void look_up_targets();
  // One try at each address, a little after each other. Whom the first one to let us in is.
  [[nodiscard]] Result<std::optional<Welcome>> go_round(Clock::time_point until);
  void begin(const Target& target);
  void wait(Clock::time_point until);
  void advance(Try& attempt);
  void take(Try& attempt, const Message& message);
  void prove_to(Try& attempt, const Message& message);
  void fail(Try& attempt, std::string_view why);
  void refuse(Try& attempt, std::string_view why);

  const JoinOptions& options_;
  Poller poller_;
  std::vector<Target> targets_;
  Clock::time_point look_up_again_{};
  std::vector<Try> tries_;
  std::string why_not_;
  std::string refusal_;  // rank 0's, or our own of a rank 0 without our secret
  Clock::duration patience_{};
};

}  // namespace muster::bench
