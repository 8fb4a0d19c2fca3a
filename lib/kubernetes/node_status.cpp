// SPDX-License-Identifier: Apache-2.0
#include "lib/kubernetes/node_status.hpp"

#include <fmt/format.h>

#include <chrono>

#include "lib/base/json.hpp"
#include "lib/base/text.hpp"
#include "lib/report/report.hpp"

namespace muster::kubernetes {
namespace {

using Json = nlohmann::json;

constexpr auto* kUnfit = "MusterUnfit";
constexpr auto* kUndecided = "MusterUndecided";
constexpr auto* kNoFinding = "NoFinding";
constexpr auto* kStatus = "status";
constexpr auto* kSince = "lastTransitionTime";
constexpr std::size_t kMostEvents = 10;  // that wait for a server which refuses them

// The condition as the node has it; an empty object if it has none.
Json condition_on(const Json& node, const Json& type) {
  const Json::json_pointer place("/status/conditions");
  for (const auto& each : node.value(place, Json::array())) {
    if (each.value("type", Json()) == type) return each;
  }
  return Json::object();
}

}  // namespace

Json conditions_for(int status, const std::string& message) {
  const bool unfit = status == kExitUnhealthy;
  const bool judged = unfit || status == kExitHealthy;
  const auto condition = [&](const char* type, const char* value, const char* reason) {
    return Json{{"type", type}, {kStatus, value}, {"reason", reason}, {"message", message}};
  };
  const auto* const reason = unfit ? kUnfit : judged ? kNoFinding : kUndecided;
  return {condition(kUnfit,
                    unfit    ? "True"
                    : judged ? "False"
                             : "Unknown",
                    reason),
          condition(kUndecided, judged ? "False" : "True", judged ? kNoFinding : kUndecided)};
}

Result<void> NodeStatus::patch(const Json& change) {
  const auto path = fmt::format("/api/v1/nodes/{}/status", name_);
  TRY_ASSIGN(const auto answer, send_({.method = "PATCH",
                                       .path = path,
                                       .content = "application/strategic-merge-patch+json",
                                       .body = json_line(change)}));
  auto node = parse_json(answer);
  if (!node || !node->is_object()) {
    return make_error("PATCH {}: the answer is not a JSON object: {}", path, printable(answer, 80));
  }
  node_ = std::move(*node);
  return {};
}

Json NodeStatus::event_of(const Json& condition, const std::string& now) const {
  const auto text = [&](const char* key) { return condition.value(key, ""); };
  // The UID is the node's name, as in the kubelet's events: kubectl describe node finds events by
  // it.
  const Json node{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", name_}, {"uid", name_}};
  return Json{
      {"metadata", {{"generateName", "muster-"}, {"namespace", "default"}}},
      {"involvedObject", node},
      {"type", text(kStatus) == "True" ? "Warning" : "Normal"},
      {"reason", text("reason")},
      {"message", fmt::format("{} is {}: {}", text("type"), text(kStatus), text("message"))},
      {"source", {{"component", "muster"}, {"host", name_}}},
      {"firstTimestamp", now},
      {"lastTimestamp", now},
      {"count", 1}};
}

Result<void> NodeStatus::send_events() {
  for (; !events_.empty(); events_.pop_front()) {
    TRY(send_({.method = "POST",
               .path = "/api/v1/namespaces/default/events",
               .content = "application/json",
               .body = json_line(events_.front())}));
  }
  return {};
}

Result<Json> NodeStatus::publish(Json wanted) {
  // An empty patch returns the node, and needs no permission to read nodes.
  if (node_.is_null()) TRY(patch(Json::object()));
  const auto now = utc_now();
  auto changed = Json::array();
  for (auto& each : wanted) {
    const auto old = condition_on(node_, each["type"]);
    const bool same = old.value(kStatus, Json()) == each[kStatus];
    if (!same) changed.push_back(each);
    each["lastHeartbeatTime"] = now;
    each[kSince] = same ? old.value(kSince, now) : now;
  }
  if (changed.empty() && Clock::now() < written_ + std::chrono::minutes(5)) return changed;
  TRY(patch({{kStatus, {{"conditions", wanted}}}}));
  written_ = Clock::now();
  for (const auto& each : changed) events_.push_back(event_of(each, now));
  while (events_.size() > kMostEvents) events_.pop_front();
  return changed;
}

}  // namespace muster::kubernetes
