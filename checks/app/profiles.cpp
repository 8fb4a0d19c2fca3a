// SPDX-License-Identifier: Apache-2.0
// `muster profiles` lists the names; `show NAME` prints the merged profile, each value with the
// file and line that set it; `export DIR` writes the shipped files.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "checks/app/commands.hpp"
#include "checks/app/limits_of.hpp"
#include "checks/names.hpp"
#include "lib/base/files.hpp"
#include "lib/base/text.hpp"
#include "lib/command/options.hpp"
#include "lib/profile/choice.hpp"
#include "lib/profile/yaml.hpp"
#include "lib/report/bench_checks.hpp"
#include "lib/report/report.hpp"

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
      text +=
          fmt::format("{:{}}  {}\n", printable(name, 120), width, printable(profile->summary, 200));
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
std::string line_of(std::string_view path, const LimitValue& limit) {
  constexpr std::size_t kWidth = 80;
  const auto begin = fmt::format("{}: {}", printable(path), shown_value(limit.value));
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
    std::error_code failure;
    const auto status = std::filesystem::symlink_status(path, failure);
    if (!std::filesystem::exists(status)) continue;
    return make_error(fmt::format("{} already exists; nothing was written", path.string()));
  }
  for (const auto& file : shipped_files()) {
    const auto path = folder / file.name;
    std::error_code failure;
    std::filesystem::create_directories(path.parent_path(), failure);
    if (failure) {
      return make_error(
          fmt::format("create {}: {}", path.parent_path().string(), failure.message()));
    }
    if (auto written = replace_file(path, file.text, 0644); !written) return written;
  }
  return {};
}

}  // namespace

int run_profiles(const ProfilesCommand& command, const Caller& caller) {
  if (!command.export_to.empty()) {
    if (const auto done = write_shipped(command.export_to); !done) {
      return fail(caller, undecided(done.error()).value());
    }
    return kExitHealthy;
  }
  const auto sources = sources_of(caller.variables, command.root, command.settings);
  return command.show.empty() ? list_profiles(sources, caller)
                              : show_profile(sources, command, caller);
}

}  // namespace muster::app
