// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/check_setup.hpp"

#include <unistd.h>

#include <filesystem>

#include "lib/base/files.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"
#include "lib/process/startup.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/policy/node_memory.hpp"
#include "slurm/tell/tell.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNode = "SLURMD_NODENAME";

// The environment that slurmd gives every hook.
Variables environment_of_hooks(const Variables& variables) {
  const auto node = variables.find(kNode);
  return node == variables.end() ? Variables() : Variables{*node};
}

// Returns the nearest parent folder that exists.
fs::path existing_parent(const fs::path& folder) {
  std::error_code failure;
  auto parent = fs::absolute(folder, failure).parent_path();
  while (!fs::exists(parent, failure) && parent.has_relative_path()) parent = parent.parent_path();
  return parent;
}

class SetupCheck {
 public:
  SetupCheck(const HookCommand& command, const Caller& caller, Deadline& deadline,
             const CheckNode& check_node)
      : command_(command),
        caller_{.console = caller.console,
                .variables = environment_of_hooks(caller.variables),
                .started = caller.started,
                .bench = caller.bench},
        given_conf_(value_of(caller.variables, "SLURM_CONF")),
        deadline_(deadline),
        check_node_(check_node) {}

  int run() {
    if (check_site()) {
      check_slurm();
      check_files();
    }
    check_state();
    check_profile();
    return deliver(caller_, "", lines_.text(), lines_.status());
  }

 private:
  // An ok line, or a failure if there is a `fault`.
  void note(std::string_view subject, std::string_view right, std::string_view fault) {
    return fault.empty() ? lines_.ok(subject, right) : lines_.fail(subject, fault);
  }

  bool check_site() {
    const auto rules = read_rules(command_.root, caller_.variables);
    if (!rules) {
      lines_.fail("muster.yaml", rules.error().message);
      return false;
    }
    rules_ = *rules;
    const auto file = fs::path(command_.root) / "etc/muster/muster.yaml";
    std::error_code ignored;
    lines_.ok("muster.yaml", fs::exists(file, ignored) ? printable(file.lexically_normal().string())
                                                       : "none: the defaults are used");
    return true;
  }

  void check_slurm() {
    const auto installation = slurm::find_installation(rules_, caller_.variables);
    if (!installation) return lines_.fail("Slurm", installation.error().message);
    const auto end = deadline_.when() - std::chrono::seconds(20);  // the rest is for the node
    const slurm::CallLimits limits{.deadline = to_duration(rules_.controller_deadline), .end = end};
    const auto config = slurm::ask_config(*installation, limits);
    if (!config) return report_no_answer(*installation, config.error());
    const auto conf = printable(installation->conf.string());
    lines_.ok("Slurm",
              fmt::format("{} answers, {}", config->at("SLURM_VERSION"),
                          conf.empty() ? "without a slurm.conf here" : fmt::format("by {}", conf)));
    check_slurm_conf(*config, rules_, lines_);
    const auto own = find_node_in_slurm(*slurm::make_controller(*installation, limits));
    if (!own) return;
    const auto partitions = slurm::ask_records(*installation, {"partition"}, limits);
    check_power_saving(*config, partitions.value_or(std::vector<slurm::Config>()), *own, lines_);
  }

  // Often the caller has a SLURM_CONF that hooks do not have.
  void report_no_answer(const slurm::Installation& installation, const Error& error) {
    if (!installation.conf.empty()) return lines_.unreachable("Slurm", error.message);
    const auto what = given_conf_.empty() ? "none in the usual places, nor from a server"
                                          : "slurmd gives a health check no SLURM_CONF";
    const auto why = error.missing ? std::string() : fmt::format(": {}", error.message);
    lines_.fail("slurm.conf", fmt::format("{}{}; write slurm: conf: {} into muster.yaml", what, why,
                                          given_conf_.empty() ? "FILE" : printable(given_conf_)));
  }

  // The name of this node in Slurm.
  [[nodiscard]] std::optional<std::string> node_name(slurm::Controller& controller) {
    auto node = value_of(caller_.variables, kNode);
    if (!node.empty()) return node;
    const auto names = controller.names();
    if (!names) {
      lines_.unreachable("node", names.error().message);
      return std::nullopt;
    }
    const auto found = slurm::node_on(*names, host_name());
    if (!found) {
      lines_.fail("node", found.error().message);
      return std::nullopt;
    }
    return *found;
  }

  [[nodiscard]] std::optional<slurm::NodeState> find_node_in_slurm(slurm::Controller& controller) {
    const auto name = node_name(controller);
    if (!name) return std::nullopt;
    auto own = controller.node(*name);
    if (!own && own.error().missing) {
      lines_.fail("node", fmt::format("no Slurm partition has a node {}: see Nodes in slurm.conf",
                                      printable(*name, 100)));
    } else if (!own) {
      lines_.unreachable("node", own.error().message);
    }
    if (!own) return std::nullopt;
    lines_.ok("node", fmt::format("{} is \"{}\" in Slurm", *name, printable(own->state, 40)));
    check_memory(*own);
    return *std::move(own);
  }

  void check_memory(const slurm::NodeState& own) {
    const auto why = slurm::why_not_remembered(own, rules_);
    if (why.empty()) {
      return lines_.ok("memory", fmt::format("in the node's field {}", rules_.memory));
    }
    lines_.warn("memory",
                fmt::format("{}: an admin must resume the nodes that muster drains", why));
  }

  void check_files() {
    if (!rules_.tell.program.empty()) {
      const auto end = Clock::now() + std::chrono::seconds(5);
      const auto checked = slurm::check_tell_program(rules_.tell, end);
      note("tell.program", printable(rules_.tell.program), checked ? "" : checked.error().message);
    }
    if (!rules_.epilog_tests.empty() || !rules_.boot_tests.empty()) {
      const auto program = caller_.bench.empty() ? sibling_program("muster-bench") : caller_.bench;
      const bool runs = ::access(program.c_str(), X_OK) == 0;
      note(rules_.epilog_tests.empty() ? "boot_tests" : "epilog_tests", program.string(),
           runs ? "" : fmt::format("{} cannot be run: no node could be tested", program.string()));
    }
    if (!rules_.nhc_conf.empty()) {
      const auto file = below_root(command_.root, rules_.nhc_conf);
      const bool is_readable = ::access(file.c_str(), R_OK) == 0;
      note("nhc_conf", printable(rules_.nhc_conf),
           is_readable
               ? ""
               : fmt::format("{} cannot be read: no node could be judged", printable(file)));
    }
    if (rules_.sweep.results.empty()) return;
    std::error_code ignored;
    const auto results = printable(rules_.sweep.results);
    const bool is_folder = fs::is_directory(rules_.sweep.results, ignored);
    note("sweep.results", results,
         is_folder ? "" : fmt::format("{} is not a folder on this node", results));
    const auto& script = rules_.sweep.script;
    if (script.empty() || ::access(script.c_str(), R_OK) == 0) return;
    lines_.warn("sweep.script",
                fmt::format("{} cannot be read on this machine", printable(script)));
  }

  void check_state() {
    const auto folder = state_folder(command_.state, command_.root);
    if (!folder) return lines_.fail("state folder", folder.error().message);
    note("state folder", printable(folder->string()), fault_of_state(*folder));
  }

  static std::string fault_of_state(const fs::path& folder) {
    const auto shown = printable(folder.string());
    std::error_code failure;
    if (!fs::exists(folder, failure)) {
      const auto parent = existing_parent(folder);
      if (::access(parent.c_str(), W_OK | X_OK) == 0) return "";  // the first run creates it
      return fmt::format("{} cannot be created: {} is not writable", shown,
                         printable(parent.string()));
    }
    if (!fs::is_directory(folder, failure)) return fmt::format("{} is not a folder", shown);
    if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
      return fmt::format("{} is not writable", shown);
    }
    if (auto own = check_own_folder(folder); !own) return own.error().message;
    const auto file = history_file(folder);
    if (auto own = check_own_file(file); !own) return own.error().message;
    const auto history = slurm::History::read(file);
    return history || history.error().missing ? "" : history.error().message;
  }

  // Does what a hook does, but writes nothing.
  void check_profile() {
    auto command = with_site(command_, rules_);
    command.context = "boot";
    command.dry_run = true;
    const auto checked = check_node_(command, "", caller_, deadline_);
    if (!checked) return lines_.fail("profile", checked.error().message);
    const auto& report = checked->report;
    if (report.profile != "generic" || !command.profile.empty()) {
      return lines_.ok("profile", printable(report.profile, 100));
    }
    lines_.warn("profile",
                "generic, because no profile matches this hardware; name one in muster.yaml "
                "(profile: NAME), muster profiles lists them");
  }

  const HookCommand& command_;
  const Caller caller_;
  const std::string given_conf_;  // SLURM_CONF of the caller
  Deadline& deadline_;
  const CheckNode& check_node_;
  slurm::Rules rules_;
  SetupLines lines_;
};

}  // namespace

int run_check_setup(const HookCommand& command, const Caller& caller, Deadline& deadline,
                    const CheckNode& check_node) {
  return SetupCheck(command, caller, deadline, check_node).run();
}

}  // namespace muster::app
