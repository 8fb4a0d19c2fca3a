// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/syslog.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "lib/base/descriptor.hpp"

namespace muster::app {
namespace {

constexpr std::string_view kSocket = "/dev/log";

// Nothing here waits: neither the connection nor the message.
bool send_as(int type, const sockaddr_un& address, std::string_view message) {
  const Descriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  return socket.is_open() && ::connect(socket.get(), where, sizeof address) == 0 &&
         ::send(socket.get(), message.data(), message.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(message.size());
}

}  // namespace

bool write_syslog(const std::string& socket, int priority, std::string_view line) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) return false;
  socket.copy(static_cast<char*>(address.sun_path), socket.size());
  // Without a time: the receiver adds it, and local time would have to be read from a file.
  auto message = fmt::format("<{}>muster[{}]: {}", LOG_DAEMON | priority, ::getpid(), line);
  if (send_as(SOCK_DGRAM, address, message)) return true;
  if (errno != EPROTOTYPE) return false;
  message.push_back('\0');  // ends a message in a stream
  return send_as(SOCK_STREAM, address, message);
}

void log_event(const slurm::Event& event) {
  constexpr std::array<std::string_view, 4> kGrave{"trouble", "refused", "stopped", "confirmed"};
  const bool grave = std::ranges::find(kGrave, event.kind) != kGrave.end();
  const int priority = grave ? LOG_WARNING : LOG_NOTICE;
  static_cast<void>(write_syslog(std::string(kSocket), priority, slurm::summary(event)));
}

void log_warning(const std::string& line) {
  static_cast<void>(write_syslog(std::string(kSocket), LOG_WARNING, line));
}

}  // namespace muster::app
