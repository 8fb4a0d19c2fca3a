// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/profile/ceilings.hpp"
#include "lib/profile/limit_rules.hpp"
#include "lib/profile/limits/bench.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/xid_rules.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

// Where the value at `path` was set, or the first value below it.
std::string where(const Profile& profile, const std::string& path) {
  auto found = profile.origins.find(path);
  if (found == profile.origins.end()) {
    const std::string inside = fmt::format("{}.", path);
    found = profile.origins.lower_bound(inside);
    if (found == profile.origins.end() || !found->first.starts_with(inside)) return profile.name;
  }
  return at(found->second.file, found->second.line);
}

tl::unexpected<Error> broken(const Profile& profile, const std::string& path,
                             std::string_view message) {
  return make_error(fmt::format("{}: '{}' {}", where(profile, path), path, message));
}

template <class Q>
Result<void> check_order(const Profile& profile, const std::string& path,
                         const BenchLimit<Q>& limit) {
  struct Step {
    std::string_view key;
    const Limit<Q>& value;
  };

  const std::array<Step, 3> ascending{Step{"fail_below", limit.fail_below},
                                      Step{"warn_below", limit.warn_below},
                                      Step{"expected", limit.expected}};
  for (std::size_t low = 0; low < ascending.size(); ++low) {
    for (std::size_t high = low + 1; high < ascending.size(); ++high) {
      const auto& [key, value] = ascending.at(low);
      const auto& [bound_key, bound] = ascending.at(high);
      if (!value || !bound || *value <= *bound) continue;
      return broken(profile, fmt::format("{}.{}", path, key),
                    fmt::format("is {}, above its '{}' of {}", to_string(*value), bound_key,
                                to_string(*bound)));
    }
  }
  if (!limit.promised || !limit.expected || *limit.promised <= *limit.expected) return {};
  return broken(profile, fmt::format("{}.promised", path),
                fmt::format("is {}, above its 'expected' of {}", to_string(*limit.promised),
                            to_string(*limit.expected)));
}

template <class Q>
bool is_set(const BenchLimit<Q>& limit) {
  return limit.expected || limit.promised || limit.warn_below || limit.fail_below;
}

Result<void> check_collective(const Profile& profile, const std::string& path,
                              const BenchLimit<BytesPerSecond>& limit) {
  if (is_set(limit) && !limit.size) {
    return broken(profile, path, "has no size; bus bandwidth means nothing without one");
  }
  return {};
}

Result<void> check_job(const Profile& profile, const std::string& path,
                       const BenchLimit<BytesPerSecond>& limit) {
  if (auto done = check_collective(profile, path, limit); !done) return done;
  if (!limit.algorithm) {
    return broken(profile, path, "has no algorithm; write ring, tree, nvls, collnet or any");
  }
  if (limit.nodes_at_least.value_or(0) < 2) {
    return broken(profile, path, "needs nodes_at_least, of 2 or more");
  }
  if (limit.nodes_at_most && *limit.nodes_at_most < *limit.nodes_at_least) {
    return broken(profile, path, "holds for no job: nodes_at_most is below nodes_at_least");
  }
  return check_order(profile, path, limit);
}

Result<void> check_bench(const Profile& profile) {
  Result<void> done;
  for_each_field<BenchLimits>([&](const auto& each) {
    if (!done) return;
    const std::string path = fmt::format("bench.{}", each.name);
    const auto& limit = (*profile.bench).*each.member;
    if constexpr (requires { limit.front().fail_below; }) {
      for (std::size_t i = 0; done && i < limit.size(); ++i) {
        done = check_job(profile, fmt::format("{}.{}", path, i), limit[i]);
      }
    } else if constexpr (requires { limit.fail_below; }) {
      done = check_order(profile, path, limit);
    }
  });
  if (!done) return done;
  done = check_collective(profile, "bench.node_all_reduce", profile.bench->node_all_reduce);
  if (!done) return done;
  return check_collective(profile, "bench.loopback_all_reduce", profile.bench->loopback_all_reduce);
}

// Which file or option says what the ceiling follows from, where the limit's own does not.
std::string said_elsewhere(const Profile& profile, const BoundedLimit& limit) {
  const auto own = profile.origins.find(limit.path);
  std::string text;
  for (const auto& path : limit.from) {
    const auto origin = profile.origins.find(path);
    if (origin == profile.origins.end() || own == profile.origins.end()) continue;
    if (origin->second.file == own->second.file) continue;
    text += fmt::format("; '{}' from {}", path, at(origin->second.file, origin->second.line));
  }
  return text;
}

Result<void> check_limits(const Profile& profile) {
  const auto found = find_broken_limit(profile);
  if (!found) return {};
  return broken(profile, found->path, found->message);
}

Result<void> check_xids(const Profile& profile) {
  const auto found = find_broken_xid(profile);
  if (!found) return {};
  return broken(profile, found->path, found->message);
}

Result<void> check_ceilings(const Profile& profile) {
  constexpr double kRounding = 1e-9;
  for (const auto& limit : bounded_limits(profile)) {
    if (limit.of_ceiling <= 1 + kRounding) continue;
    return broken(profile, limit.path,
                  fmt::format("is {}, above its physical ceiling of {} ({}{})", limit.limit,
                              limit.ceiling, limit.because, said_elsewhere(profile, limit)));
  }
  return {};
}

Result<void> check_contexts(const Profile& profile) {
  static const std::vector<std::string> known{"manual", "prolog", "epilog", "periodic", "boot"};
  for (const auto& [name, context] : profile.contexts) {
    if (std::ranges::count(known, name) > 0) continue;
    const std::string near = nearest(name, known);
    return broken(profile, fmt::format("contexts.{}", printable(name, 80)),
                  near.empty() ? fmt::format("is no context; known: {}", fmt::join(known, ", "))
                               : fmt::format("is no context; did you mean '{}'?", near));
  }
  return {};
}

Result<void> check_must_observe(const Profile& profile) {
  const std::vector<std::string> known(kMustObserveWords.begin(), kMustObserveWords.end());
  for (const auto& group : profile.must_observe) {
    if (std::ranges::count(known, group) > 0) continue;
    const auto near = nearest(group, known);
    return broken(profile, "must_observe",
                  fmt::format("names \"{}\"; {}", printable(group, 60),
                              near.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                                           : fmt::format("did you mean '{}'?", near)));
  }
  return {};
}

std::string file_of(const Profile& profile, const std::string& path) {
  const auto found = profile.origins.lower_bound(path);
  return found == profile.origins.end() ? "" : found->second.file;
}

// A kind of its own choice judges nothing; that of the defaults may be left over from patterns that
// a stronger file has replaced.
Result<void> check_kinds(const Profile& profile) {
  const auto& log = profile.host->kernel_log;
  const bool replaced = !file_of(profile, "host.kernel_log.patterns").ends_with("defaults.yaml");
  std::vector<std::string> used;
  for (const auto& pattern : log.patterns) used.push_back(pattern.kind);
  for (const auto& [kind, outcome] : log.kinds) {
    if (std::ranges::count(used, kind) > 0) continue;
    const auto path = fmt::format("host.kernel_log.kinds.{}", kind);
    if (replaced && file_of(profile, path).ends_with("defaults.yaml")) continue;
    const auto near = nearest(kind, used);
    return broken(profile, path,
                  fmt::format("is a kind of no pattern{}",
                              near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  return {};
}

Result<void> check_kernel_log(const Profile& profile) {
  const auto& log = profile.host->kernel_log;
  for (std::size_t i = 0; i < log.patterns.size(); ++i) {
    const std::string path = fmt::format("host.kernel_log.patterns.{}", i);
    if (log.patterns[i].pattern.empty()) return broken(profile, path, "has no pattern");
    if (log.kinds.contains(log.patterns[i].kind)) continue;
    return broken(profile, fmt::format("{}.kind", path),
                  fmt::format("is \"{}\", which is not among 'host.kernel_log.kinds'",
                              printable(log.patterns[i].kind, 60)));
  }
  return {};
}

}  // namespace

Result<void> check_rules(const Profile& profile) {
  for (const auto check : {check_bench, check_limits, check_ceilings, check_contexts,
                           check_must_observe, check_kernel_log, check_kinds, check_xids}) {
    if (auto done = check(profile); !done) return done;
  }
  return {};
}

}  // namespace muster
