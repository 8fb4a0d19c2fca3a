// SPDX-License-Identifier: Apache-2.0
// A fake of NCCL's RAS service: gives every client the same answer.
#pragma once

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "bench/sockets/sockets.hpp"

namespace muster::fakes {

class Ras {
 public:
  // With `hangs` it sends no more after the answer, but keeps the connection open.
  explicit Ras(std::string answer, bool hangs = false)
      : answer_(std::move(answer)),
        hangs_(hangs),
        listener_(bench::listen_on({.host = "127.0.0.1", .port = 0}).value()),
        thread_([this] { serve(); }) {}

  Ras(const Ras&) = delete;
  Ras& operator=(const Ras&) = delete;

  ~Ras() {
    ended_ = true;
    thread_.join();
  }

  [[nodiscard]] std::string address() const {
    return fmt::format("127.0.0.1:{}", bench::port_of(listener_).value());
  }

  // All that was asked.
  [[nodiscard]] std::string asked() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return asked_;
  }

 private:
  [[nodiscard]] bool wait_for(int descriptor) const {
    while (!ended_) {
      pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
      if (::poll(&one, 1, 20) > 0) return true;
    }
    return false;
  }

  void serve() {
    bench::Address from;
    while (wait_for(listener_.get())) {
      const auto client = bench::accept_one(listener_.get(), from);
      if (!client.is_open()) continue;
      std::array<char, 256> part{};
      while (!asked_.ends_with("STATUS\n") && wait_for(client.get())) {
        const auto got = ::recv(client.get(), part.data(), part.size(), 0);
        if (got <= 0) break;
        asked_.append(part.data(), static_cast<std::size_t>(got));
      }
      (void)::send(client.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
      while (hangs_ && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  std::string answer_;
  bool hangs_;
  Descriptor listener_;
  std::string asked_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace muster::fakes
