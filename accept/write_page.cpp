// SPDX-License-Identifier: Apache-2.0
#include "accept/write_page.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <string_view>
#include <vector>

#include "lib/accept/delivery.hpp"
#include "lib/accept/facts.hpp"
#include "lib/base/json_write.hpp"
#include "lib/process/child.hpp"

namespace muster::accept {

Result<void> write_page(const RunFolder& folder, const Actions& actions, std::int64_t now,
                        For whom) {
  const auto& order = folder.order();
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < order.nodes.size(); ++i) places[order.nodes[i].name] = i;
  std::vector<NodeFacts> facts(order.nodes.size());
  GroupFacts group;
  // Keeps only one answer in memory at a time.
  for (const auto& attempt : folder.results().attempts) {
    if (attempt.end == AttemptEnd::running) continue;
    TRY_ASSIGN(const auto answer, folder.answer(attempt));
    if (answer) learn(facts.at(places.at(attempt.node)), attempt, *answer);
  }
  for (const auto& attempt : folder.results().groups) {
    if (attempt.end == AttemptEnd::running) continue;
    TRY_ASSIGN(const auto answer, folder.answer(attempt));
    if (answer) learn(group, attempt, *answer);
  }
  const auto delivery = make_delivery(
      order, folder.results(), actions, facts, group,
      {.who = folder.who().empty() ? user_name(::geteuid()) : folder.who(), .now = now});
  if (whom == For::provider) {
    return folder.write("provider.html", accept_page(delivery, whom));
  }
  TRY(folder.write("accept.json", fmt::format("{}\n", to_json_line(delivery))));
  TRY(folder.write("page.html", accept_page(delivery)));
  return folder.write("accept.csv", accept_csv(delivery));
}

}  // namespace muster::accept
