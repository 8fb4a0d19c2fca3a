// SPDX-License-Identifier: Apache-2.0
// `muster validate`: checks the site's files and everything that they name.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "checks/app/commands.hpp"
#include "checks/app/inspect.hpp"
#include "checks/names.hpp"
#include "lib/base/text.hpp"
#include "lib/command/options.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/site.hpp"
#include "repair/rules.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {
namespace {

class Validation {
 public:
  Validation(const ValidateCommand& command, const Caller& caller)
      : command_(command),
        caller_(caller),
        sources_(sources_of(caller.variables, command.root, {})) {}

  [[nodiscard]] int run() {
    if (const auto root = check_root(command_.root); !root) {
      return fail(caller_, bad_configuration(root.error()).value());
    }
    const auto site = read_site(sources_);
    if (site) {
      check_site(*site);
    } else {
      report_error(site.error().message);
    }
    return deliver(caller_, "", output_, failed_ ? kExitConfiguration : kExitHealthy);
  }

 private:
  void report_error(const std::string& message) {
    failed_ = true;
    if (std::ranges::count(reported_, message) > 0) return;  // several profiles may report it
    reported_.push_back(message);
    caller_.console.note(fmt::format("muster: {}", message));
  }

  void report_ok(std::string_view what) { output_ += fmt::format("ok: {}\n", printable(what)); }

  void check_site(const SiteFile& site) {
    const auto before = reported_.size();
    check_profile(site.profile.empty() ? "generic" : site.profile, site);
    check_slurm(site);
    if (const auto rules = repair::read_repair_rules(sources_); !rules) {
      report_error(rules.error().message);
    }
    std::error_code failure;
    const bool exists = std::filesystem::exists(site.shown, failure);
    if (!exists) {
      report_ok(fmt::format("no {}: using built-in defaults", site.shown));
    } else if (reported_.size() == before) {
      report_ok(site.shown);
    }
    check_own_profiles();
  }

  // With the site's overrides.
  void check_profile(const std::string& name, const SiteFile& site) {
    const auto profile = read_profile_of(sources_, name);
    if (!profile && profile.error().missing) {
      return report_error(fmt::format("{}:{}: 'profile': {}", site.shown, site.profile_line,
                                      profile.error().message));
    }
    if (!profile) return report_error(profile.error().message);
    for (const auto& warning : review(*profile)) {
      caller_.console.note(fmt::format("muster: warning: {}", warning));
    }
  }

  void check_slurm(const SiteFile& site) {
    const auto block = validate_slurm_block(site, command_.root);
    for (const auto& trouble : block.troubles) report_error(trouble);
    for (const auto& [glob, word] : block.rules.unknown) {
      if (names_check(glob)) continue;
      report_error(fmt::format("{}: 'slurm.unknown': unknown check \"{}\"{}", site.shown,
                               printable(glob, 80), suggestion(glob, check_ids())));
    }
    if (!block.rules.nhc_conf.empty()) check_nhc_conf(block.rules.nhc_conf);
  }

  void check_nhc_conf(const std::string& file) {
    const auto below = command_.root == "/" ? "" : command_.root;
    const auto config = nhc_conf_of({.nhc_conf = fmt::format("{}{}", below, file)});
    if (!config || !*config) return;  // already reported
    for (const auto& line : (*config)->lines) {
      if (line.complaint.empty()) continue;
      caller_.console.note(
          fmt::format("muster: warning: {}:{}: {}", file, line.number, line.complaint));
    }
  }

  void check_own_profiles() {
    const auto folder = sources_.site / "profiles";
    std::vector<std::string> names;
    std::error_code failure;
    std::filesystem::directory_iterator entry(folder, failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
      const auto name = entry->path().filename().string();
      if (name.ends_with(".yaml") && !name.starts_with('.'))
        names.push_back(entry->path().string());
    }
    if (failure && failure != std::errc::no_such_file_or_directory) {
      report_error(fmt::format("list {}: {}", folder.string(), failure.message()));
    }
    std::ranges::sort(names);
    for (const auto& name : names) {
      const auto profile = read_profile_of(sources_, name);
      if (profile) {
        report_ok(name);
      } else {
        report_error(profile.error().message);
      }
    }
  }

  const ValidateCommand& command_;
  const Caller& caller_;
  const ProfileSources sources_;
  std::vector<std::string> reported_;
  std::string output_;
  bool failed_ = false;
};

}  // namespace

int run_validate(const ValidateCommand& command, const Caller& caller) {
  return Validation(command, caller).run();
}

}  // namespace muster::app
