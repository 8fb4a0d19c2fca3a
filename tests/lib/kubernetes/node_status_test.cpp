// SPDX-License-Identifier: Apache-2.0
#include "lib/kubernetes/node_status.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "lib/base/json.hpp"
#include "tests/support/matchers.hpp"

namespace muster::kubernetes {
namespace {

using Json = nlohmann::json;

std::vector<std::string> statuses(const Json& conditions) {
  std::vector<std::string> words;
  for (const auto& each : conditions) {
    words.push_back(each.value("type", "") + " " + each.value("status", "") + " " +
                    each.value("reason", ""));
  }
  return words;
}

// An API server with one Node: it records the requests, and merges conditions by their types.
struct FakeServer {
  std::vector<Request> requests;
  Json node = {{"status", {{"conditions", Json::array()}}}};
  std::string refuse;  // the method that fails

  Result<std::string> answer(const Request& request) {
    requests.push_back(request);
    if (request.method == refuse) return make_error("status 403");
    const auto change = Json::parse(request.body);
    if (request.method != "PATCH" || !change.contains("status")) return json_line(node);
    node["status"] = change["status"];
    return json_line(node);
  }

  NodeStatus::Send send() {
    return [this](const Request& request) { return answer(request); };
  }

  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> words;
    for (const auto& each : requests) {
      if (each.method != "POST") continue;
      const auto event = Json::parse(each.body);
      words.push_back(event.value("type", "") + " " + event.value("reason", ""));
    }
    return words;
  }
};

TEST(NodeStatusTest, AVerdictIsTwoConditions) {
  EXPECT_THAT(statuses(conditions_for(0, "")),
              ElementsAre("MusterUnfit False NoFinding", "MusterUndecided False NoFinding"));
  EXPECT_THAT(statuses(conditions_for(1, "")),
              ElementsAre("MusterUnfit True MusterUnfit", "MusterUndecided False NoFinding"));
}

TEST(NodeStatusTest, NothingButAVerdictIsShownAsHealthy) {
  for (const int status : {2, 64, 78, 126, 137, -1}) {
    EXPECT_THAT(
        statuses(conditions_for(status, "")),
        ElementsAre("MusterUnfit Unknown MusterUndecided", "MusterUndecided True MusterUndecided"));
  }
}

TEST(NodeStatusTest, WritesConditionsAndOneEventForEachChange) {
  FakeServer server;
  NodeStatus node("gpu-0", server.send());
  EXPECT_EQ(node.publish(conditions_for(1, "ib.rate"))->size(), 2U);
  EXPECT_TRUE(node.send_events());
  EXPECT_THAT(server.events(), ElementsAre("Warning MusterUnfit", "Normal NoFinding"));
  EXPECT_EQ(server.requests[1].path, "/api/v1/nodes/gpu-0/status");
  EXPECT_THAT(server.requests[2].body, HasSubstr("MusterUnfit is True: ib.rate"));
}

TEST(NodeStatusTest, WritesNothingWhileNothingChanges) {
  FakeServer server;
  NodeStatus node("gpu-0", server.send());
  ASSERT_TRUE(node.publish(conditions_for(0, "")));
  const auto before = server.requests.size();
  EXPECT_EQ(node.publish(conditions_for(0, "another text"))->size(), 0U);
  EXPECT_EQ(server.requests.size(), before);
}

TEST(NodeStatusTest, ANewAgentKeepsTheTimeOfAConditionThatDidNotChange) {
  FakeServer server;
  server.node["status"]["conditions"] = {{{"type", "MusterUnfit"},
                                          {"status", "True"},
                                          {"lastTransitionTime", "2026-11-20T12:00:00Z"}}};
  NodeStatus node("gpu-0", server.send());
  EXPECT_EQ(node.publish(conditions_for(1, ""))->size(), 1U);
  EXPECT_TRUE(node.send_events());
  EXPECT_EQ(server.node["status"]["conditions"][0]["lastTransitionTime"], "2026-11-20T12:00:00Z");
  EXPECT_THAT(server.events(), ElementsAre("Normal NoFinding"));
}

TEST(NodeStatusTest, TriesAgainWhatTheServerRefused) {
  FakeServer server{.refuse = "PATCH"};
  NodeStatus node("gpu-0", server.send());
  EXPECT_FALSE(node.publish(conditions_for(1, "")));
  server.refuse = "";
  EXPECT_EQ(node.publish(conditions_for(1, ""))->size(), 2U);
}

TEST(NodeStatusTest, SendsAnEventThatTheServerRefusedOnceMore) {
  FakeServer server{.refuse = "POST"};
  NodeStatus node("gpu-0", server.send());
  EXPECT_EQ(node.publish(conditions_for(1, ""))->size(), 2U);
  EXPECT_FALSE(node.send_events());
  server.refuse = "";
  server.requests.clear();
  EXPECT_EQ(node.publish(conditions_for(1, ""))->size(), 0U);
  EXPECT_TRUE(node.send_events());
  EXPECT_TRUE(node.send_events());
  EXPECT_THAT(server.events(), ElementsAre("Warning MusterUnfit", "Normal NoFinding"));
}

TEST(NodeStatusTest, KeepsTheLatestOfManyRefusedEvents) {
  FakeServer server{.refuse = "POST"};
  NodeStatus node("gpu-0", server.send());
  for (int round = 0; round < 12; ++round) {
    EXPECT_TRUE(node.publish(conditions_for(round % 2, "")));
    EXPECT_FALSE(node.send_events());
  }
  server.refuse = "";
  server.requests.clear();
  EXPECT_TRUE(node.send_events());
  EXPECT_EQ(server.events().size(), 10U);
  EXPECT_EQ(server.events().back(), "Warning MusterUnfit");
}

TEST(NodeStatusTest, NamesTheRequestWhoseAnswerIsNotANode) {
  for (const auto* answer : {"<html>", "", "[1]"}) {
    NodeStatus node("gpu-0", [&](const Request&) -> Result<std::string> { return answer; });
    const auto published = node.publish(conditions_for(0, ""));
    ASSERT_FALSE(published);
    EXPECT_EQ(published.error().message,
              fmt::format("PATCH /api/v1/nodes/gpu-0/status: the answer is not a JSON object: {}",
                          answer));
  }
}

}  // namespace
}  // namespace muster::kubernetes
