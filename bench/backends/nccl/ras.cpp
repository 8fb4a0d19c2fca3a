// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/ras.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include "bench/backends/nccl/log.hpp"
#include "bench/sockets/sockets.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kVariable = "NCCL_RAS_ADDR";

// "localhost:28028", or with a numeric address. A name server is not asked: it may take long.
std::optional<Address> address_in(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  const bool numeric = host.find_first_not_of("0123456789abcdefABCDEF.:") == std::string_view::npos;
  const auto where = parse_endpoint(fmt::format("{} {}", host, text.substr(colon + 1)));
  if (!numeric || !where) return std::nullopt;
  const auto addresses = resolve(*where);
  if (!addresses || addresses->empty()) return std::nullopt;
  return addresses->front();
}

bool wait_for(int socket, short event, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left <= left.zero()) return false;
    pollfd one{.fd = socket, .events = event, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool send_all(int socket, std::string_view words, Clock::time_point until) {
  if (!wait_for(socket, POLLOUT, until)) return false;
  const auto sent = ::send(socket, words.data(), words.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(words.size());
}

// All until the other side hangs up, or what there is of it by then.
std::string read_all(int socket, Clock::time_point until) {
  constexpr std::size_t kMost = 1UL << 20;
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < kMost && wait_for(socket, POLLIN, until)) {
    const auto got = ::recv(socket, part.data(), part.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

void choose_ras_address() {
  if (!variable(kVariable).empty()) return;
  const auto listener = listen_on({.host = "127.0.0.1", .port = 0});
  const auto port = listener ? port_of(*listener) : Result<std::uint16_t>(0);
  if (!port || *port == 0) return;
  set_variable(kVariable, fmt::format("127.0.0.1:{}", *port));
}

std::string ask_ras(Clock::duration limit) {
  const auto until = Clock::now() + limit;
  const auto where = address_in(variable(kVariable));
  if (!where) return {};
  const auto socket = start_connecting(*where);
  // It waits one second for processes that do not answer it.
  constexpr std::string_view kQuestion = "CLIENT PROTOCOL 2\nTIMEOUT 1\nSTATUS\n";
  if (!socket || !send_all(socket->get(), kQuestion, until)) return {};
  const auto answer = read_all(socket->get(), until);
  return answer.starts_with("SERVER PROTOCOL ") ? trouble_in_ras_answer(answer) : "";
}

std::string trouble_in_ras_answer(std::string_view answer) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> sentences;
  bool told = false;
  for (const auto line : split_lines(answer)) {
    if (line == "Errors" || line == "Warnings") told = true;
    // Headings begin in the first column.
    if (!told || !line.starts_with(' ')) continue;
    sentences.push_back(printable(trim(line)));
  }
  const auto more = sentences.size() - std::min(sentences.size(), kMost);
  sentences.resize(sentences.size() - more);
  if (more > 0) sentences.push_back(fmt::format("and {} lines more", more));
  return fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace muster::bench
