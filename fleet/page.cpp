// SPDX-License-Identifier: Apache-2.0
#include "fleet/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "fleet/ask.hpp"
#include "lib/base/text.hpp"
#include "lib/command/version.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/report/formats/page.hpp"

namespace muster::fleet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxRows = 200;  // per table

// How a node looks: a class of the style sheet, a symbol for readers who cannot tell the colours
// apart, and words.
struct Look {
  std::string_view style, sign, words;
};

constexpr std::array kLooks{Look{"good", "✓", "healthy"}, Look{"bad", "×", "unhealthy"},
                            Look{"open", "?", "unknown"},
                            Look{"gone", "–", "without a new report"}};

// A node that has not reported for two days may have any verdict by now.
const Look& look_of(const NodeName& node, std::int64_t now) {
  if (node.last.value_or(0) < now - 2 * kDay_s) return kLooks[3];
  return node.verdict == "healthy"     ? kLooks[0]
         : node.verdict == "unhealthy" ? kLooks[1]
                                       : kLooks[2];
}

// The data of a section of the template. Without rows it is null, which leaves the section out.
Json section(Json rows) {
  if (rows.empty()) return {};
  const auto count = rows.size();
  if (count > kMaxRows) rows.erase(rows.begin() + kMaxRows, rows.end());
  return {{"count", std::to_string(count)},
          {"more", count > kMaxRows ? std::to_string(count - kMaxRows) : ""},
          {"rows", std::move(rows)}};
}

Json causes_of(const CausesAnswer& causes) {
  auto rows = Json::array();
  for (const auto& row : causes.rows) {
    rows.push_back({{"key", row.key},
                    {"incidents", std::to_string(row.incidents)},
                    {"lost_h", fmt::format("{:.0f}", row.lost_h)},
                    {"percent", fmt::format("{:.1f}", 100 * row.share)},
                    {"cumulated", fmt::format("{:.0f}", 100 * row.cumulated)},
                    {"mtbf", mtbf_text(row.mtbf)}});
  }
  return section(std::move(rows));
}

Json offenders_of(const std::vector<OffenderRow>& offenders) {
  auto rows = Json::array();
  for (const auto& row : offenders) {
    rows.push_back({{"kind", to_string(row.kind)},
                    {"name", row.name},
                    {"model", row.model},
                    {"incidents", std::to_string(row.incidents)},
                    {"boots", std::to_string(row.boots)},
                    {"days", fmt::format("{:.0f}", row.days)},
                    {"factor", fmt::format("{:.0f}", row.factor)},
                    {"probability", fmt::format("{:.0f}", std::floor(100 * row.probability))},
                    {"causes", fmt::format("{}", fmt::join(row.causes, ", "))},
                    {"nodes", fold_hostlist(row.nodes)}});
  }
  return section(std::move(rows));
}

Json odd_values_of(const OddAnswer& odd) {
  auto rows = Json::array();
  for (const auto& row : odd.odd_values) {
    rows.push_back({{"node", row.node},
                    {"device", row.device},
                    {"quantity", row.quantity},
                    {"value", with_unit(row.value, row.unit)},
                    {"center", number(row.center)},
                    {"share", percent(row.share)}});
  }
  return section(std::move(rows));
}

Json odd_facts_of(const OddAnswer& odd) {
  auto rows = Json::array();
  for (const auto& row : odd.odd_facts) {
    rows.push_back({{"fact", row.fact},
                    {"value", row.value},
                    {"usual", row.usual},
                    {"count", counted(row.nodes.size(), "node")},
                    {"nodes", fold_hostlist(row.nodes)}});
  }
  return section(std::move(rows));
}

Json steps_of(const DriftAnswer& drift) {
  auto rows = Json::array();
  for (const auto& step : drift.steps) {
    std::vector<std::string> shares;
    for (const auto& [quantity, share] : step.shares) {
      shares.push_back(fmt::format("{} {}", quantity, percent(share)));
    }
    rows.push_back({{"shares", fmt::format("{}", fmt::join(shares, ", "))},
                    {"day", step.day},
                    {"changes", fmt::format("{}", fmt::join(step.changes, ", "))}});
  }
  return section(std::move(rows));
}

// Draws a line through the weeks, as wide as the year.
void add_line(Json& row, const std::vector<double>& weeks) {
  constexpr double kWidth = 160, kHeight = 32, kMargin = 3;
  double low = 0, high = 0;
  for (const double week : weeks) {
    if (std::isnan(week)) continue;
    low = std::min(low, week);
    high = std::max(high, week);
  }
  if (high <= low) high = low + 1;
  const auto y_of = [&](double value) {
    return kMargin + (kHeight - 2 * kMargin) * (high - value) / (high - low);
  };
  std::string line;
  const double step = kWidth / static_cast<double>(std::max<std::size_t>(1, weeks.size() - 1));
  for (std::size_t i = 0; i < weeks.size(); ++i) {
    if (std::isnan(weeks[i])) continue;
    const bool is_first = i == 0 || std::isnan(weeks[i - 1]);
    line += fmt::format("{}{:.1f} {:.1f}", is_first ? "M" : "L", step * static_cast<double>(i),
                        y_of(weeks[i]));
  }
  row["line"] = line;
  row["zero"] = fmt::format("{:.1f}", y_of(0));
}

Json drifts_of(const DriftAnswer& drift) {
  auto rows = Json::array();
  for (const auto& each : drift.drifts) {
    Json row{{"node", each.node},
             {"device", each.device},
             {"quantity", each.quantity},
             {"share", percent(each.share)},
             {"since", each.since},
             {"then", each.current     ? ""
                      : each.recovered ? "recovered"
                                       : fmt::format("until {}", each.until)},
             {"changes", fmt::format("{}", fmt::join(each.changes, ", "))}};
    add_line(row, each.weeks);
    rows.push_back(std::move(row));
  }
  return section(std::move(rows));
}

// Draws a mark for each node, by profile. Also lists the nodes of each state except the best.
void add_nodes(Json& page, const Nodes& nodes, std::int64_t now) {
  std::map<std::string, Json> groups;
  std::map<std::string_view, std::vector<std::string>> by_words;
  std::map<std::string_view, std::size_t> counts;
  for (const auto& [id, node] : nodes) {
    const auto& look = look_of(node, now);
    const bool is_good = look.words == kLooks[0].words;
    groups[node.profile].push_back({{"style", look.style},
                                    {"sign", is_good ? "" : look.sign},
                                    {"title", fmt::format("{}: {}", node.name, look.words)}});
    ++counts[look.words];
    if (!is_good) by_words[look.words].push_back(node.name);
  }
  page["counts"] = Json::array();
  for (const auto& look : kLooks) {
    if (counts[look.words] == 0) continue;
    page["counts"].push_back({{"style", look.style},
                              {"sign", look.sign},
                              {"words", look.words},
                              {"number", std::to_string(counts[look.words])}});
  }
  page["healthy"] = std::to_string(counts[kLooks[0].words]);
  auto rows = Json::array();
  for (auto& [profile, marks] : groups) {
    rows.push_back({{"name", profile.empty() ? "without a profile" : profile},
                    {"count", counted(marks.size(), "node")},
                    {"marks", std::move(marks)}});
  }
  page["map"] = {{"rows", std::move(rows)}};
  rows = Json::array();
  for (const auto& [words, names] : by_words) {
    rows.push_back({{"words", words}, {"nodes", fold_hostlist(names)}});
  }
  page["sick"] = section(std::move(rows));
}

}  // namespace

Result<PageAnswers> ask_all(Database& database, const Nodes& nodes) {
  PageAnswers answers;
  TRY_ASSIGN(answers.causes, ask_causes(database, nodes, CausesBy::check, 0));
  TRY_ASSIGN(answers.odd, ask_odd(database, nodes));
  TRY_ASSIGN(answers.drift, ask_drift(database, nodes, 0));
  TRY_ASSIGN(answers.offenders, ask_offenders(database, nodes, newest_of(nodes)));
  return answers;
}

std::string fleet_page(const Nodes& nodes, const PageAnswers& answers, std::string_view cluster) {
  const auto& causes = answers.causes;
  Json page{{"nodes", std::to_string(nodes.size())},
            {"cluster", cluster},
            {"from", causes.from},
            {"until", causes.until},
            {"incidents", std::to_string(causes.all.incidents)},
            {"lost_h", fmt::format("{:.0f}", causes.lost_h)},
            {"mtbf", mtbf_text(causes.all)},
            {"window", std::to_string(kOffenderDays)},
            {"causes", causes_of(causes)},
            {"offenders", offenders_of(answers.offenders)},
            {"odd_values", odd_values_of(answers.odd)},
            {"odd_facts", odd_facts_of(answers.odd)},
            {"steps", steps_of(answers.drift)},
            {"drifts", drifts_of(answers.drift)},
            {"muster", kVersion}};
  add_nodes(page, nodes, newest_of(nodes));
  return render_page(page_template(), page);
}

}  // namespace muster::fleet
