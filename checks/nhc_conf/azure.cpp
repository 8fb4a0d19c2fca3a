// SPDX-License-Identifier: Apache-2.0
// Azure's checks that muster's own do not stand for: check_vbios_version and, by the kernel's log,
// check_ib_link_flapping.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "checks/nhc_conf/judging.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/link_log.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

constexpr std::uint64_t kDefaultHours = 24;
constexpr std::uint64_t kDefaultFlaps = 5;
constexpr std::uint64_t kMostHours = 100'000;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

bool has_words(std::string_view text, std::string_view words) {
  for (auto at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
    const auto end = at + words.size();
    const bool begins = at == 0 || !is_word(text[at - 1]);
    if (begins && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

Findings judge_vbios(const Snapshot& snapshot, const Arguments& arguments) {
  const auto wanted = argument(arguments, 0);
  const auto gpus = checks::gpu::answering(snapshot);
  if (gpus.empty()) return {not_judged("no GPU answers")};
  Findings findings;
  for (const Gpu* gpu : gpus) {
    const auto& version = gpu->firmware.vbios;
    if (!version) {
      findings.push_back(not_judged(fmt::format("the version of the VBIOS: {}", version.why()),
                                    checks::gpu::name_of(*gpu)));
    } else if (!has_words(*version, wanted)) {
      auto finding = checks::gpu::about(
          *gpu, Outcome::fail, fmt::format("VBIOS {}, wanted {}", *version, printable(wanted, 80)));
      finding.observed = *version;
      finding.limit = printable(wanted, 80);
      finding.remedy = Remedy::fix_config;
      findings.push_back(std::move(finding));
    }
  }
  if (findings.empty()) {
    return {checks::passed(fmt::format(
        "{} with VBIOS {}", checks::counted(gpus.size(), "GPU"), printable(wanted, 80)))};
  }
  // One image for all of them is one cause.
  const bool alike =
      findings.size() == gpus.size() && gpus.size() > 1 &&
      std::ranges::all_of(findings, [&](const Finding& each) {
        return each.outcome == Outcome::fail && each.observed == findings.front().observed;
      });
  if (!alike) return findings;
  findings.resize(1);
  findings.front().device = checks::kNode;
  findings.front().message = fmt::format("{0} of {0} GPUs: VBIOS {1}, wanted {2}",
                                         gpus.size(),
                                         *gpus.front()->firmware.vbios,
                                         printable(wanted, 80));
  return findings;
}

Findings judge_link_flaps(const Snapshot& snapshot, const Arguments& arguments) {
  std::uint64_t limits[] = {kDefaultHours, kDefaultFlaps};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto word = argument(arguments, i);
    if (word.empty()) continue;
    const auto number = parse_unsigned(word);
    if (!number || *number > kMostHours) {
      return {not_judged(fmt::format("expects a whole number, got \"{}\"", printable(word, 40)))};
    }
    limits[i] = *number;
  }
  const auto [hours, most] = limits;
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {checks::not_known(checks::kNode, "the time since boot", uptime)};
  const double begin_us = (*uptime - 3600.0 * static_cast<double>(hours)) * 1e6;
  Findings findings;
  for (const auto& [adapter, times] : checks::link_downs_by_adapter(snapshot, begin_us)) {
    if (times < most) continue;
    findings.push_back({.device = adapter,
                        .outcome = Outcome::fail,
                        .message = fmt::format("the link went down {} in {} h, less than {} wanted "
                                               "(the kernel log says so)",
                                               checks::counted(times, "time"),
                                               hours,
                                               most),
                        .observed = checks::count_value(times),
                        .limit = checks::count_value(most),
                        .remedy = checks::hardware_remedy(snapshot)});
  }
  return checks::or_pass(std::move(findings),
                         fmt::format("no link went down {} or more in {} h by the kernel's log",
                                     checks::counted(most, "time"),
                                     hours));
}

// As rocm-smi lists them: those that the amdgpu driver has.
Findings judge_amd_count(const Snapshot& snapshot, const Arguments& arguments) {
  const auto wanted = parse_unsigned(argument(arguments, 0));
  if (!wanted) return {not_judged(fmt::format("the number of GPUs: {}", wanted.error().message))};
  const auto found = snapshot.pci->amd_gpus.size();
  if (found == *wanted) {
    return {
        checks::passed(fmt::format("{} with the amdgpu driver", checks::counted(found, "GPU")))};
  }
  return {{.device = std::string(checks::kNode),
           .outcome = Outcome::fail,
           .message = fmt::format(
               "{} with the amdgpu driver, expected {}", checks::counted(found, "GPU"), *wanted),
           .observed = checks::count_value(found),
           .limit = checks::count_value(*wanted),
           .remedy = Remedy::reboot,
           .code = "NHC2009"}};
}

}  // namespace muster::nhc
