// SPDX-License-Identifier: Apache-2.0
// Messages over a connected socket that never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/descriptor.hpp"

namespace muster::bench {

enum class Kind : std::uint8_t {
  hello = 1,  // to rank 0: who I am
  challenge,  // from rank 0: its proof, and what to prove
  proof,      // to rank 0
  welcome,    // from rank 0: you are in, and how long I wait for others
  refused,    // from rank 0: why not
  start,      // from rank 0: all are here
  gather,     // to rank 0: the text of a rank
  broadcast,  // from rank 0
  barrier,    // to rank 0: I am at it; from rank 0: all are
  where,      // from rank 0: which phase are you in
  here,       // to rank 0: the answer
  overdue,    // to rank 0: my phase takes too long
  give_up,    // to rank 0: I end the run
  trouble,    // from rank 0: the run has ended, and why
  goodbye,    // both ways: the end of this connection is no loss
};

// The largest text that ranks exchange and the largest message of somebody not yet known, in bytes.
inline constexpr std::size_t kMaxText = 64UL * 1024 * 1024;
inline constexpr std::size_t kMaxGreeting = 512;

struct Message {
  Kind kind{};
  std::string payload;
};

// A message as it is sent, shared by all connections it goes to.
using PackedMessage = std::shared_ptr<const std::string>;

[[nodiscard]] PackedMessage pack(Kind kind, std::string_view payload = {});

class MessageSocket {
 public:
  explicit MessageSocket(Descriptor socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }

  // Sends what the socket takes now, and keeps the rest for flush().
  void send(PackedMessage message);
  void flush();

  [[nodiscard]] bool is_sending() const { return !unsent_.empty(); }

  // Reads what has come, up to little more than one message of `max_payload` bytes. False if the
  // connection has ended; next() still returns the messages that came before.
  [[nodiscard]] bool receive(std::size_t max_payload);
  // The next whole message. One that is larger than `max_payload` makes the socket bad.
  [[nodiscard]] std::optional<Message> next(std::size_t max_payload);

  [[nodiscard]] bool is_bad() const { return bad_; }

  // Tells the other side that nothing more will be sent, and drops what has come: closing a socket
  // with unread bytes would also drop what was sent.
  void finish();

 private:
  Descriptor socket_;
  std::deque<PackedMessage> unsent_;
  std::size_t sent_ = 0;  // of the first one unsent
  std::string received_;
  std::size_t taken_ = 0;  // of what was received
  bool bad_ = false;
};

}  // namespace muster::bench
