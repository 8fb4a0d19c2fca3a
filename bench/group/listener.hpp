// SPDX-License-Identifier: Apache-2.0
// Rank 0's listener: shakes hands with everybody who connects, side by side, and lets in who proves
// to be a rank of this run. Nobody who connects can cost more than a few hundred bytes and a few
// seconds.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/group/group.hpp"
#include "bench/group/handshake.hpp"
#include "bench/group/message_socket.hpp"
#include "bench/group/poller.hpp"

namespace muster::bench {

struct Arrival {
  int rank = 0;
  std::string name;
  std::string address;
  MessageSocket socket;
};

class RankListener {
 public:
  // The options must live longer.
  RankListener(Descriptor listener, const JoinOptions& options)
      : listener_(std::move(listener)), options_(options) {}

  void watch(Poller& poller);
  // To be called after the poller has waited. Returns those who have proved who they are.
  [[nodiscard]] std::vector<Arrival> serve(const Poller& poller);
  // When somebody's time to say who it is ends.
  [[nodiscard]] Clock::time_point next_deadline() const;

  // Tells an arrival why it cannot stay.
  void turn_away(Arrival arrival, std::string_view why);

  // How many were turned away so far, and why others could not be accepted: "; 3 connections were
  // refused, the last …". Empty if there were none.
  [[nodiscard]] std::string refusals() const;

 private:
  struct Newcomer {
    MessageSocket socket;
    std::string address;
    Clock::time_point deadline;
    std::optional<Hello> hello{};
    std::string nonce{};
    std::size_t slot = 0;
    enum class State { greeting, arrived, gone } state = State::greeting;
  };

  void accept_all();
  void hear(Newcomer& newcomer);
  void take(Newcomer& newcomer, const Message& message);
  void challenge(Newcomer& newcomer, const Message& message);
  // Tells the other side why, unless `tell` is false: it does not speak the protocol.
  void refuse(Newcomer& newcomer, std::string_view why, bool tell);
  void note(std::string_view address, std::string_view why);
  [[nodiscard]] std::vector<Arrival> collect();

  Descriptor listener_;
  const JoinOptions& options_;
  std::vector<Newcomer> newcomers_;
  std::size_t listener_slot_ = 0;
  Clock::time_point closed_until_{};
  std::string why_closed_;
  std::size_t refused_ = 0;
  std::string last_refusal_;
  std::set<std::string> noted_;
};

}  // namespace muster::bench
