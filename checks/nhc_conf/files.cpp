// SPDX-License-Identifier: Apache-2.0
// check_file_stat: owners, permissions and ages of files.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>

#include "checks/nhc_conf/judging.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

using Held = Result<bool>;  // an error: not to be told

Result<std::uint64_t> wanted_number(std::string_view text, int base) {
  std::uint64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number, base);
  if (failure == std::errc() && stopped == end) return number;
  return make_error(fmt::format("expects a number, got \"{}\"", printable(text, 40)));
}

template <class T>
Result<std::uint64_t> known(const Fact<T>& fact, std::string_view what) {
  if (fact) return static_cast<std::uint64_t>(*fact);
  return make_error(fmt::format("{} is not known: {}", what, fact.why()));
}

// When the snapshot was taken, in seconds since 1970.
Result<std::uint64_t> now_of(const Snapshot& snapshot) {
  std::tm time{};
  const auto* const end = ::strptime(snapshot.taken.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (end == nullptr) return make_error("when this was observed is not known");
  return static_cast<std::uint64_t>(::timegm(&time));
}

// Only root's number goes without a directory service.
Held is_named(const Fact<std::uint64_t>& id, std::string_view name) {
  const auto seen = known(id, "the owner");
  if (!seen) return tl::unexpected(seen.error());
  if (name == "root" || parse_unsigned(name)) return *seen == parse_unsigned(name).value_or(0);
  return make_error("of the names of users and groups only root is known");
}

Held is_younger(const Snapshot& snapshot,
                const Fact<std::uint64_t>& time,
                std::string_view seconds) {
  const auto age = wanted_number(seconds, 10);
  const auto changed = known(time, "its age");
  const auto now = now_of(snapshot);
  if (!age) return tl::unexpected(age.error());
  if (!changed) return tl::unexpected(changed.error());
  if (!now) return tl::unexpected(now.error());
  return *changed + *age >= *now;
}

Held negated(const Held& held) { return held ? Held(!*held) : held; }

Held mode_holds(const FileFact& file, std::string_view wanted, bool exactly) {
  const auto bits = wanted_number(wanted, 8);
  const auto mode = known(file.mode, "its permissions");
  if (!bits) return tl::unexpected(bits.error());
  if (!mode) return tl::unexpected(mode.error());
  return exactly ? *mode == *bits : (*mode & *bits) == *bits;
}

Held id_is(const Fact<std::uint64_t>& id, std::string_view wanted) {
  const auto number = wanted_number(wanted, 10);
  const auto seen = known(id, "the owner");
  if (!number) return tl::unexpected(number.error());
  if (!seen) return tl::unexpected(seen.error());
  return *seen == *number;
}

Held holds(const Snapshot& snapshot, const FileFact& file, char option, std::string_view wanted) {
  switch (option) {
    case 'm':
      return mode_holds(file, wanted, true);
    case 'M':
      return mode_holds(file, wanted, false);
    case 'u':
      return id_is(file.owner, wanted);
    case 'g':
      return id_is(file.group, wanted);
    case 'U':
      return is_named(file.owner, wanted);
    case 'G':
      return is_named(file.group, wanted);
    case 'n':
      return is_younger(snapshot, file.modified_s, wanted);
    case 'o':
      return negated(is_younger(snapshot, file.modified_s, wanted));
    case 'N':
      return is_younger(snapshot, file.changed_s, wanted);
    case 'O':
      return negated(is_younger(snapshot, file.changed_s, wanted));
    default:
      return make_error("numbers of devices are not observed");
  }
}

constexpr std::string_view kStatOptions = "D:G:M:N:O:T:U:d:g:m:n:o:t:u:";

Finding file_failed(const std::string& path, std::string message) {
  return {.device = printable(path),
          .outcome = Outcome::fail,
          .message = std::move(message),
          .remedy = Remedy::fix_config};
}

Finding judge_file(const Snapshot& snapshot, const FileFact& file, const Options& options) {
  if (!file.exists) {
    if (file.space.is_absent())
      return file_failed(file.path, fmt::format("{} is not there", file.path));
    return not_judged(file.space.why(), file.path);
  }
  for (const auto& [option, values] : options.given) {
    const auto held = holds(snapshot, file, option, values.back());
    if (!held) return not_judged(fmt::format("-{}: {}", option, held.error().message), file.path);
    if (*held) continue;
    return file_failed(file.path,
                       fmt::format("-{} {} does not hold for {} (mode {:04o}, owner {}, group {})",
                                   option,
                                   printable(values.back(), 40),
                                   file.path,
                                   file.mode.value_or(0),
                                   file.owner.value_or(0),
                                   file.group.value_or(0)));
  }
  return checks::passed(fmt::format("{} is as wanted", printable(file.path)), file.path);
}

}  // namespace

std::vector<std::string> stat_files(const Arguments& arguments) {
  auto options = read_options(arguments, kStatOptions);
  if (!options) return {};
  std::erase_if(options->rest, [](const auto& path) { return !path.starts_with('/'); });
  return std::move(options->rest);
}

Findings judge_file_stat(const Snapshot& snapshot, const Arguments& arguments) {
  const auto options = read_options(arguments, kStatOptions);
  if (!options) return {not_judged(options.error().message)};
  if (options->rest.empty()) return {not_judged("no file is named")};
  Findings findings;
  const auto& files = snapshot.environment->files;
  for (const auto& path : options->rest) {
    const auto file = std::ranges::find(files, path, &FileFact::path);
    findings.push_back(file == files.end()
                           ? not_judged(fmt::format("{} is not observed", printable(path)), path)
                           : judge_file(snapshot, *file, *options));
  }
  return findings;
}

}  // namespace muster::nhc
