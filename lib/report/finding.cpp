// SPDX-License-Identifier: Apache-2.0
#include "lib/report/finding.hpp"

#include <array>
#include <cstddef>

namespace muster {
namespace {

struct OutcomeName {
  Outcome outcome;
  std::string_view word;
};

// Worst first: the place in the list is the rank.
constexpr std::array kOutcomes{
    OutcomeName{Outcome::fail, "fail"},
    OutcomeName{Outcome::unknown, "unknown"},
    OutcomeName{Outcome::warn, "warn"},
    OutcomeName{Outcome::pass, "pass"},
    OutcomeName{Outcome::skip, "skip"},
};

struct RemedyName {
  Remedy remedy;
  std::string_view word;
  std::string_view description;
};

constexpr std::array kRemedies{
    RemedyName{Remedy::none, "none", ""},
    RemedyName{Remedy::watch, "watch", "watch it"},
    RemedyName{Remedy::restart_app, "restart_app", "end or restart the application"},
    RemedyName{Remedy::reset_gpu, "reset_gpu", "reset the GPU"},
    RemedyName{Remedy::restart_service, "restart_service", "restart the service"},
    RemedyName{Remedy::reboot, "reboot", "reboot the node"},
    RemedyName{Remedy::reseat_or_replace, "reseat_or_replace", "reseat or replace the part"},
    RemedyName{Remedy::fix_config, "fix_config", "fix the configuration"},
    RemedyName{Remedy::report_to_provider, "report_to_provider", "report to the provider"},
};

}  // namespace

std::string_view to_string(Outcome outcome) {
  return kOutcomes.at(static_cast<std::size_t>(rank(outcome))).word;
}

std::string_view to_string(Remedy remedy) {
  for (const auto& each : kRemedies) {
    if (each.remedy == remedy) return each.word;
  }
  return "none";
}

std::optional<Outcome> parse_outcome(std::string_view word) {
  for (const auto& each : kOutcomes) {
    if (each.word == word) return each.outcome;
  }
  return std::nullopt;
}

std::optional<Remedy> parse_remedy(std::string_view word) {
  for (const auto& each : kRemedies) {
    if (each.word == word) return each.remedy;
  }
  return std::nullopt;
}

std::string_view describe(Remedy remedy) {
  for (const auto& each : kRemedies) {
    if (each.remedy == remedy) return each.description;
  }
  return "";
}

bool is_plain_pass(const Finding& finding) {
  return finding.outcome == Outcome::pass && finding.remedy == Remedy::none;
}

int rank(Outcome outcome) {
  int place = 0;
  for (const auto& each : kOutcomes) {
    if (each.outcome == outcome) break;
    ++place;
  }
  return place;
}

}  // namespace muster
