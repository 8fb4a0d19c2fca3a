// SPDX-License-Identifier: Apache-2.0
// check_net_socket: a socket is open, or with -! is not. Whose program it is, is not observed.
#include <array>
#include <string>

#include "checks/nhc_conf/judging.hpp"
#include "checks/nhc_conf/match.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

// One address as netstat and ss write it: "0.0.0.0:22" and "*:22", ":::22" and "[::]:22".
std::vector<std::string> written(const std::string& address) {
  const auto colon = address.rfind(':');
  const auto host = address.substr(0, colon);
  const auto port = address.substr(colon);
  std::vector<std::string> forms{address};
  if (host.find(':') != std::string::npos) forms.push_back(fmt::format("[{}]{}", host, port));
  if (host == "0.0.0.0" || host == "::") forms.push_back(fmt::format("*{}", port));
  if (port == ":0") forms.push_back(fmt::format("{}:*", host));
  return forms;
}

// ss says LISTEN, ESTAB and UNCONN, netstat LISTEN, ESTABLISHED and nothing.
std::vector<std::string> state_words(const std::string& state) {
  if (state == "ESTABLISHED") return {state, "ESTAB"};
  if (state.empty()) return {state, "UNCONN"};
  return {state};
}

Result<bool> any_matches(const std::string& wanted, const std::vector<std::string>& forms) {
  for (const auto& form : forms) {
    const auto found = matches(wanted, form);
    if (!found || *found) return found;
  }
  return false;
}

Result<bool> is_meant(const Socket& socket, const Options& options) {
  const std::array fields{std::pair{'p', std::vector<std::string>{socket.protocol}},
                          std::pair{'l', written(socket.local)},
                          std::pair{'r', written(socket.remote)},
                          std::pair{'s', state_words(socket.state)}};
  for (const auto& [option, forms] : fields) {
    if (!options.has(option)) continue;
    const auto found = any_matches(options.values(option).back(), forms);
    if (!found || !*found) return found;
  }
  return true;
}

}  // namespace

Findings judge_net_socket(const Snapshot& snapshot, const Arguments& arguments) {
  const auto options = read_options(arguments, "!0ad:l:n:p:r:s:t:u:e:E:");
  if (!options) return {not_judged(options.error().message)};
  if (!options->rest.empty()) return {not_judged("arguments that are no options")};
  const auto& sockets = snapshot.network->sockets;
  if (!sockets) return {checks::not_known(checks::kNode, "the list of sockets", sockets)};
  std::size_t count = 0;
  for (const auto& socket : *sockets) {
    const auto meant = is_meant(socket, *options);
    if (!meant) return {not_judged(meant.error().message)};
    if (*meant) ++count;
  }
  const std::string name =
      options->has('n') ? printable(options->values('n').back(), 80) : "matching";
  const bool more_asked = options->has('d') || options->has('t') || options->has('u');
  if (count > 0 && more_asked) {
    return {not_judged("the programs, types and users of sockets are not observed")};
  }
  const bool wanted = !options->has('!');
  auto message = fmt::format("{} {} open",
                             checks::counted(count, fmt::format("{} socket", name)),
                             count == 1 ? "is" : "are");
  if ((count > 0) == wanted) return {checks::passed(std::move(message))};
  return {{.device = std::string(checks::kNode),
           .outcome = options->has('0') ? Outcome::warn : Outcome::fail,
           .message = std::move(message),
           .remedy = Remedy::restart_service}};
}

}  // namespace muster::nhc
