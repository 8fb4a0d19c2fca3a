// SPDX-License-Identifier: Apache-2.0
// `muster check --snapshot`: judges snapshots in parallel and reports on them in the order of the
// command line. Judges those of `muster fleet add` too.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "checks/app/fleet.hpp"
#include "checks/app/inspect.hpp"
#include "lib/base/files.hpp"
#include "lib/base/in_order.hpp"
#include "lib/command/version.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {
namespace {

struct SharedChoice {
  std::shared_ptr<const Profile> profile;
  std::vector<std::string> evidence;
};

// Chooses the profiles of many snapshots. Reads the candidates and each profile once. Thread-safe.
class ProfileCache {
 public:
  // With a named profile, every snapshot is judged by it.
  ProfileCache(ProfileSources sources, std::optional<Choice> named)
      : sources_(std::move(sources)),
        candidates_(named ? Result<Candidates>() : read_candidates(sources_)) {
    if (!named) return;
    named_ = {.profile = std::make_shared<const Profile>(std::move(named->profile)),
              .evidence = std::move(named->evidence)};
  }

  [[nodiscard]] Attempt<SharedChoice> choose(const Snapshot& snapshot) {
    if (named_.profile != nullptr) return named_;
    if (!candidates_) return bad_configuration(candidates_.error());
    auto recognised = muster::choose(*candidates_, hardware_of(snapshot));
    const auto profile = load(recognised.profile);
    if (!profile) return bad_configuration(profile.error());
    return SharedChoice{.profile = *profile,
                        .evidence = with_gaps(std::move(recognised.evidence), snapshot)};
  }

 private:
  using Loaded = Result<std::shared_ptr<const Profile>>;

  [[nodiscard]] Loaded load(const std::string& name) {
    const std::lock_guard lock(guard_);
    const auto found = profiles_.find(name);
    if (found != profiles_.end()) return found->second;
    auto loaded = read_profile_of(sources_, name).map([](Profile profile) {
      return std::make_shared<const Profile>(std::move(profile));
    });
    return profiles_.emplace(name, std::move(loaded)).first->second;
  }

  ProfileSources sources_;
  SharedChoice named_;  // without a profile if none was named
  Result<Candidates> candidates_;
  std::mutex guard_;
  std::map<std::string, Loaded> profiles_;  // by name
};

struct JudgedFile {
  int status = kExitUndecided;
  std::string text;               // the report
  std::string complaint;          // or why there is no report
  std::optional<FleetNode> node;  // for the table of the fleet
};

// Above this number of files, only the table is printed.
constexpr std::size_t kFewNodes = 4;

// 1 (unhealthy) is worse than 2 (undecided), and bad configuration is worse than both.
int severity(int status) {
  constexpr std::array kAscending{kExitHealthy, kExitUndecided, kExitUnhealthy, kExitConfiguration};
  return static_cast<int>(std::ranges::find(kAscending, status) - kAscending.begin());
}

// The width of the terminal that reports go to; 0 for none.
std::size_t width_of(const CheckCommand& command, const Console& console) {
  return descriptor_named(command.output) == STDOUT_FILENO ? console.width : 0;
}

struct Replay {
  const CheckCommand& command;
  const Caller& caller;
  std::optional<nhc::Config> lines;
  std::vector<std::string> files;
  ProfileCache& profiles;
  std::vector<FleetNode> fleet = {};

  [[nodiscard]] int run() {
    // A file is written at the end: if that fails, the reports are printed instead.
    const bool is_file = descriptor_named(command.output) != STDOUT_FILENO;
    std::string content;
    const auto write = [&](std::string_view text) {
      if (!is_file) return caller.console.out(text);
      content += text;
      return Result<void>();
    };
    Result<void> written;
    int status = kExitHealthy;
    auto* const join = files.size() > 1 ? row_of(command.format).join : nullptr;
    std::vector<std::string> documents;
    make_in_order(
        files.size(), std::thread::hardware_concurrency(),
        [&](std::size_t index) { return judge_file(files[index]); },
        [&](JudgedFile judged) {
          if (!judged.complaint.empty()) caller.console.note(judged.complaint);
          status = std::max(status, judged.status,
                            [](int a, int b) { return severity(a) < severity(b); });
          if (judged.node) fleet.push_back(*judged.node);
          if (join == nullptr) {
            written = write(judged.text);
          } else if (!judged.text.empty()) {
            documents.push_back(std::move(judged.text));
          }
          return written.has_value();
        });
    if (join != nullptr) written = write(join(documents));
    if (written && has_table()) {
      written =
          write(fleet_table(fleet, files.size() - fleet.size(), width_of(command, caller.console)));
    }
    if (is_file) return deliver(caller, command.output, content, status);
    if (!written) return fail(caller, undecided(written.error()).value());
    return status;
  }

  [[nodiscard]] JudgedFile judge_file(const std::string& file) const {
    const auto began = Clock::now();
    const auto text = read_named(file);
    if (!text) return refused(kExitUndecided, text.error().message);
    const auto snapshot = parse_saved(*text, file);
    if (!snapshot) {
      // A folder may have the reports of muster and muster-bench next to snapshots.
      auto report = parse_report(*text);
      if (!report) return refused(kExitUndecided, snapshot.error().message);
      // Its metrics name the node, like those of a snapshot.
      if (command.format == Format::prometheus) report->snapshot = file;
      return shown(*report, fleet_node(*report));
    }
    const auto choice = profiles.choose(*snapshot);
    if (!choice) return refused(choice.error().status, choice.error().message);
    const auto own = lines_for(*snapshot);
    if (!own) {
      return refused(own.error().status, fmt::format("{}: {}", file, own.error().message));
    }
    auto report = judge_as_asked(command, *own, *snapshot, *choice->profile);
    report.profile_evidence = choice->evidence;
    report.muster = kVersion;
    report.snapshot = file;
    report.duration_ms = elapsed_ms(began);
    return shown(report, fleet_node(*snapshot, report));
  }

  [[nodiscard]] JudgedFile shown(const Report& report, FleetNode node) const {
    JudgedFile judged{.status = exit_status(report)};
    if (has_table()) judged.node = std::move(node);
    if (has_table() && files.size() > kFewNodes && !command.verbose) return judged;
    judged.text = render(report, command, caller.console, true);
    if (has_table() && !command.quiet) judged.text.push_back('\n');
    return judged;
  }

  // In a folder, the file for the size of the node.
  [[nodiscard]] Attempt<std::optional<nhc::Config>> lines_for(const Snapshot& snapshot) const {
    if (!nhc_conf_by_size(command)) return lines;
    return nhc_conf_of(command, snapshot.identity->instance_size);
  }

  [[nodiscard]] bool has_table() const {
    return command.format == Format::text && files.size() > 1;
  }

  [[nodiscard]] static JudgedFile refused(int status, std::string_view why) {
    return {.status = status, .complaint = fmt::format("muster: {}", why)};
  }
};

}  // namespace

int run_replay(const CheckCommand& command, const Caller& caller) {
  auto lines = nhc_conf_by_size(command) ? Attempt<std::optional<nhc::Config>>(std::nullopt)
                                         : nhc_conf_of(command);
  if (!lines) return fail(caller, lines.error());
  const auto sources = sources_of(caller.variables, command.root, command.settings);
  const auto name = profile_name(sources, command.profile);
  if (!name) return fail(caller, name.error());
  std::optional<Choice> named;
  if (*name) {
    auto choice = named_profile(sources, **name, read_profile_of);
    if (!choice) return fail(caller, choice.error());
    named = std::move(*choice);
  }
  auto files = snapshot_files(command.snapshots);
  if (!files) return fail(caller, undecided(files.error()).value());
  ProfileCache profiles(sources, std::move(named));
  return Replay{command, caller, std::move(*lines), std::move(*files), profiles}.run();
}

int run_fleet(const FleetCommand& command, const Caller& caller) {
  ProfileCache profiles(sources_of(caller.variables, "/", {}), std::nullopt);
  const auto judge_snapshot = [&](const Snapshot& snapshot) -> Result<std::string> {
    const auto choice = profiles.choose(snapshot);
    if (!choice) return make_error(choice.error().message);
    auto report = judge(snapshot, *choice->profile, {.context = "manual"});
    report.muster = kVersion;
    return to_json(report, {.verbose = true, .indent = 0});
  };
  ProfileCache changed(sources_of(caller.variables, "/", command.settings), std::nullopt);
  const auto judge_twice = [&](const Snapshot& snapshot) -> Result<std::pair<Findings, Findings>> {
    const auto usual = profiles.choose(snapshot), other = changed.choose(snapshot);
    if (!usual || !other) return make_error((usual ? other : usual).error().message);
    const auto findings_by = [&](const Profile& profile) {
      const Selection selection{.context = "manual"};
      return judge_checks(snapshot, profile, selection.context, select_checks(profile, selection));
    };
    return std::pair(findings_by(*usual->profile), findings_by(*other->profile));
  };
  const auto call_slurm = [&](std::string_view program, std::vector<std::string> words) {
    return call_accounting(caller.variables, program, std::move(words));
  };
  return run_fleet(command, caller,
                   {.judge = judge_snapshot, .judge_twice = judge_twice, .call_slurm = call_slurm});
}

}  // namespace muster::app
