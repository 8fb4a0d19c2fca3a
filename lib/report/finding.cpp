// SPDX-License-Identifier: Apache-2.0
#include "lib/report/finding.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace muster {
namespace {

template <class T>
struct Name {
  T value;
  std::string_view word;  // in reports
  std::string_view description = {};
};

// Worst first: the place in the list is the rank.
constexpr std::array kOutcomes{
    Name<Outcome>{Outcome::fail, "fail"},
    Name<Outcome>{Outcome::unknown, "unknown"},
    Name<Outcome>{Outcome::warn, "warn"},
    Name<Outcome>{Outcome::pass, "pass"},
    Name<Outcome>{Outcome::skip, "skip"},
};

// In the order of the enumeration.
constexpr std::array kRemedies{
    Name<Remedy>{Remedy::none, "none", ""},
    Name<Remedy>{Remedy::watch, "watch", "watch it"},
    Name<Remedy>{Remedy::restart_app, "restart_app", "end or restart the application"},
    Name<Remedy>{Remedy::reset_gpu, "reset_gpu", "reset the GPU"},
    Name<Remedy>{Remedy::restart_service, "restart_service", "restart the service"},
    Name<Remedy>{Remedy::reboot, "reboot", "reboot the node"},
    Name<Remedy>{Remedy::reseat_or_replace, "reseat_or_replace", "reseat or replace the part"},
    Name<Remedy>{Remedy::fix_config, "fix_config", "fix the configuration"},
    Name<Remedy>{Remedy::report_to_provider, "report_to_provider", "report to the provider"},
};

static_assert(std::ranges::is_sorted(kRemedies, {}, &Name<Remedy>::value));

const Name<Remedy>& name_of(Remedy remedy) {
  return kRemedies.at(static_cast<std::size_t>(remedy));
}

template <class T, std::size_t kSize>
std::optional<T> value_of(const std::array<Name<T>, kSize>& names, std::string_view word) {
  const auto* const found = std::ranges::find(names, word, &Name<T>::word);
  return found == names.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  return kOutcomes.at(static_cast<std::size_t>(rank(outcome))).word;
}

std::string_view to_string(Remedy remedy) { return name_of(remedy).word; }

std::optional<Outcome> parse_outcome(std::string_view word) { return value_of(kOutcomes, word); }

std::optional<Remedy> parse_remedy(std::string_view word) { return value_of(kRemedies, word); }

std::string_view describe(Remedy remedy) { return name_of(remedy).description; }

bool is_plain_pass(const Finding& finding) {
  return finding.outcome == Outcome::pass && finding.remedy == Remedy::none;
}

int rank(Outcome outcome) {
  const auto* const found = std::ranges::find(kOutcomes, outcome, &Name<Outcome>::value);
  return static_cast<int>(found - kOutcomes.begin());
}

}  // namespace muster
