// SPDX-License-Identifier: Apache-2.0
#include "bench/group/message_socket.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace muster::bench {
namespace {

// All ranks are machines of one kind, so numbers are sent as they are in memory.
constexpr std::size_t kLength = sizeof(std::uint32_t);
constexpr std::size_t kHeader = kLength + 1;  // and the kind

}  // namespace

PackedMessage pack(Kind kind, std::string_view payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  std::string message(kHeader, static_cast<char>(kind));
  std::memcpy(message.data(), &length, kLength);
  message.append(payload);
  return std::make_shared<const std::string>(std::move(message));
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
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) {
      // The other side is gone. What it sent before can still be read.
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

bool MessageSocket::receive() {
  std::array<char, 64UL * 1024> buffer;
  while (received_.size() - consumed_ < kMaxText + kHeader) {
    const auto count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) return false;
    received_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<Message> MessageSocket::next() {
  const auto rest = std::string_view(received_).substr(consumed_);
  if (bad_ || rest.size() < kHeader) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, rest.data(), kLength);
  const auto kind = static_cast<Kind>(rest[kLength]);
  if (length > kMaxText || kind < Kind::start || kind > Kind::goodbye) {
    bad_ = true;
    return std::nullopt;
  }
  if (rest.size() < kHeader + length) return std::nullopt;
  Message message{.kind = kind, .payload = std::string(rest.substr(kHeader, length))};
  consumed_ += kHeader + length;
  if (consumed_ > received_.size() / 2) {
    received_.erase(0, consumed_);
    consumed_ = 0;
  }
  return message;
}

void MessageSocket::finish() {
  constexpr std::size_t kMax = 64UL * 1024;
  ::shutdown(socket_.get(), SHUT_WR);
  std::array<char, kMax> discarded;
  [[maybe_unused]] const auto count =
      ::recv(socket_.get(), discarded.data(), discarded.size(), MSG_DONTWAIT);
}

}  // namespace muster::bench
