// SPDX-License-Identifier: Apache-2.0
#include "lib/kubernetes/node_status.hpp"

#include <fmt/format.h>

#include <chrono>

#include "lib/base/json.hpp"
#include "lib/report/report.hpp"

namespace muster::kubernetes {
namespace {

using Json = nlohmann::json;

constexpr auto* kUnfit = "MusterUnfit";
constexpr auto* kUndecided = "MusterUndecided";
constexpr auto* kNoFinding = "NoFinding";
constexpr auto* kStatus = "status";
constexpr auto* kSince = "lastTransitionTime";

// The condition as the node has it; an empty object if it has none.
Json condition_on(const Json& node, const Json& type) {
  const auto status = node.value(kStatus, Json::object());
  for (const auto& each : status.value("conditions", Json::array())) {
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
  return put(node_, send_({.method = "PATCH",
                           .path = fmt::format("/api/v1/nodes/{}/status", name_),
                           .content = "application/strategic-merge-patch+json",
                           .body = json_line(change)})
                        .and_then(parse_json));
}

Result<void> NodeStatus::create_event(const Json& condition, const std::string& now) {
  const auto text = [&](const char* key) { return condition.value(key, ""); };
  // As for the kubelet's events, the UID is the name: kubectl describe node finds them by it.
  const Json node{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", name_}, {"uid", name_}};
  const Json event{
      {"metadata", {{"generateName", "muster-"}, {"namespace", "default"}}},
      {"involvedObject", node},
      {"type", text(kStatus) == "True" ? "Warning" : "Normal"},
      {"reason", text("reason")},
      {"message", fmt::format("{} is {}: {}", text("type"), text(kStatus), text("message"))},
      {"source", {{"component", "muster"}, {"host", name_}}},
      {"firstTimestamp", now},
      {"lastTimestamp", now},
      {"count", 1}};
  TRY(send_({.method = "POST",
             .path = "/api/v1/namespaces/default/events",
             .content = "application/json",
             .body = json_line(event)}));
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
  for (const auto& each : changed) TRY(create_event(each, now));
  return changed;
}

}  // namespace muster::kubernetes
