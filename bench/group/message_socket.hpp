// SPDX-License-Identifier: Apache-2.0
// Messages over a connected, non-blocking socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/descriptor.hpp"

namespace muster::bench {

enum class Kind : std::uint8_t {
  start = 1,  // from rank 0: all are here
  gather,     // to rank 0: the text of a rank
  broadcast,  // from rank 0
  barrier,    // to rank 0: I have reached it; from rank 0: all have
  where,      // from rank 0: which phase are you in
  here,       // to rank 0: the answer
  overdue,    // to rank 0: my phase takes too long
  give_up,    // to rank 0: I end the run
  trouble,    // from rank 0: the run has ended, and why
  goodbye,    // both ways: this connection ends without a loss
};

// The largest text that ranks exchange, in bytes.
inline constexpr std::size_t kMaxText = 64UL * 1024 * 1024;

struct Message {
  Kind kind{};
  std::string payload;
};

// A message as it is sent, shared by all connections that it goes to.
using PackedMessage = std::shared_ptr<const std::string>;

[[nodiscard]] PackedMessage pack(Kind kind, std::string_view payload = {});

class MessageSocket {
 public:
  explicit MessageSocket(Descriptor socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }

  // Sends what the socket accepts now and keeps the rest for flush().
  void send(PackedMessage message);
  void flush();

  [[nodiscard]] bool is_sending() const { return !unsent_.empty(); }

  // Reads what has arrived. Returns false if the connection has ended; next() still returns the
  // messages that came before.
  [[nodiscard]] bool receive();
  // The next whole message. A malformed one makes the socket bad.
  [[nodiscard]] std::optional<Message> next();

  [[nodiscard]] bool is_bad() const { return bad_; }

  // Ends sending and discards what has arrived: closing a socket with unread bytes would also
  // discard what was sent.
  void finish();

 private:
  Descriptor socket_;
  std::deque<PackedMessage> unsent_;
  std::size_t sent_ = 0;  // bytes of unsent_.front()
  std::string received_;
  std::size_t consumed_ = 0;  // bytes of received_
  bool bad_ = false;
};

}  // namespace muster::bench
