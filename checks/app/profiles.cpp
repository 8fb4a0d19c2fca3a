// SPDX-License-Identifier: Apache-2.0
// `muster profiles` lists the names; `show NAME` prints the merged profile, each value with the
// file and line that set it; `export DIR` writes the shipped files. `make NAME` makes a profile
// from this node, or from the majority of snapshots. It leaves out sick nodes: their faults would
// become the expected values. `muster validate` checks the site's files and everything that they
// name.
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include "checks/app/inspect.hpp"
#include "checks/app/limits_of.hpp"
#include "checks/make_profile/make_profile.hpp"
#include "lib/base/files.hpp"
#include "lib/profile/site.hpp"
#include "lib/profile/yaml.hpp"
#include "lib/report/bench_checks.hpp"
#include "repair/rules.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {
namespace {

int list_profiles(const ProfileSources& sources, const Caller& caller) {
  const auto listed = profile_names(sources);
  if (!listed) return fail(caller, bad_configuration(listed.error()).value());
  const auto& names = *listed;
  if (names.empty()) {
    return fail(caller, {.status = kExitConfiguration,
                         .message = fmt::format("no profiles in {}", sources.shipped.string())});
  }
  std::size_t width = 0;
  for (const auto& name : names) width = std::max(width, name.size());
  std::string text;
  int status = kExitHealthy;
  for (const auto& name : names) {
    const auto profile = read_profile_of(sources, name);
    if (profile) {
      text += fmt::format("{:{}}  {}\n", printable(name, 120), width,
                          wrapped(printable(profile->summary, 200), width + 2));
    } else {
      status = fail(caller, bad_configuration(profile.error()).value());
    }
  }
  return deliver(caller, "", text, status);
}

// Not every limit of a profile has a check of muster-bench.
bool is_judged(std::string_view path) {
  constexpr std::string_view kBench = "bench.";
  constexpr std::string_view kEnvironment = "environment";
  if (!path.starts_with(kBench)) return true;
  const auto block = path.substr(0, path.find('.', kBench.size()));
  return find_bench_check(block) != nullptr || block.substr(kBench.size()) == kEnvironment;
}

// A comment, wrapped at 80 columns.
std::string comment(std::string_view text) {
  const auto broken = wrapped(text, 2);
  std::string lines;
  for (const auto line : split_lines(broken)) lines += fmt::format("# {}\n", trim(line));
  return lines;
}

// Wraps at 80 columns; the origin of a long value is on the next line.
std::string line_of(std::string_view path, const SetValue& limit) {
  constexpr std::size_t kWidth = 80;
  const auto begin = fmt::format("{}: {}", printable(path), shown_value(limit.text));
  const auto end =
      fmt::format("# {}{}", place_of(limit.origin), is_judged(path) ? "" : "; not judged yet");
  if (begin.size() + 2 + end.size() <= kWidth) return fmt::format("{}  {}\n", begin, end);
  return fmt::format("{}\n    {}\n", begin.size() <= kWidth ? begin : wrapped(begin, 4), end);
}

int show_profile(const ProfileSources& sources, const ProfilesCommand& command,
                 const Caller& caller) {
  const auto profile = read_profile_of(sources, command.show);
  if (!profile) return fail(caller, bad_configuration(profile.error()).value());
  // Unchanged values come from defaults.yaml, or from the table of XIDs below it.
  const auto is_default = [](const Origin& origin) {
    return origin.file.ends_with("defaults.yaml") || origin.file.ends_with("xids.yaml");
  };
  auto text = fmt::format("# {}\n", wrapped(fmt::format("{}: {}", printable(profile->name, 120),
                                                        printable(profile->summary, 300)),
                                            2));
  // A source applies until the next one.
  std::string source;
  for (const auto& [path, value] : values_at(*profile, "")) {
    if (command.changed && is_default(value.origin)) continue;
    if (auto own = source_of(value.origin); !own.empty() && own != source) {
      text += comment(fmt::format("source: {}", own));
      source = std::move(own);
    }
    text += line_of(path, value);
  }
  for (const auto& warning : review(*profile))
    caller.console.note(fmt::format("muster: warning: {}", warning));
  return deliver(caller, "", text, kExitHealthy);
}

Result<void> write_shipped(const std::filesystem::path& folder) {
  for (const auto& file : shipped_files()) {
    const auto path = folder / file.name;
    if (::geteuid() == 0) TRY(check_no_others_link(path));
    std::error_code failure;
    const auto status = std::filesystem::symlink_status(path, failure);
    if (!std::filesystem::exists(status)) continue;
    return make_error("{} already exists; nothing was written", path.string());
  }
  for (const auto& file : shipped_files()) {
    const auto path = folder / file.name;
    std::error_code failure;
    std::filesystem::create_directories(path.parent_path(), failure);
    if (failure) {
      return make_error("create {}: {}", path.parent_path().string(), failure.message());
    }
    if (auto written = replace_file(path, file.text, 0644); !written) return written;
  }
  return {};
}

struct Source {
  std::string name;  // the file, or the node's
  Snapshot snapshot;
};

Result<void> check_name(const ProfileSources& sources, const std::string& name) {
  const bool plain = !name.empty() && name.front() != '.' && name.front() != '-' &&
                     std::ranges::all_of(name, [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
                     });
  if (!plain || name.ends_with(".yaml")) {
    return make_error(
        "invalid profile name \"{}\", expected letters, digits, _, - and ., such as trainer_h100",
        printable(name, 80));
  }
  ProfileSources shipped = sources;
  shipped.site.clear();
  TRY_ASSIGN(const auto known, profile_names(shipped));
  const auto wanted = plain_profile_name(name);
  const bool taken = std::ranges::any_of(
      known, [&](const std::string& each) { return plain_profile_name(each) == wanted; });
  if (wanted == kDefaults || taken) {
    return make_error("muster ships a profile named {}; choose another name", name);
  }
  return {};
}

// Why this node is unfit for making a profile; empty if it is fit.
std::string why_unfit(const Source& source, const Profile& generic) {
  const auto& node = source.snapshot;
  for (const auto& [probe, ok, reason] :
       {std::tuple("cpu", node.cpu.ok(), node.cpu.reason),
        std::tuple("memory", node.memory.ok(), node.memory.reason),
        std::tuple("pci", node.pci.ok(), node.pci.reason)}) {
    if (!ok) return fmt::format("the {} probe failed: {}", probe, reason);
  }
  if (gpu_count(node).value_or(0) == 0 && node.nvml.ok() && !node.nvml->gpus.empty()) {
    return "NVML lists GPUs, but the PCI bus none";
  }
  const auto report = judge(node, generic, {});
  if (report.verdict != Verdict::unhealthy) return {};
  for (const auto& finding : report.findings) {
    if (finding.outcome != Outcome::fail) continue;
    return fmt::format("it is sick: {} {}: {}", finding.check, finding.device, finding.message);
  }
  return "it is sick";
}

Attempt<std::vector<Source>> observed_here(const ProfilesCommand& command, const Caller& caller,
                                           Deadline& deadline) {
  const ObservationRequest request{
      .profile = "generic",
      .root = command.root,
      .nvml = command.nvml,
      .probes = [](const Profile* /*known*/) { return ProbeSet::all(); }};
  TRY_ASSIGN(auto observed, observe_node(request, caller.variables, caller.started, deadline));
  std::vector<Source> sources(1);
  sources.front() = {.name = "this node", .snapshot = std::move(observed.snapshot)};
  return sources;
}

Attempt<std::vector<Source>> read_snapshots(const ProfilesCommand& command) {
  const auto files = snapshot_files(command.snapshots);
  if (!files) return undecided(files.error());
  std::vector<Source> sources;
  for (const auto& file : *files) {
    const auto text = read_named(file);
    if (!text) return undecided(text.error());
    auto snapshot = parse_saved(*text, file);
    if (!snapshot) return undecided(snapshot.error());
    sources.push_back({.name = printable(file), .snapshot = std::move(*snapshot)});
  }
  return sources;
}

// Returns the healthy nodes if they are the majority.
Attempt<std::vector<Snapshot>> fit_nodes(std::vector<Source> sources, const Profile& generic,
                                         const Caller& caller) {
  std::vector<Snapshot> fit;
  std::string last;
  for (auto& source : sources) {
    const auto why = why_unfit(source, generic);
    if (why.empty()) {
      fit.push_back(std::move(source.snapshot));
      continue;
    }
    last = fmt::format("{}: {}", source.name, why);
    caller.console.note(fmt::format("muster: skipping {}", last));
  }
  if (fit.size() * 2 > sources.size()) return fit;
  return tl::unexpected(
      Failure{.status = kExitUnhealthy,
              .message = fmt::format("most nodes are unfit to make a profile: {}", last)});
}

struct Validation {
  const Caller& caller;
  const std::string& root;
  ProfileSources sources;
  std::vector<std::string> reported = {};
  std::string output = {};
  bool failed = false;

  [[nodiscard]] int run() {
    if (const auto checked = check_root(root); !checked) {
      return fail(caller, bad_configuration(checked.error()).value());
    }
    const auto site = read_site(sources);
    if (site) {
      check_site(*site);
    } else {
      report_error(site.error().message);
    }
    return deliver(caller, "", output, failed ? kExitConfiguration : kExitHealthy);
  }

  void report_error(const std::string& message) {
    failed = true;
    if (std::ranges::count(reported, message) > 0) return;  // several profiles may report it
    reported.push_back(message);
    caller.console.note(fmt::format("muster: {}", message));
  }

  void report_ok(std::string_view what) { output += fmt::format("ok: {}\n", printable(what)); }

  void check_site(const SiteFile& site) {
    const auto before = reported.size();
    check_profile(site.profile.empty() ? "generic" : site.profile, site);
    check_slurm(site);
    check_repair(site);
    std::error_code failure;
    const bool exists = std::filesystem::exists(site.shown, failure);
    if (!exists) {
      report_ok(fmt::format("no {}: using built-in defaults", site.shown));
    } else if (reported.size() == before) {
      report_ok(site.shown);
    }
    check_own_profiles();
  }

  // With the site's overrides.
  void check_profile(const std::string& name, const SiteFile& site) {
    const auto profile = read_profile_of(sources, name);
    if (!profile && profile.error().missing) {
      return report_error(fmt::format("{}:{}: 'profile': {}", site.shown, site.profile_line,
                                      profile.error().message));
    }
    if (!profile) return report_error(profile.error().message);
    for (const auto& warning : review(*profile)) {
      caller.console.note(fmt::format("muster: warning: {}", warning));
    }
  }

  void check_slurm(const SiteFile& site) {
    const auto block = validate_slurm_block(site, root);
    for (const auto& trouble : block.troubles) report_error(trouble);
    const auto* const unknown = site.slurm.find("unknown");
    for (const auto& [glob, line, word] : unknown == nullptr ? Yaml().entries : unknown->entries) {
      if (names_check(glob)) continue;
      report_error(fmt::format("{}: 'slurm.unknown': unknown check \"{}\"{}", at(site.shown, line),
                               printable(glob, 80), suggestion(glob, check_ids())));
    }
    if (!block.rules.nhc_conf.empty()) check_nhc_conf(block.rules.nhc_conf);
  }

  void check_repair(const SiteFile& site) {
    const auto rules = repair::read_repair_rules(sources, root);
    if (!rules) return report_error(rules.error().message);
    if (!rules->by.starts_with('/')) return;
    const auto trouble = file_trouble({"repair.by", rules->by, X_OK}, site, root);
    if (!trouble.empty()) report_error(trouble);
  }

  void check_nhc_conf(const std::string& file) {
    const auto below = root == "/" ? "" : root;
    const auto config = nhc_conf_of({.nhc_conf = fmt::format("{}{}", below, file)});
    if (!config || !*config) return;  // already reported
    for (const auto& line : (*config)->lines) {
      if (line.complaint.empty()) continue;
      caller.console.note(
          fmt::format("muster: warning: {}:{}: {}", file, line.number, line.complaint));
    }
  }

  void check_own_profiles() {
    const auto folder = sources.site / "profiles";
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
      const auto profile = read_profile_of(sources, name);
      if (profile) {
        report_ok(name);
      } else {
        report_error(profile.error().message);
      }
    }
  }
};

}  // namespace

int run_profiles(const ProfilesCommand& command, const Caller& caller) {
  if (!command.export_to.empty()) {
    if (const auto done = write_shipped(command.export_to); !done) {
      return fail(caller, undecided(done.error()).value());
    }
    return kExitHealthy;
  }
  if (const auto root = check_root(command.root); !root) {
    return fail(caller, bad_configuration(root.error()).value());
  }
  const auto sources = sources_of(caller.variables, command.root, command.settings);
  return command.show.empty() ? list_profiles(sources, caller)
                              : show_profile(sources, command, caller);
}

int run_make_profile(const ProfilesCommand& command, const Caller& caller, Deadline& deadline) {
  const auto sources = sources_of(caller.variables, command.root, {});
  if (auto named = check_name(sources, command.make); !named) {
    return fail(caller, {.status = kExitUsage, .message = named.error().message});
  }
  const auto generic = read_profile_of(sources, "generic");
  if (!generic) return fail(caller, bad_configuration(generic.error()).value());
  auto nodes = command.snapshots.empty() ? observed_here(command, caller, deadline)
                                         : read_snapshots(command);
  if (!nodes) return fail(caller, nodes.error());
  const auto fit = fit_nodes(std::move(*nodes), *generic, caller);
  if (!fit) return fail(caller, fit.error());
  const auto made = make_profile(command.make, *fit);
  for (const auto& each : made.missing) {
    caller.console.note(fmt::format("muster: not set: {}", printable(each)));
  }
  constexpr unsigned kReadable = 0644;
  return deliver(caller, command.output, made.yaml, kExitHealthy, kReadable);
}

int run_validate(const ValidateCommand& command, const Caller& caller) {
  return Validation{caller, command.root, sources_of(caller.variables, command.root, {})}.run();
}

}  // namespace muster::app
