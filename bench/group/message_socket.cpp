// SPDX-License-Identifier: Apache-2.0
#include "bench/group/message_socket.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "bench/group/bytes.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kHeader = 5;  // length, kind

bool would_block() { return errno == EAGAIN; }

}  // namespace

PackedMessage pack(Kind kind, std::string_view payload) {
  Writer writer;
  writer.number(payload.size(), 4).number(static_cast<std::uint8_t>(kind), 1).raw(payload);
  return std::make_shared<const std::string>(writer.take());
}

void MessageSocket::send(PackedMessage message) {
  unsent_.push_back(std::move(message));
  if (unsent_.size() == 1) flush();
}

void MessageSocket::flush() {
  while (!unsent_.empty()) {
    const auto rest = std::string_view(*unsent_.front()).substr(sent_);
    const auto sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && would_block()) return;
    if (sent < 0) {
      // Nobody listens any more. What the other one said before is still to be read.
      unsent_.clear();
      sent_ = 0;
      return;
    }
    sent_ += static_cast<std::size_t>(sent);
    if (sent_ < unsent_.front()->size()) continue;
    unsent_.pop_front();
    sent_ = 0;
  }
}

bool MessageSocket::receive(std::size_t max_payload) {
  constexpr std::size_t kMost = 64UL * 1024;
  std::array<char, kMost> buffer;
  while (received_.size() - taken_ < max_payload + kHeader) {
    const auto wanted = std::min(kMost, max_payload + kHeader - (received_.size() - taken_));
    const auto count = ::recv(socket_.get(), buffer.data(), wanted, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && would_block()) return true;
    if (count <= 0) return false;
    received_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<Message> MessageSocket::next(std::size_t max_payload) {
  const auto rest = std::string_view(received_).substr(taken_);
  if (bad_ || rest.size() < kHeader) return std::nullopt;
  std::uint64_t length = 0;
  std::uint8_t kind = 0;
  Reader(rest.substr(0, kHeader)).number(length, 4).number(kind, 1);
  if (length > max_payload || kind < static_cast<std::uint8_t>(Kind::hello) ||
      kind > static_cast<std::uint8_t>(Kind::goodbye)) {
    bad_ = true;
    return std::nullopt;
  }
  if (rest.size() < kHeader + length) return std::nullopt;
  Message message{.kind = static_cast<Kind>(kind),
                  .payload = std::string(rest.substr(kHeader, length))};
  taken_ += kHeader + length;
  if (taken_ == received_.size()) {
    received_.clear();
    taken_ = 0;
  } else if (taken_ > received_.size() / 2) {
    received_.erase(0, taken_);
    taken_ = 0;
  }
  return message;
}

void MessageSocket::finish() {
  ::shutdown(socket_.get(), SHUT_WR);
  received_.clear();
  taken_ = 0;
  [[maybe_unused]] const bool open = receive(kMaxGreeting * 128);
}

}  // namespace muster::bench
