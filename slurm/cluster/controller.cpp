// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/controller.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <system_error>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/process/startup.hpp"

namespace muster::slurm {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kUsualConfs = {
    "/etc/slurm/slurm.conf",
    "/run/slurm/conf/slurm.conf",               // what slurmd fetched, without files of its own
    "/var/spool/slurmd/conf-cache/slurm.conf",  // the same, of older versions
    "/opt/slurm/etc/slurm.conf",
    "/usr/local/etc/slurm.conf",
};

// The server from which machines without files fetch them.
constexpr const char* kServer = "SLURM_CONF_SERVER";

bool is_file(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is not there
  return fs::is_regular_file(path, ignored);
}

// Returns an empty path if there is none.
Result<fs::path> find_conf(const Rules& rules, const Variables& variables) {
  const auto named = value_of(variables, "SLURM_CONF");
  const bool is_set = !named.empty();
  if (is_set || !rules.conf.empty()) {
    const fs::path conf = fs::path(is_set ? named : rules.conf).lexically_normal();
    const std::string_view where = is_set ? "SLURM_CONF" : "slurm.conf in muster.yaml";
    if (!conf.is_absolute()) {
      return make_error(
          fmt::format("{}: \"{}\" is not an absolute path", where, printable(conf.string())));
    }
    // Slurm's programs wait a minute for a file that is not there.
    if (is_file(conf)) return conf;
    return make_missing(
        fmt::format("{} names a file that is not there: {}", where, printable(conf.string())));
  }
  for (const auto place : kUsualConfs) {
    if (is_file(place)) return fs::path(place);
  }
  return fs::path();
}

std::string memory_field(const Rules& rules) {
  if (rules.memory == "none") return "";
  return rules.memory == "comment" ? "Comment" : "Extra";
}

// The message of Slurm's programs if there is neither a file nor a server.
constexpr std::string_view kNoSource = "Could not establish a configuration source";

Error no_conf(std::string_view server) {
  const auto nor =
      server.empty() ? "" : fmt::format(", nor from SLURM_CONF_SERVER={}", printable(server, 100));
  return {
      .message = fmt::format("no slurm.conf at {}{}; slurm.conf in muster.yaml names another place",
                             fmt::join(kUsualConfs, ", "), nor),
      .missing = true};
}

fs::path find_program(std::string_view folders, std::string_view name) {
  for (const auto folder : split(folders, ':')) {
    fs::path program = fs::path(folder) / name;
    if (program.is_absolute() && is_file(program) && ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return {};
}

// The message of a scontrol that does not know the field that it is to update.
constexpr std::string_view kAborted = "Request aborted";

std::string make_nonce() {
  std::uint32_t nonce = 0;
  if (::getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce) {
    nonce = static_cast<std::uint32_t>(Clock::now().time_since_epoch().count() ^ ::getpid());
  }
  return fmt::format("{:08x}", nonce);
}

class ControlPrograms final : public Controller {
 public:
  ControlPrograms(Installation installation, const CallLimits& limits)
      : installation_(std::move(installation)), limits_(limits) {}

  Result<std::vector<NodeState>> nodes(std::string_view node) override {
    if (node.empty()) return ask({"-a"});
    TRY(check_node_name(node));
    TRY_ASSIGN(auto alone, ask({"-a", "-n", std::string(node)}));
    const auto* found = find_node(alone, node);
    if (found == nullptr) return make_missing(fmt::format("Slurm has no node {}", node));
    if (found->partitions.empty()) return alone;
    // -p includes hidden partitions, and does not go together with -a.
    auto cluster = ask({"-p", fmt::format("{}", fmt::join(found->partitions, ","))});
    if (cluster && find_node(*cluster, node) == nullptr) {
      return make_error(fmt::format("sinfo does not list {} in its own partitions", node));
    }
    return cluster;
  }

  Result<std::vector<NodeName>> names() override {
    return run(installation_.sinfo, {"--local", "-h", "-N", "-o", std::string(kNamesFormat), "-a"})
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
    // Without --local, a member of a federation lists other clusters' nodes without a difference.
    const auto nonce = make_nonce();
    std::vector<std::string> arguments{"--local", "-h", "-N", "-O",
                                       sinfo_format(installation_.memory, nonce)};
    arguments.insert(arguments.end(), selection.begin(), selection.end());
    return run(installation_.sinfo, std::move(arguments)).and_then([&](const std::string& out) {
      return parse_sinfo(out, nonce);
    });
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
    // An older scontrol does not know the field, and has sent nothing.
    const bool is_unknown = !sent && sent.error().message.find(kAborted) != std::string::npos;
    return is_unknown ? send(node, std::move(changes)) : sent;
  }

  Result<void> send(std::string_view node, std::vector<std::string> changes) {
    TRY(check_node_name(node));
    std::vector<std::string> arguments{"update", fmt::format("nodename={}", node)};
    arguments.insert(arguments.end(), changes.begin(), changes.end());
    return run(installation_.scontrol, std::move(arguments)).map([](const std::string& /*out*/) {});
  }

  Result<std::string> run(const fs::path& program, std::vector<std::string> arguments) const {
    auto out = call(program, std::move(arguments), installation_.environment, limits_);
    if (out || !installation_.conf.empty()) return out;
    if (out.error().message.find(kNoSource) == std::string::npos) return out;
    return tl::unexpected(no_conf(value_of(installation_.environment, kServer)));
  }

  Installation installation_;
  CallLimits limits_;
};

}  // namespace

Result<Installation> find_installation(const Rules& rules, const Variables& variables) {
  TRY_ASSIGN(auto conf, find_conf(rules, variables));
  Installation found{.scontrol = find_program(rules.programs, "scontrol"),
                     .sinfo = find_program(rules.programs, "sinfo"),
                     .sbatch = find_program(rules.programs, "sbatch"),
                     .squeue = find_program(rules.programs, "squeue"),
                     .conf = std::move(conf),
                     .environment = {},
                     .memory = memory_field(rules)};
  for (const auto& [name, program] :
       {std::pair{"scontrol", &found.scontrol}, std::pair{"sinfo", &found.sinfo}}) {
    if (!program->empty()) continue;
    return make_missing(
        fmt::format("no {} in {}; slurm.programs in muster.yaml names other folders", name,
                    printable(rules.programs)));
  }
  found.environment = {
      {"SLURM_TIME_FORMAT", "%s"}, {"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}, {"LANG", "C"}};
  const auto server = value_of(variables, kServer);
  if (!found.conf.empty()) {
    found.environment["SLURM_CONF"] = found.conf.string();
  } else if (!server.empty()) {
    found.environment[kServer] = server;
  }
  return found;
}

std::unique_ptr<Controller> make_controller(Installation installation, const CallLimits& limits) {
  return std::make_unique<ControlPrograms>(std::move(installation), limits);
}

}  // namespace muster::slurm
