// SPDX-License-Identifier: Apache-2.0
#include "checks/app/observe_node.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "checks/names.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/observe.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUsualState = "/var/lib/muster";

// A foreign tree has no state, unless --state names a folder for it.
std::optional<std::filesystem::path> state_file_of(const ObservationRequest& request,
                                                   const Root& root) {
  if (!request.state.empty()) return std::filesystem::path(request.state) / "state.json";
  if (root.foreign()) return std::nullopt;
  return std::filesystem::path(kUsualState) / "state.json";
}

// The caller's environment does not apply to a foreign node.
std::map<std::string, std::string> variables_of(const Root& root,
                                                std::map<std::string, std::string> variables) {
  if (!root.foreign()) return variables;
  std::erase_if(variables, [](const auto& each) { return steers_nccl(each.first); });
  return variables;
}

void append(std::vector<std::string>& target, const std::vector<std::string>& more) {
  target.insert(target.end(), more.begin(), more.end());
}

// Whether a run has time for facts that are slow to read.
bool has_time(std::string_view context) { return context == "manual" || context == "boot"; }

// A job waits for a prolog and an epilog: do not query the firmware of each HCA there.
bool wants_link_errors(std::string_view context) {
  return context != "prolog" && context != "epilog";
}

NvmlParts parts_for(const ObservationRequest& request) {
  NvmlParts parts = request.parts;
  parts.inforom = parts.inforom && has_time(request.context);
  return parts;
}

// Reserves time for judging and writing.
Clock::time_point observe_until(Clock::time_point started, Clock::time_point deadline) {
  constexpr Clock::duration kLongestReserve = std::chrono::milliseconds(500);
  return deadline - std::min(kLongestReserve, (deadline - started) / 5);
}

// Leaves at least a second after recognition, to report a probe that hangs.
void move_deadline(const ObservationRequest& request, const Profile& profile,
                   Clock::time_point started, Deadline& deadline) {
  constexpr auto kLeast = std::chrono::seconds(1);
  if (request.deadline) return;
  const auto context = profile.contexts.find(request.context);
  if (context == profile.contexts.end() || context->second.deadline.value <= 0) return;
  const auto told = started + to_duration(context->second.deadline);
  deadline.move(std::max(told, Clock::now() + kLeast));
}

// Returns the *.json of a directory in order.
Result<std::vector<std::string>> json_files(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code failure;
  fs::directory_iterator entries(directory, failure);
  for (; !failure && entries != fs::directory_iterator(); entries.increment(failure)) {
    if (entries->path().extension() == ".json") files.push_back(entries->path().string());
  }
  if (failure) {
    return make_error(fmt::format("list {}: {}", printable(directory), failure.message()));
  }
  if (files.empty()) return make_error(fmt::format("no *.json in {}", printable(directory)));
  std::ranges::sort(files);
  return files;
}

}  // namespace

Wanted wanted_of(const Profile& profile) {
  Wanted wanted;
  for (const auto& [key, value] : profile.host->sysctl.values) wanted.sysctls.push_back(key);
  append(wanted.files, profile.host->programs.executable);
  append(wanted.files, profile.host->programs.present);
  append(wanted.files, profile.host->container_storage.paths);
  append(wanted.libraries, profile.env->libraries.required);
  append(wanted.libraries, profile.env->libraries.optional);
  wanted.nccl_topology = profile.topo->nccl_file.path.value_or("");
  const auto statfs = std::chrono::duration<double>(profile.host->mounts.answer_within.value);
  if (statfs.count() > 0) {
    wanted.statfs_deadline = std::chrono::duration_cast<std::chrono::milliseconds>(statfs);
  }
  return wanted;
}

Result<Root> open_root(const std::string& path) {
  if (path == "/") return Root();
  return Root::below(path);
}

Attempt<ObservedNode> observe_node(const ObservationRequest& request,
                                   const std::map<std::string, std::string>& variables,
                                   Clock::time_point started, Deadline& deadline) {
  const auto sources = sources_of(variables, request.root, request.settings);
  TRY_ASSIGN(const auto name, profile_name(sources, request.profile));
  const auto root = open_root(request.root);
  if (!root) {
    // An invalid profile is reported first.
    TRY(name ? named_profile(sources, *name, read_profile_of) : Attempt<Choice>());
    return undecided(root.error());
  }

  const auto state_file = state_file_of(request, *root);
  Result<Candidates> candidates;
  const auto read_them = [&] { candidates = read_candidates(sources); };
  const ObserveOptions options{.recognise = !name,
                               .probes = request.probes(nullptr),
                               .deadline = observe_until(started, deadline.when()),
                               .nvml = {.library = request.nvml, .parts = parts_for(request)},
                               .link_errors = wants_link_errors(request.context),
                               .state_file = state_file,
                               .variables = variables_of(*root, variables),
                               .meanwhile = name ? std::function<void()>() : read_them};
  Attempt<Choice> choice;
  auto snapshot = observe(*root, options, [&](const Snapshot& partial) -> std::optional<Plan> {
    choice = name ? named_profile(sources, *name, read_profile_of)
                  : recognised_profile(sources, candidates, partial, read_profile_of);
    if (!choice) return std::nullopt;
    move_deadline(request, choice->profile, started, deadline);
    return Plan{.probes = request.probes(&choice->profile) | Probe::identity,
                .deadline = observe_until(started, deadline.when()),
                .wanted = wanted_of(choice->profile)};
  });
  if (!choice) return tl::unexpected(choice.error());
  return ObservedNode{
      .snapshot = std::move(snapshot), .choice = std::move(*choice), .state_file = state_file};
}

Result<std::vector<std::string>> snapshot_files(const std::vector<std::string>& named) {
  std::vector<std::string> files;
  for (const auto& each : named) {
    std::error_code failure;
    if (each == kStandardInput || !fs::is_directory(each, failure)) {
      files.push_back(each);
      continue;
    }
    const auto found = json_files(each);
    if (!found) return found;
    append(files, *found);
  }
  return files;
}

Result<Snapshot> read_snapshot(const std::string& file) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (opened.is_open()) return read_snapshot(opened.get(), file);
  return os_error("read", file, errno);
}

Result<Snapshot> read_snapshot(int descriptor, std::string_view name) {
  constexpr std::size_t kLargest = 64UL * 1024 * 1024;
  std::string text;
  if (const int code = read_all(descriptor, text, kLargest); code != 0) {
    return os_error("read", name, code);
  }
  if (text.size() > kLargest) {
    return make_error(fmt::format("read {}: more than {} bytes", name, kLargest));
  }
  auto snapshot = parse_snapshot(text);
  if (!snapshot) return make_error(fmt::format("{}: {}", name, snapshot.error().message));
  return snapshot;
}

}  // namespace muster::app
