// SPDX-License-Identifier: Apache-2.0
// The verdict on a node as two conditions of its Node object, with an event for each change.
#pragma once

#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/kubernetes/api.hpp"

namespace muster::kubernetes {

// The meaning of an exit status of `muster check`: MusterUnfit is True for an unhealthy node, and
// MusterUndecided for anything but a verdict.
[[nodiscard]] nlohmann::json conditions_for(int status, const std::string& message);

// Keeps the conditions of one Node. The API server stores the whole Node for each write, so
// conditions whose status is the same are written only every five minutes.
class NodeStatus {
 public:
  using Send = std::function<Result<std::string>(const Request&)>;

  NodeStatus(std::string name, Send send) : name_(std::move(name)), send_(std::move(send)) {}

  // Returns the conditions that changed, each of which becomes an event.
  [[nodiscard]] Result<nlohmann::json> publish(nlohmann::json wanted);

  // Sends the events of all changes. After an error the next call sends those that are left.
  [[nodiscard]] Result<void> send_events();

 private:
  [[nodiscard]] Result<void> patch(const nlohmann::json& change);
  [[nodiscard]] nlohmann::json event_of(const nlohmann::json& condition,
                                        const std::string& now) const;

  std::string name_;
  Send send_;
  nlohmann::json node_;  // the server's last answer; null before the first
  Clock::time_point written_;
  std::deque<nlohmann::json> events_;  // not yet sent, the oldest first
};

}  // namespace muster::kubernetes
