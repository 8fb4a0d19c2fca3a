// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/ras.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "bench/backends/nccl/log.hpp"
#include "bench/sockets/sockets.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr const char* kVariable = "NCCL_RAS_ADDR";

// Not a host name: a name server may take long to answer.
std::optional<Endpoint> numeric_endpoint(std::string_view text) {
  auto where = parse_endpoint(text);
  if (!where) return std::nullopt;
  if (where->host == "localhost") where->host = "127.0.0.1";
  const bool numeric =
      where->host.find_first_not_of("0123456789abcdefABCDEF.:") == std::string::npos;
  return numeric ? std::optional(*where) : std::nullopt;
}

// All bytes until the other side closes the connection, or those that came by `until`.
std::string read_all(int socket, Clock::time_point until) {
  constexpr std::size_t kMax = 1UL << 20;
  std::string text;
  char byte = 0;
  while (text.size() < kMax &&
         transfer({}, {.socket = socket, .bytes = std::as_writable_bytes(std::span(&byte, 1))},
                  &until)) {
    text.push_back(byte);
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
  // The service waits one second for processes that do not answer it.
  constexpr std::string_view kQuestion = "CLIENT PROTOCOL 2\nTIMEOUT 1\nSTATUS\n";
  const auto until = Clock::now() + limit;
  const auto where = numeric_endpoint(variable(kVariable));
  if (!where) return {};
  const auto socket = connect_once(*where, until, limit);
  if (!socket) return {};
  const auto question = std::as_bytes(std::span(kQuestion));
  if (!transfer({.socket = socket->get(), .bytes = question}, {}, &until)) return {};
  const auto answer = read_all(socket->get(), until);
  return answer.starts_with("SERVER PROTOCOL ") ? trouble_in_ras_answer(answer) : "";
}

std::string trouble_in_ras_answer(std::string_view answer) {
  constexpr std::size_t kMax = 12;
  std::vector<std::string> sentences;
  bool reached = false;
  for (const auto line : split_lines(answer)) {
    if (line == "Errors" || line == "Warnings") reached = true;
    if (!reached || !line.starts_with(' ')) continue;  // headings are not indented
    sentences.push_back(printable(trim(line)));
  }
  const auto more = sentences.size() - std::min(sentences.size(), kMax);
  sentences.resize(sentences.size() - more);
  if (more > 0) sentences.push_back(fmt::format("and {} more lines", more));
  return fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace muster::bench
