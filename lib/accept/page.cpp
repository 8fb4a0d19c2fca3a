// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "lib/accept/page_pictures.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/report/formats/page.hpp"

namespace muster::accept {
namespace {

using Json = nlohmann::ordered_json;

// How a verdict looks: a class of the style sheet, a symbol for readers who cannot tell the colours
// apart, and words.
struct Look {
  std::string_view style, sign, words;
};

constexpr std::array<Look, kNodeVerdictWords.size()> kLooks{
    Look{"wait", "…", "not finished"},
    Look{"good", "✓", "accepted"},
    Look{"note", "•", "accepted with remarks"},
    Look{"bad", "×", "rejected"},
    Look{"held", "=", "held"},
    Look{"open", "?", "not tested"},
    Look{"gone", "–", "withdrawn"}};

const Look& look_of(NodeVerdict verdict) { return kLooks.at(static_cast<std::size_t>(verdict)); }

Json badge_of(NodeVerdict verdict) {
  const auto& look = look_of(verdict);
  return {{"style", look.style}, {"sign", look.sign}, {"words", look.words}};
}

// The data of a section of the template. Without rows it is null, which leaves the section out.
Json section(Json rows) {
  return rows.empty() ? Json() : Json{{"count", std::to_string(rows.size())}, {"rows", rows}};
}

std::string value_text(const Value& value, const std::string& unit) {
  struct Writer {
    std::string operator()(std::monostate /*none*/) const { return ""; }
    std::string operator()(bool value) const { return value ? "yes" : "no"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return number_text(value); }
    std::string operator()(const std::string& value) const { return value; }
  };
  auto text = std::visit(Writer{}, value);
  return text.empty() || unit.empty() ? text : fmt::format("{} {}", text, unit);
}

std::string charge_text(Charge charge) {
  switch (charge) {
    case Charge::provider:
      return "the provider";
    case Charge::ours:
      return "the admin of the cluster";
    case Charge::open:
      return "to be decided";
    case Charge::none:
      break;
  }
  return "";
}

Json counts_of(const DeliveryCounts& counts) {
  auto rows = Json::array();
  for (const auto& [verdict, count] :
       {std::pair(NodeVerdict::accepted, counts.accepted - counts.with_remarks),
        {NodeVerdict::remarks, counts.with_remarks},
        {NodeVerdict::rejected, counts.rejected},
        {NodeVerdict::held, counts.held},
        {NodeVerdict::not_tested, counts.not_tested},
        {NodeVerdict::withdrawn, counts.withdrawn},
        {NodeVerdict::pending, counts.pending}}) {
    if (count == 0) continue;
    rows.push_back(badge_of(verdict));
    rows.back()["number"] = std::to_string(count);
  }
  return rows;
}

Json cause_of(const CardCause& cause, const NodeCard& card) {
  const auto part = std::ranges::find(card.parts, cause.device, &Part::device);
  const bool known = part != card.parts.end();
  const auto limit = value_text(cause.limit, cause.unit);
  return {{"check", cause.check},
          {"device", cause.device == "node" ? "" : cause.device},
          {"serial", known ? part->serial : ""},
          {"model", known ? part->model : ""},
          {"message", cause.message},
          {"observed", value_text(cause.observed, cause.unit)},
          {"limit", limit},
          {"source", limit.empty() ? "" : cause.source},
          {"remedy", describe(cause.remedy)},
          {"category", cause.category},
          {"other", cause.other}};
}

// Boots are numbered, because their ids are long.
void add_attempts(Json& shown, const NodeCard& card) {
  std::vector<std::string> boots;
  auto rows = Json::array();
  for (const auto& attempt : card.attempts) {
    std::string boot;
    if (!attempt.boot_id.empty()) {
      const auto known = std::ranges::find(boots, attempt.boot_id);
      boot = fmt::format("{}", known - boots.begin() + 1);
      if (known == boots.end()) boots.push_back(attempt.boot_id);
    }
    const bool same_day = attempt.started.substr(0, 10) == attempt.ended.substr(0, 10);
    const auto ended = attempt.ended.substr(same_day && !attempt.ended.empty() ? 11 : 0);
    // A node that does not answer is asked again and again.
    if (attempt.end == AttemptEnd::lost && !rows.empty() && rows.back()["end"] == "lost" &&
        rows.back()["result"] == attempt.result) {
      rows.back()["ended"] = ended;
      rows.back()["last"] = std::to_string(attempt.number);
      continue;
    }
    rows.push_back({{"started", attempt.started},
                    {"ended", ended},
                    {"stage", to_string(attempt.stage)},
                    {"number", std::to_string(attempt.number)},
                    {"last", ""},
                    {"end", to_string(attempt.end)},
                    {"bad", attempt.end == AttemptEnd::fail || attempt.end == AttemptEnd::lost},
                    {"boot", boot},
                    {"result", attempt.result}});
  }
  shown["attempts"] = section(std::move(rows));
  rows = Json::array();
  for (std::size_t i = 0; i < boots.size(); ++i) {
    rows.push_back({{"number", std::to_string(i + 1)}, {"id", boots[i]}});
  }
  shown["boots"] = section(std::move(rows));
  shown["passed"] = card.passed_slices + card.passed_rounds > 0;
  shown["passed_slices"] = counted(static_cast<std::uint64_t>(card.passed_slices), "slice");
  shown["passed_rounds"] = counted(static_cast<std::uint64_t>(card.passed_rounds), "all-reduce");
}

// Whether a card's only cause already says what `why` says.
bool explains(const NodeCard& card) {
  if (card.causes.size() != 1) return false;
  const auto& cause = card.causes.front();
  return card.why == cause.message ||
         card.why == fmt::format("{} {}: {}", cause.check, cause.device, cause.message);
}

Json card_of(const NodeCard& card) {
  Json shown{{"node", card.node},
             {"badge", badge_of(card.verdict)},
             {"charge", charge_text(card.charge)},
             {"stage", to_string(card.stage)},
             {"why", explains(card) ? "" : card.why},
             {"host", card.host == card.node ? "" : card.host},
             {"physical_host", card.physical_host},
             {"ordered_host", card.ordered_host == card.physical_host ? "" : card.ordered_host},
             {"profile", card.profile},
             {"causes", Json::array()},
             {"kernel_lines", Json()},
             {"claim", Json()}};
  for (const auto& cause : card.causes) shown["causes"].push_back(cause_of(cause, card));
  auto parts = Json::array();
  for (const auto& part : card.parts) {
    // Pairs each cause with its part.
    if (std::ranges::count(card.causes, part.device, &CardCause::device) > 0) continue;
    parts.push_back({{"device", part.device}, {"serial", part.serial}, {"model", part.model}});
  }
  shown["parts"] = section(std::move(parts));
  add_attempts(shown, card);
  auto partners = Json::array();
  for (const auto& [node, proven] : card.partners) {
    partners.push_back(
        {{"node", node}, {"proven", proven ? "proven: it was never slow itself" : "not proven"}});
  }
  shown["partners"] = section(std::move(partners));
  if (card.claim) shown["claim"] = {{"lines", split_lines(repair::claim_text(*card.claim))}};
  if (!card.kernel_lines.empty()) shown["kernel_lines"] = {{"lines", card.kernel_lines}};
  return shown;
}

// More cards would make the page too large; accept.json has all.
Json cards_of(const Delivery& delivery, NodeVerdict verdict, std::string_view id,
              std::string_view title) {
  constexpr std::size_t kMaxShown = 100;
  auto cards = Json::array();
  std::size_t count = 0;
  for (const auto& card : delivery.cards) {
    if (card.verdict == verdict && count++ < kMaxShown) cards.push_back(card_of(card));
  }
  if (count == 0) return {};
  return {{"id", id},
          {"title", title},
          {"number", std::to_string(count)},
          {"more", count > kMaxShown ? std::to_string(count - kMaxShown) : ""},
          {"cards", std::move(cards)}};
}

// Draws a mark for each node, by group.
Json map_of(const Delivery& delivery) {
  std::map<std::string, Json> groups;
  for (const auto& row : delivery.nodes) {
    const auto& look = look_of(row.verdict);
    groups[row.group].push_back({{"style", look.style},
                                 {"sign", row.verdict == NodeVerdict::accepted ? "" : look.sign},
                                 {"title", fmt::format("{}: {}", row.node, look.words)}});
  }
  auto rows = Json::array();
  for (auto& [name, marks] : groups) {
    rows.push_back({{"name", name}, {"nodes", counted(marks.size(), "node")}, {"marks", marks}});
  }
  return section(std::move(rows));
}

Json strips_of(const Delivery& delivery) {
  auto rows = Json::array();
  for (std::size_t i = 0; i < delivery.quantities.size(); ++i) {
    const auto& quantity = delivery.quantities[i];
    auto strip = strip_of(delivery, i);
    if (strip.is_null()) continue;
    strip["name"] = quantity.name;
    strip["unit"] = quantity.unit;
    strip["limit"] = quantity.limit ? number_text(*quantity.limit) : "";
    strip["fleet"] = quantity.fleet_limit ? number_text(*quantity.fleet_limit) : "";
    strip["slow"] = quantity.slow.empty() ? "" : fold_hostlist(quantity.slow);
    strip["bound"] = quantity.more_is_better ? "at least" : "at most";
    rows.push_back(std::move(strip));
  }
  return section(std::move(rows));
}

Json faults_of(const Delivery& delivery) {
  const auto& faults = delivery.faults_by_hour;
  const auto joined = (faults.size() + 47) / 48;  // hours of a bar
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (i % joined == 0) bars.push_back({.label = std::to_string(i)});
    bars.back().value += static_cast<double>(faults[i]);
  }
  auto chart = bars_of(bars, "");
  if (!chart.is_null()) chart["hours"] = joined == 1 ? "hour" : fmt::format("{} hours", joined);
  return chart;
}

Json whole_of(const Delivery& delivery) {
  std::vector<Bar> bars;
  const auto& limit = delivery.whole_limit_gbps;
  auto rows = Json::array();
  for (const auto& each : delivery.whole) {
    const bool bad = each.end == AttemptEnd::fail || (limit && each.busbw_gbps < *limit);
    bars.push_back({.value = each.busbw_gbps, .label = std::to_string(each.number), .bad = bad});
    rows.push_back({{"number", std::to_string(each.number)},
                    {"stage", to_string(each.stage)},
                    {"at", each.at},
                    {"nodes", std::to_string(each.nodes)},
                    {"end", to_string(each.end)},
                    {"value", each.busbw_gbps > 0 ? number_text(each.busbw_gbps) : ""}});
  }
  if (rows.empty()) return {};
  return {{"chart", bars_of(bars, "GB/s", limit)}, {"rounds", std::move(rows)}};
}

// Equal remarks of several nodes are one row.
Json remarks_of(const Delivery& delivery) {
  constexpr std::size_t kMaxShown = 300;
  std::map<std::string, std::vector<std::string>> nodes;
  for (const auto& row : delivery.nodes) {
    for (const auto& remark : row.remarks) nodes[remark].push_back(row.node);
  }
  auto rows = Json::array();
  for (const auto& [remark, names] : nodes) {
    if (rows.size() < kMaxShown)
      rows.push_back({{"nodes", fold_hostlist(names)}, {"text", remark}});
  }
  auto shown = section(std::move(rows));
  if (!shown.is_null()) {
    shown["more"] = nodes.size() > kMaxShown ? std::to_string(nodes.size() - kMaxShown) : "";
  }
  return shown;
}

// Numbers of judged quantities come before others.
Json table_of(const Delivery& delivery) {
  constexpr std::size_t kMaxNodesInTable = 1000, kMaxNumbers = 6;
  if (delivery.nodes.size() > kMaxNodesInTable) return {};
  std::vector<std::size_t> places(delivery.quantities.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::stable_partition(places.begin(), places.end(),
                        [&](std::size_t i) { return delivery.quantities[i].limit.has_value(); });
  places.resize(std::min(places.size(), kMaxNumbers));
  Json table{{"columns", Json::array()}, {"rows", Json::array()}};
  table["serials"] =
      std::ranges::any_of(delivery.nodes, [](const NodeRow& row) { return !row.serial.empty(); });
  for (const auto i : places) {
    const auto& quantity = delivery.quantities[i];
    const auto space = quantity.name.find(' ');
    table["columns"].push_back(
        {{"test", quantity.name.substr(0, space)},
         {"name", space == std::string::npos ? "" : quantity.name.substr(space + 1)},
         {"unit", quantity.unit}});
  }
  for (const auto& row : delivery.nodes) {
    auto values = Json::array();
    for (const auto i : places) {
      const auto& value = row.values[i];
      values.push_back({{"text", value ? number_text(*value) : "-"},
                        {"beyond", value && is_beyond(delivery.quantities[i], *value)}});
    }
    table["rows"].push_back({{"node", row.node},
                             {"badge", badge_of(row.verdict)},
                             {"physical_host", row.physical_host},
                             {"serial", row.serial},
                             {"hours", fmt::format("{:.1f}", row.soak_hours)},
                             {"values", std::move(values)}});
  }
  return table;
}

void add_basis(Json& page, const Delivery& delivery) {
  auto rows = Json::array();
  for (const auto& [group, nodes, versions] : delivery.stacks) {
    auto lines = Json::array();
    for (const auto& [what, version] : versions)
      lines.push_back({{"what", what}, {"version", version}});
    rows.push_back(
        {{"group", group}, {"nodes", std::to_string(nodes)}, {"versions", std::move(lines)}});
  }
  page["stacks"] = section(std::move(rows));
  rows = Json::array();
  for (const auto& [what, version, usual, nodes] : delivery.differing) {
    rows.push_back(
        {{"what", what}, {"version", version}, {"usual", usual}, {"nodes", fold_hostlist(nodes)}});
  }
  page["differing"] = section(std::move(rows));
  rows = Json::array();
  for (const auto& quantity : delivery.quantities) {
    if (!quantity.limit) rows.push_back({{"first", rows.empty()}, {"name", quantity.name}});
  }
  page["not_judged"] = section(std::move(rows));
  rows = Json::array();
  for (const auto& [what, reason, required, nodes] : delivery.not_observed) {
    rows.push_back({{"what", what},
                    {"reason", reason},
                    {"required", required},
                    {"nodes", nodes.empty() ? "" : fold_hostlist(nodes)}});
  }
  page["gaps"] = section(std::move(rows));
  rows = Json::array();
  for (const auto& [what, why, who, at] : delivery.overridden) {
    rows.push_back({{"what", what}, {"why", why}, {"who", who}, {"at", at}});
  }
  page["overridden"] = section(std::move(rows));
}

Json head_of(const Delivery& delivery) {
  const auto& counts = delivery.counts;
  const bool draft = delivery.state == DeliveryState::draft;
  auto terms = Json::array();
  for (const auto& [term, reached, met] : delivery.terms) {
    terms.push_back({{"term", term}, {"reached", reached}, {"met", met}, {"open", draft && !met}});
  }
  return {{"accepted", std::to_string(counts.accepted)},
          {"ordered_nodes", counted(static_cast<std::uint64_t>(counts.ordered), "node")},
          {"counts", counts_of(counts)},
          {"draft", draft},
          {"simulated", delivery.simulated},
          {"pending", counted(static_cast<std::uint64_t>(counts.pending), "node")},
          {"met", delivery.terms_verdict == TermsVerdict::met},
          {"not_met", delivery.terms_verdict == TermsVerdict::not_met},
          {"id", delivery.id},
          {"plan", delivery.plan.name},
          {"soak", fmt::format("{:.4g}", static_cast<double>(delivery.plan.soak_s) / 3600)},
          {"created", delivery.created},
          {"at", delivery.at},
          {"who", delivery.who},
          {"muster", delivery.muster},
          {"terms", std::move(terms)},
          {"stopped", delivery.stopped},
          {"left_out",
           delivery.left_out.empty() ? "" : fmt::format("{}", fmt::join(delivery.left_out, "; "))}};
}

}  // namespace

std::string accept_page(const Delivery& delivery, For whom) {
  if (whom == For::provider) return accept_page(for_provider(delivery));
  auto page = head_of(delivery);
  page["sections"] = Json::array();
  for (const auto& [verdict, id, title] :
       {std::tuple(NodeVerdict::rejected, "rejected", "Rejected"),
        {NodeVerdict::held, "held", "Held"},
        {NodeVerdict::not_tested, "not-tested", "Not tested"},
        {NodeVerdict::withdrawn, "withdrawn", "Withdrawn"}}) {
    auto cards = cards_of(delivery, verdict, id, title);
    if (!cards.is_null()) page["sections"].push_back(std::move(cards));
  }
  page["confidence"] = delivery.confidence.statement;
  page["faults"] = faults_of(delivery);
  page["map"] = map_of(delivery);
  page["strips"] = strips_of(delivery);
  page["pairs"] = delivery.pairs ? pairs_of(*delivery.pairs) : Json();
  page["whole"] = whole_of(delivery);
  page["has_fabric"] = !page["pairs"].is_null() || !page["whole"].is_null();
  page["remarks"] = remarks_of(delivery);
  page["table"] = table_of(delivery);
  add_basis(page, delivery);
  return render_page(page_template(), page);
}

}  // namespace muster::accept
