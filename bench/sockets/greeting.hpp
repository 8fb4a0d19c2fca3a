// SPDX-License-Identifier: Apache-2.0
// The handshake between two ranks: one greeting each way, with proof that the sender has the job's
// secret. A stranger that connects costs at most a few hundred bytes and a few seconds.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sockets/poller.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// 32 random bytes as hexadecimal digits.
[[nodiscard]] Result<std::string> random_secret();

// One end of a connection.
struct Identity {
  int rank = 0;
  int ranks = 1;
  std::string secret;  // shared by the job; without one, ranks are trusted
  std::string name;    // for messages
};

[[nodiscard]] Result<void> send_greeting(int socket, const Identity& self, int to);
// Waits for the answer. The reason if rank `from` refuses this one, else an empty text.
[[nodiscard]] Result<std::string> receive_answer(int socket, const Identity& self, int from,
                                                 Clock::time_point deadline);

// A rank that has proven to be one of the job.
struct Arrival {
  int rank = 0;
  std::string name;
  std::string address;
  Descriptor socket;
};

// Receives the greetings of all processes that connect to a listener, and refuses strangers.
class Doorkeeper {
 public:
  // `limit` is how long a greeting may take. `log` is called once for each distinct refusal.
  Doorkeeper(Descriptor listener, Identity self, Clock::duration limit,
             std::function<void(std::string_view)> log);

  void watch(Poller& poller);
  // Call this after poller.wait(). Answer each arrival with admit() or refuse().
  [[nodiscard]] std::vector<Arrival> serve(const Poller& poller);
  [[nodiscard]] Clock::time_point next_deadline() const;

  void admit(const Arrival& arrival) const;
  void refuse(const Arrival& arrival, std::string_view why);

  // "; 3 connections were refused, the last from …", and why accept() failed; empty if neither
  // happened.
  [[nodiscard]] std::string refusals() const;

 private:
  struct Newcomer {
    Descriptor socket;
    std::string address;
    Clock::time_point deadline;
    std::string received{};
    std::size_t slot = 0;
    std::optional<Arrival> arrival{};
  };

  void accept_all();
  void receive(Newcomer& newcomer);
  void examine(Newcomer& newcomer);
  void drop(Newcomer& newcomer, std::string_view why);
  void record(std::string_view address, std::string_view why);

  Descriptor listener_;
  Identity self_;
  Clock::duration limit_;
  std::function<void(std::string_view)> log_;
  std::vector<Newcomer> newcomers_;
  std::size_t listener_slot_ = 0;
  Clock::time_point paused_until_{};
  std::string accept_error_;
  std::size_t refused_ = 0;
  std::string last_refusal_;
  std::set<std::string> logged_;
};

}  // namespace muster::bench
