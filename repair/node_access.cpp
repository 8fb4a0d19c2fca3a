// SPDX-License-Identifier: Apache-2.0
#include "repair/node_access.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "accept/remote.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"

namespace muster::repair {
namespace {

using std::chrono::seconds;

constexpr seconds kActionTime{60};
constexpr seconds kConnectTime{30};  // added to each deadline
constexpr seconds kCheckTime{90};
constexpr int kTimedOut = 124;  // timeout(1) ended the command
constexpr int kKilled = 137;    // timeout(1) had to kill it
constexpr int kLost = 255;      // ssh lost the connection

// Runs the command under timeout(1) on the node, so that a command that hangs has really ended when
// its status is known.
std::vector<std::string> in_time(std::vector<std::string> words) {
  words.insert(words.begin(),
               {"timeout", "--kill-after=5", fmt::format("{}", kActionTime.count())});
  return words;
}

}  // namespace

NodeAccess::NodeAccess(std::string by, std::string node, Variables variables)
    : by_(std::move(by)), node_(std::move(node)), variables_(std::move(variables)) {
  const bool here = node_ == host_name() || node_ == without_domain(host_name()) ||
                    node_ == value_of(variables_, "SLURMD_NODENAME");
  if (by_ == "ssh" && here) by_ = "local";
  variables_.try_emplace("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  muster_ = failure ? "/usr/bin/muster" : self.string();
}

Result<Ended> NodeAccess::run(const std::vector<std::string>& words, seconds time) const {
  const auto command = accept::node_command(by_, node_, words);
  TRY_ASSIGN(const auto program, find_program(command.front(), variables_));
  return run_program({.program = program,
                      .arguments = {command.begin() + 1, command.end()},
                      .environment = variables_,
                      .limit = time + kConnectTime});
}

Result<Report> NodeAccess::check(const std::string& check) const {
  TRY_ASSIGN(const auto ended,
             run({muster_, "check", "--only", check, "--format", "json"}, kCheckTime));
  auto report = parse_report(ended.out);
  if (report) return report;
  return make_error("no report from {}: {}", check, last_line(ended.err + ended.out));
}

std::optional<std::size_t> NodeAccess::processes() const {
  const auto ended = run(
      in_time({"nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"}), kActionTime);
  if (!ended || ended->status != 0) return std::nullopt;
  std::size_t count = 0;
  for (const auto line : split_lines(ended->out)) {
    if (trim(line).empty()) continue;
    if (!parse_unsigned(trim(line))) return std::nullopt;
    ++count;
  }
  return count;
}

Result<std::string> NodeAccess::collect_evidence() const {
  TRY_ASSIGN(const auto ended, run({muster_, "evidence", "--node", node_, "--deadline",
                                    fmt::format("{}s", kEvidenceTime.count())},
                                   kEvidenceTime));
  if (ended.status == 0) return std::string(trim(ended.out));
  return make_error(last_line(ended.err));
}

ActionOutcome NodeAccess::restart(const std::string& unit) const {
  const auto ended = run(in_time({"systemctl", "restart", unit}), kActionTime);
  if (!ended) return {.why = ended.error().message};
  const bool is_lost = ended->status == kLost && by_ != "local";
  // systemd continues without its client.
  if (is_lost || ended->status == kTimedOut || ended->status == kKilled) {
    return {.why = fmt::format("systemctl restart {}: no answer", unit)};
  }
  if (ended->status == 0) return {State::succeeded, ""};
  return {State::failed, fmt::format("systemctl: {}", last_line(ended->err))};
}

ActionOutcome NodeAccess::reset_gpu(const std::string& gpu) const {
  const auto persistence = [&](const char* mode) {
    static_cast<void>(run(in_time({"nvidia-smi", "-i", gpu, "-pm", mode}), kActionTime));
  };
  persistence("0");
  const auto ended = run(in_time({"nvidia-smi", "--gpu-reset", "-i", gpu}), kActionTime);
  if (!ended) return {.why = ended.error().message};
  if (ended->status == kLost && by_ != "local") {
    return {.why = fmt::format("the connection was lost: {}", last_line(ended->err))};
  }
  persistence("1");
  if (ended->status == 0) return {State::succeeded, ""};
  if (ended->status == kTimedOut || ended->status == kKilled) {
    return {State::failed, fmt::format("no reset within {} s", kActionTime.count())};
  }
  return {State::failed, fmt::format("nvidia-smi: {}", last_line(ended->err + ended->out))};
}

}  // namespace muster::repair
