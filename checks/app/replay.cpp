// SPDX-License-Identifier: Apache-2.0
// `muster check --snapshot`: judges recorded nodes, many of them side by side, and reports on them
// in the order in which they were named.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "checks/app/commands.hpp"
#include "checks/app/fleet.hpp"
#include "checks/app/inspect.hpp"
#include "checks/app/profile_cache.hpp"
#include "checks/app/rendering.hpp"
#include "checks/run.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/in_order.hpp"
#include "lib/base/text.hpp"
#include "lib/command/version.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStandardInput = "-";

// The files that were named, directories replaced by their *.json, sorted.
Result<std::vector<std::string>> expand(const std::vector<std::string>& named) {
  std::vector<std::string> files;
  for (const auto& each : named) {
    std::error_code failure;
    if (each == kStandardInput || !fs::is_directory(each, failure)) {
      files.push_back(each);
      continue;
    }
    std::vector<std::string> found;
    fs::directory_iterator entries(each, failure);
    for (; !failure && entries != fs::directory_iterator(); entries.increment(failure)) {
      if (entries->path().extension() == ".json") found.push_back(entries->path().string());
    }
    if (failure) return make_error(fmt::format("list {}: {}", printable(each), failure.message()));
    if (found.empty()) return make_error(fmt::format("no *.json in {}", printable(each)));
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Result<std::string> read_descriptor(int descriptor) {
  constexpr std::size_t kLargest = 64UL * 1024 * 1024;
  std::string text;
  const int code = read_all(descriptor, text, kLargest);
  if (code != 0) return make_error(std::generic_category().message(code));
  if (text.size() > kLargest) return make_error(fmt::format("more than {} bytes", kLargest));
  return text;
}

Result<std::string> read_file(const std::string& path) {
  if (path == kStandardInput) return read_descriptor(STDIN_FILENO);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open()) return make_error(std::generic_category().message(errno));
  return read_descriptor(file.get());
}

struct Judged {
  int status = kExitUndecided;
  std::string text;               // the report
  std::string complaint;          // or why there is none
  std::optional<FleetNode> node;  // for the table of many nodes
};

// So many reports are read one by one; of more there is the table alone.
constexpr std::size_t kFewNodes = 16;

// 1 (unhealthy) is worse than 2 (could not decide), and a bad configuration is worse than both.
int severity(int status) {
  constexpr std::array kAscending{kExitHealthy, kExitUndecided, kExitUnhealthy, kExitConfiguration};
  return static_cast<int>(std::ranges::find(kAscending, status) - kAscending.begin());
}

class Replay {
 public:
  Replay(const CheckCommand& command,
         const Caller& caller,
         std::optional<nhc::Config> lines,
         std::vector<std::string> files,
         ProfileCache& profiles)
      : command_(command),
        caller_(caller),
        lines_(std::move(lines)),
        files_(std::move(files)),
        profiles_(profiles) {}

  [[nodiscard]] int run() {
    auto named = Destination::open(caller_.console, command_.output);
    const int lost = named ? kExitHealthy : fail(caller_, undecided(named.error()).value());
    // Reports that have no place there are printed, and not lost.
    auto destination = named ? std::move(named) : Destination::open(caller_.console, "");
    InOrder<Judged> pieces(files_.size(), std::thread::hardware_concurrency());
    Result<void> written;
    int status = kExitHealthy;
    pieces.run([&](std::size_t index) { return judge_file(files_[index]); },
               [&](const Judged& judged) {
                 if (!judged.complaint.empty()) caller_.console.note(judged.complaint);
                 status = std::max(
                     status, judged.status, [](int a, int b) { return severity(a) < severity(b); });
                 if (judged.node) fleet_.push_back(*judged.node);
                 written = destination->write(judged.text);
                 return written.has_value();
               });
    if (written && has_table()) {
      written = destination->write(fleet_table(fleet_, files_.size() - fleet_.size()));
    }
    if (written) written = destination->finish();
    if (!written) return fail(caller_, undecided(written.error()).value());
    return lost == kExitHealthy ? status : lost;
  }

 private:
  [[nodiscard]] Judged judge_file(const std::string& file) const {
    const auto began = Clock::now();
    const auto text = read_file(file);
    if (!text) return refused(fmt::format("read {}: {}", file, text.error().message));
    const auto snapshot = parse_snapshot(*text);
    if (!snapshot) return refused(fmt::format("{}: {}", file, snapshot.error().message));
    const auto choice = profiles_.choose(*snapshot);
    if (!choice) {
      return {choice.error().status,
              "",
              fmt::format("muster: {}", choice.error().message),
              std::nullopt};
    }

    const auto own = lines_for(*snapshot);
    if (!own) {
      return {own.error().status,
              "",
              fmt::format("muster: {}: {}", file, own.error().message),
              std::nullopt};
    }
    auto report = judge_as_asked(command_, *own, *snapshot, *choice->profile);
    report.profile_evidence = choice->evidence;
    report.muster = kVersion;
    report.snapshot = file;
    report.duration_ms = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
    Judged judged{.status = exit_status(report.verdict), .text = {}, .complaint = {}, .node = {}};
    if (has_table()) judged.node = fleet_node(*snapshot, report);
    if (has_table() && files_.size() > kFewNodes && !command_.verbose) return judged;
    judged.text = render(report, command_, caller_.console, true);
    if (has_table() && !command_.quiet) judged.text.push_back('\n');
    return judged;
  }

  // Of a folder the lines for the node's size.
  [[nodiscard]] Attempt<std::optional<nhc::Config>> lines_for(const Snapshot& snapshot) const {
    if (!nhc_conf_by_size(command_)) return lines_;
    return nhc_conf_of(command_, snapshot.identity->instance_size);
  }

  [[nodiscard]] bool has_table() const {
    return command_.format == Format::text && files_.size() > 1;
  }

  [[nodiscard]] static Judged refused(std::string_view why) {
    return {kExitUndecided, "", fmt::format("muster: {}", why), std::nullopt};
  }

  const CheckCommand& command_;
  const Caller& caller_;
  std::optional<nhc::Config> lines_;
  std::vector<std::string> files_;
  ProfileCache& profiles_;
  std::vector<FleetNode> fleet_;
};

}  // namespace

int run_replay(const CheckCommand& command, const Caller& caller) {
  auto lines = nhc_conf_by_size(command) ? Attempt<std::optional<nhc::Config>>(std::nullopt)
                                         : nhc_conf_of(command);
  if (!lines) return fail(caller, lines.error());
  const auto sources = sources_of(caller.variables, command.root, command.settings);
  const auto name = profile_name(sources, command.profile);
  if (!name) return fail(caller, name.error());
  ProfileCache profiles(sources);
  if (*name) {
    auto choice = named_profile(sources, **name, read_profile_of);
    if (!choice) return fail(caller, choice.error());
    profiles.fix(std::move(*choice));
  }
  auto files = expand(command.snapshots);
  if (!files) return fail(caller, undecided(files.error()).value());
  if (row_of(command.format).one_report && files->size() > 1) {
    return fail(caller, {.status = kExitUsage, .message = "this --format takes one snapshot only"});
  }
  return Replay(command, caller, std::move(*lines), std::move(*files), profiles).run();
}

}  // namespace muster::app
