// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/controller.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::slurm {
namespace {

// The error of a scontrol that lacks the field to update.
constexpr std::string_view kAborted = "Request aborted";

std::string make_nonce() {
  std::uint32_t nonce = 0;
  if (::getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce) {
    nonce = static_cast<std::uint32_t>(Clock::now().time_since_epoch().count() ^ ::getpid());
  }
  return fmt::format("{:08x}", nonce);
}

Result<NodeState> node_named(const std::vector<NodeState>& nodes, std::string_view name) {
  const auto* const found = find_node(nodes, name);
  if (found != nullptr) return *found;
  return make_missing(fmt::format("no Slurm partition has a node {}", name));
}

class ControlPrograms final : public Controller {
 public:
  ControlPrograms(Installation installation, const CallLimits& limits)
      : installation_(std::move(installation)), limits_(limits) {}

  Result<std::vector<NodeState>> nodes(std::string_view node) override {
    if (node.empty()) return ask({"-a"});
    TRY_ASSIGN(auto own, this->node(node));
    if (own.partitions.empty()) return std::vector<NodeState>{std::move(own)};
    // -p includes hidden partitions; it cannot be combined with -a.
    TRY_ASSIGN(auto cluster, ask({"-p", fmt::format("{}", fmt::join(own.partitions, ","))}));
    // Slurm shows a powered-down cloud node only if the query names that node alone.
    if (find_node(cluster, node) == nullptr) cluster.push_back(std::move(own));
    return cluster;
  }

  Result<NodeState> node(std::string_view name) override {
    TRY(check_node_name(name));
    TRY_ASSIGN(const auto alone, ask({"-a", "-n", std::string(name)}));
    return node_named(alone, name);
  }

  Result<std::vector<std::string>> members() override {
    TRY_ASSIGN(const auto partitions, ask_records(installation_, {"partition"}, limits_));
    std::set<std::string> names;
    for (const auto& partition : partitions) {
      const auto list = value_of(partition, "Nodes");
      if (list.empty()) continue;
      TRY_ASSIGN(const auto nodes, expand_hostlist(list));
      names.insert(nodes.begin(), nodes.end());
    }
    return std::vector<std::string>(names.begin(), names.end());
  }

  bool is_cloud_node(std::string_view node) override {
    if (!check_node_name(node)) return false;
    const auto shown = ask_records(installation_, {"node", std::string(node)}, limits_);
    if (!shown || shown->empty()) return false;
    return std::ranges::count(split(value_of(shown->front(), "State"), '+'), "CLOUD") > 0;
  }

  Result<std::vector<NodeName>> names() override {
    return call(installation_, installation_.sinfo,
                {"--local", "-h", "-N", "-o", std::string(kNamesFormat), "-a"}, limits_)
        .and_then(parse_names);
  }

  Result<void> drain(std::string_view node, std::string_view reason,
                     std::optional<std::string> memory) override {
    return update(node, {"state=drain", fmt::format("reason={}", reason)}, memory);
  }

  Result<void> resume(std::string_view node, std::optional<std::string> memory) override {
    return update(node, {"state=resume"}, memory);
  }

  Result<void> remember(std::string_view node, std::string_view memory) override {
    if (installation_.memory.empty()) return {};
    return send(node, {in_field(memory)});
  }

 private:
  Result<std::vector<NodeState>> ask(std::vector<std::string> selection) {
    // Without --local, a member of a federation also lists other clusters' nodes, unmarked.
    const auto nonce = make_nonce();
    std::vector<std::string> arguments{"--local", "-h", "-N", "-O",
                                       sinfo_format(installation_.memory, nonce)};
    arguments.insert(arguments.end(), selection.begin(), selection.end());
    return call(installation_, installation_.sinfo, std::move(arguments), limits_)
        .and_then([&](const std::string& out) { return parse_sinfo(out, nonce); });
  }

  [[nodiscard]] std::string in_field(std::string_view memory) const {
    return fmt::format("{}={}", installation_.memory, memory);
  }

  Result<void> update(std::string_view node, std::vector<std::string> changes,
                      const std::optional<std::string>& memory) {
    if (!memory || installation_.memory.empty()) return send(node, std::move(changes));
    auto both = changes;
    both.push_back(in_field(*memory));
    auto sent = send(node, std::move(both));
    // An older scontrol does not know the field and sent nothing.
    const bool is_unknown = !sent && sent.error().message.find(kAborted) != std::string::npos;
    return is_unknown ? send(node, std::move(changes)) : sent;
  }

  Result<void> send(std::string_view node, std::vector<std::string> changes) {
    TRY(check_node_name(node));
    std::vector<std::string> arguments{"update", fmt::format("nodename={}", node)};
    arguments.insert(arguments.end(), changes.begin(), changes.end());
    return call(installation_, installation_.scontrol, std::move(arguments), limits_)
        .map([](const std::string& /*out*/) {});
  }

  Installation installation_;
  CallLimits limits_;
};

}  // namespace

Result<NodeState> Controller::node(std::string_view name) {
  TRY_ASSIGN(const auto cluster, nodes(name));
  return node_named(cluster, name);
}

Result<AllNodes> all_nodes(Controller& controller) {
  constexpr std::size_t kMaxHidden = 64;
  constexpr std::chrono::seconds kLongest{10};
  AllNodes all;
  TRY_ASSIGN(all.nodes, controller.nodes(""));
  const auto end = Clock::now() + kLongest;
  for (auto& name : controller.members().value_or(std::vector<std::string>())) {
    if (find_node(all.nodes, name) != nullptr) continue;
    all.hidden.push_back(std::move(name));
  }
  if (all.hidden.size() > kMaxHidden) return all;
  std::erase_if(all.hidden, [&](const std::string& name) {
    if (Clock::now() > end) return false;
    auto node = controller.node(name);
    if (node) all.nodes.push_back(*std::move(node));
    return node.has_value();
  });
  return all;
}

std::unique_ptr<Controller> make_controller(Installation installation, const CallLimits& limits) {
  return std::make_unique<ControlPrograms>(std::move(installation), limits);
}

}  // namespace muster::slurm
