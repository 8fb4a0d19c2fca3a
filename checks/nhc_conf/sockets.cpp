// SPDX-License-Identifier: Apache-2.0
// check_net_socket: a socket is open, or with -! is not.
#include <algorithm>
#include <optional>
#include <string>

#include "checks/nhc_conf/match.hpp"
#include "checks/nhc_conf/options.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kSocketOptions = "!0ad:l:n:p:r:s:t:u:e:E:";

// One address as netstat and ss write it: "0.0.0.0:22" and "*:22", ":::22" and "[::]:22".
std::vector<std::string> written(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return {address};  // of a unix socket
  const auto host = address.substr(0, colon);
  const auto port = address.substr(colon);
  std::vector<std::string> forms{address};
  if (host.find(':') != std::string::npos) forms.push_back(fmt::format("[{}]{}", host, port));
  if (host == "0.0.0.0" || host == "::") forms.push_back(fmt::format("*{}", port));
  if (port == ":0") forms.push_back(fmt::format("{}:*", host));
  return forms;
}

// ss says LISTEN, ESTAB and UNCONN; netstat LISTEN, ESTABLISHED and nothing, and of unix sockets
// LISTENING and CONNECTED.
std::vector<std::string> state_words(const std::string& state) {
  if (state == "ESTABLISHED") return {state, "ESTAB"};
  if (state.empty()) return {state, "UNCONN"};
  if (state == "LISTENING") return {state, "LISTEN"};
  if (state == "CONNECTED") return {state, "ESTAB"};
  return {state};
}

Result<bool> any_matches(const std::string& wanted, const std::vector<std::string>& forms) {
  for (const auto& form : forms) {
    const auto found = matches(wanted, form);
    if (!found || *found) return found;
  }
  return false;
}

// NHC calls the program of a socket that no process has open so.
std::vector<std::string> programs_of(const Socket& socket) {
  return socket.programs->empty() ? std::vector<std::string>{"unknown"} : *socket.programs;
}

// The names of the user, or his number where etc/passwd has none; empty for a socket of nobody.
std::vector<std::string> users_of(const Snapshot& snapshot, const Socket& socket) {
  if (!socket.user) return {""};
  std::vector<std::string> names;
  for (const auto& [name, id] : *snapshot.processes->users) {
    if (id == *socket.user) names.push_back(name);
  }
  if (names.empty()) names.push_back(std::to_string(*socket.user));
  return names;
}

// What the value of an option is matched with; nothing for one that tells no sockets apart.
std::optional<std::vector<std::string>> forms_of(const Snapshot& snapshot, const Socket& socket,
                                                 char option) {
  if (option == 'p') return std::vector{socket.protocol};
  if (option == 'l') return written(socket.local);
  if (option == 'r') return written(socket.remote);
  if (option == 's') return state_words(socket.state);
  if (option == 't') return std::vector{socket.type};
  if (option == 'd') return programs_of(socket);
  if (option == 'u') return users_of(snapshot, socket);
  return std::nullopt;
}

Result<bool> is_meant(const Snapshot& snapshot, const Socket& socket, const Options& options) {
  for (const auto& [option, values] : options.given) {
    const auto forms = forms_of(snapshot, socket, option);
    if (!forms) continue;
    const auto found = any_matches(values.back(), *forms);
    if (!found || !*found) return found;
  }
  return true;
}

// What a line asks for and nobody observed; nothing where all is there.
std::optional<Finding> not_seen(const Snapshot& snapshot, const Options& options) {
  const auto& sockets = snapshot.network->sockets;
  if (!sockets) return checks::not_known(checks::kNode, "the list of sockets", sockets);
  if (options.has('u') && !snapshot.processes->users) {
    return checks::not_known(checks::kNode, "the names of users", snapshot.processes->users);
  }
  const auto unseen =
      std::ranges::find_if(*sockets, [](const Socket& socket) { return !socket.programs.known(); });
  if (!options.has('d') || unseen == sockets->end()) return std::nullopt;
  return checks::not_known(checks::kNode, "the program of a socket", unseen->programs);
}

bool asks_for_users(const Arguments& arguments) {
  const auto options = read_options(arguments, kSocketOptions);
  return options && options->has('u');
}

Findings judge_net_socket(const Snapshot& snapshot, const Arguments& arguments) {
  const auto options = read_options(arguments, kSocketOptions);
  if (!options) return {not_judged(options.error().message)};
  if (!options->rest.empty()) return {not_judged("arguments that are no options")};
  constexpr std::string_view kCriteria = "plrstdu";
  const bool asks = std::ranges::any_of(kCriteria, [&](char each) { return options->has(each); });
  if (!asks) return {not_judged("the line does not say which socket is meant")};
  if (auto finding = not_seen(snapshot, *options)) return {*std::move(finding)};
  std::size_t count = 0;
  for (const auto& socket : *snapshot.network->sockets) {
    const auto meant = is_meant(snapshot, socket, *options);
    if (!meant) return {not_judged(meant.error().message)};
    if (*meant) ++count;
  }
  const auto name = options->has('n') ? printable(options->value('n'), 80) : "matching";
  const bool wanted = !options->has('!');
  auto message = fmt::format("{} {} open", checks::counted(count, fmt::format("{} socket", name)),
                             count == 1 ? "is" : "are");
  if ((count > 0) == wanted) return {checks::passed(std::move(message))};
  return {softened(failed(std::move(message), Remedy::restart_service), options->has('0'))};
}

}  // namespace

std::vector<Row> socket_rows() {
  auto row = judged("check_net_socket", judge_net_socket, Probe::network, 1);
  row.asks_for_users = asks_for_users;
  return {std::move(row)};
}

}  // namespace muster::nhc
