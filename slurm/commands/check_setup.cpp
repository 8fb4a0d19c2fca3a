// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/check_setup.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "lib/base/host_name.hpp"
#include "lib/base/ownership.hpp"
#include "lib/base/text.hpp"
#include "lib/process/startup.hpp"
#include "slurm/cluster/config.hpp"
#include "slurm/commands/setup_slurm.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/policy/own_drain.hpp"
#include "slurm/tell/tell.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNode = "SLURMD_NODENAME";

// All that slurmd gives every hook.
Variables hooks_environment(const Variables& variables) {
  const auto node = variables.find(kNode);
  return node == variables.end() ? Variables() : Variables{*node};
}

class Setup {
 public:
  Setup(const HookCommand& command, const Caller& caller, Deadline& deadline,
        const CheckNode& check_node)
      : command_(command),
        caller_{.console = caller.console,
                .variables = hooks_environment(caller.variables),
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
                                                       : "none: muster's defaults hold");
    return true;
  }

  void check_slurm() {
    const auto installation = slurm::find_installation(rules_, caller_.variables);
    if (!installation) return lines_.fail("Slurm", installation.error().message);
    const auto end = deadline_.when() - std::chrono::seconds(20);  // what is left is for the node
    const slurm::CallLimits limits{.deadline = to_duration(rules_.controller_deadline), .end = end};
    const auto config = slurm::ask_config(*installation, limits);
    if (!config) return no_answer(*installation, config.error().message);
    lines_.ok("Slurm",
              fmt::format("{} answers{}{}", config->at("SLURM_VERSION"),
                          installation->conf.empty() ? ", without a slurm.conf here" : ", by ",
                          printable(installation->conf.string())));
    check_slurm_conf(*config, rules_, ::geteuid(), lines_);
    check_node_name(*slurm::make_controller(*installation, limits));
  }

  // Where the caller has a SLURM_CONF, that is what hooks lack.
  void no_answer(const slurm::Installation& installation, const std::string& why) {
    if (!installation.conf.empty()) return lines_.unreachable("Slurm", why);
    if (given_conf_.empty()) {
      return lines_.fail(
          "slurm.conf", fmt::format("none at the usual places, nor from a server: {}; write slurm: "
                                    "conf: FILE into muster.yaml",
                                    why));
    }
    lines_.fail("slurm.conf",
                fmt::format("slurmd gives a health check no SLURM_CONF, and without it: {}; write "
                            "slurm: conf: {} into muster.yaml",
                            why, printable(given_conf_)));
  }

  void check_node_name(slurm::Controller& controller) {
    auto node = value_of(caller_.variables, kNode);
    if (!caller_.variables.contains(kNode)) {
      const auto names = controller.names();
      if (!names) return lines_.unreachable("node", names.error().message);
      const auto found = slurm::node_on(*names, host_name());
      if (!found) return lines_.fail("node", found.error().message);
      node = *found;
    }
    const auto nodes = controller.nodes(node);
    if (!nodes) return say_unlisted(nodes.error());
    const auto* const own = slurm::find_node(*nodes, node);
    if (own == nullptr) return lines_.fail("node", fmt::format("Slurm does not list {}", node));
    lines_.ok("node", fmt::format("{} is \"{}\" in Slurm", node, printable(own->state, 40)));
    check_memory(*own);
  }

  void say_unlisted(const Error& error) {
    if (error.missing) return lines_.fail("node", error.message + ": see NodeName in slurm.conf");
    lines_.unreachable("node", error.message);
  }

  void check_memory(const slurm::NodeState& node) {
    if (rules_.memory == "none") {
      return lines_.warn("memory", "is none: what was drained is forgotten with this node's disk");
    }
    if (slurm::may_remember(node)) {
      return lines_.ok("memory", fmt::format("in the node's field {}", rules_.memory));
    }
    lines_.warn("memory",
                fmt::format("the node's field {} has a text of the site: only the history "
                            "remembers; write slurm: memory: comment into muster.yaml, or extra",
                            rules_.memory));
  }

  void check_tell() {
    if (rules_.tell.program.empty()) return;
    const auto checked =
        slurm::check_tell_program(rules_.tell, Clock::now() + std::chrono::seconds(5));
    if (!checked) return lines_.fail("tell.program", checked.error().message);
    lines_.ok("tell.program", printable(rules_.tell.program));
  }

  void check_tests() {
    if (rules_.epilog_tests.empty() && rules_.boot_tests.empty()) return;
    const auto* const key = rules_.epilog_tests.empty() ? "boot_tests" : "epilog_tests";
    const auto program = caller_.bench.empty() ? companion("muster-bench") : caller_.bench;
    lines_.expect(::access(program.c_str(), X_OK) == 0, key, program.string(),
                  fmt::format("{} cannot be run: no node could be tested", program.string()));
  }

  void check_files() {
    check_tell();
    check_tests();
    if (!rules_.nhc_conf.empty()) {
      const auto file = below_root(command_.root, rules_.nhc_conf);
      lines_.expect(::access(file.c_str(), R_OK) == 0, "nhc_conf", printable(rules_.nhc_conf),
                    fmt::format("{} cannot be read: no node could be judged", printable(file)));
    }
    if (rules_.sweep.results.empty()) return;
    std::error_code ignored;
    const auto results = printable(rules_.sweep.results);
    lines_.expect(fs::is_directory(rules_.sweep.results, ignored), "sweep.results", results,
                  fmt::format("{} is no folder on this node", results));
    const auto& script = rules_.sweep.script;
    if (script.empty() || ::access(script.c_str(), R_OK) == 0) return;
    lines_.warn("sweep.script",
                fmt::format("{} cannot be read on this machine", printable(script)));
  }

  void check_state() {
    constexpr std::string_view kSubject = "state folder";
    const auto folder = state_folder(command_.state, command_.root);
    if (folder.empty()) return lines_.fail(kSubject, "below --root a hook needs --state");
    const auto shown = printable(folder.string());
    std::error_code failure;
    if (!fs::exists(folder, failure)) {
      auto parent = fs::absolute(folder, failure).parent_path();
      while (!fs::exists(parent, failure) && parent.has_relative_path()) {
        parent = parent.parent_path();
      }
      return lines_.expect(::access(parent.c_str(), W_OK | X_OK) == 0, kSubject,
                           fmt::format("{} is made by the first run", shown),
                           fmt::format("{} cannot be made: {} cannot be written to", shown,
                                       printable(parent.string())));
    }
    if (!fs::is_directory(folder, failure)) {
      return lines_.fail(kSubject, fmt::format("{} is no folder", shown));
    }
    if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
      return lines_.fail(kSubject, fmt::format("{} cannot be written to", shown));
    }
    if (auto own = check_own_folder(folder); !own)
      return lines_.fail(kSubject, own.error().message);
    check_history(history_file(folder), shown);
  }

  void check_history(const fs::path& file, const std::string& folder) {
    constexpr std::string_view kSubject = "history";
    if (auto own = check_own_file(file); !own) return lines_.fail(kSubject, own.error().message);
    const auto history = slurm::History::read(file);
    if (!history && !history.error().missing) {
      return lines_.fail(kSubject, history.error().message);
    }
    if (history && ::access(file.c_str(), W_OK) != 0) {
      return lines_.fail(kSubject,
                         fmt::format("{} cannot be written to", printable(file.string())));
    }
    lines_.ok("state folder", folder);
  }

  // As a hook does it, but nothing is written.
  void check_profile() {
    auto command = with_site(command_, rules_);
    command.context = "boot";
    command.dry_run = true;
    const auto checked = check_node_(command, "", caller_, deadline_);
    if (!checked) return lines_.fail("profile", checked.error().message);
    const auto& report = checked->report;
    if (report.profile == "generic" && command.profile.empty()) {
      lines_.warn(
          "profile",
          "generic: no profile is for this hardware; name one in muster.yaml (profile: NAME), "
          "muster profiles lists them");
    } else {
      lines_.ok("profile", printable(report.profile, 100));
    }
    lines_.ok("users", "are told in a batch job's output, and on the terminal of srun and salloc");
  }

  const HookCommand& command_;
  const Caller caller_;
  const std::string given_conf_;  // what SLURM_CONF names here, and a hook may not have
  Deadline& deadline_;
  const CheckNode& check_node_;
  slurm::Rules rules_;
  SetupLines lines_;
};

}  // namespace

int run_check_setup(const HookCommand& command, const Caller& caller, Deadline& deadline,
                    const CheckNode& check_node) {
  return Setup(command, caller, deadline, check_node).run();
}

}  // namespace muster::app
