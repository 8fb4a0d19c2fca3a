// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/job.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

Result<std::string> call_for_job(const Installation& installation, const std::string& id,
                                 std::vector<std::string> arguments, const CallLimits& limits) {
  if (!parse_unsigned(id)) {
    return make_error(fmt::format("invalid job id \"{}\"", printable(id, 40)));
  }
  return call(installation.scontrol, std::move(arguments), installation.environment, limits);
}

Result<void> without_output(Result<std::string> called) {
  return called.map([](const std::string& /*out*/) {});
}

}  // namespace

Result<Job> parse_job(std::string_view text, std::string_view id) {
  constexpr std::string_view kBatch = "BatchFlag=";
  constexpr std::string_view kRequeue = "Requeue=";
  // A job's name may be any text. It ends its line.
  constexpr std::string_view kName = " JobName=";
  const auto header = fmt::format("JobId={} ", id);
  std::string_view batch, requeue;
  bool inside = false;
  for (auto line : split_lines(text)) {
    if (line.starts_with("JobId=")) {
      inside = line.starts_with(header);
      line = line.substr(0, line.find(kName));
    }
    if (!inside) continue;
    for (const auto word : split_words(line)) {
      // The first one counts: a user's text comes later.
      if (batch.empty() && word.starts_with(kBatch)) batch = word.substr(kBatch.size());
      if (requeue.empty() && word.starts_with(kRequeue)) requeue = word.substr(kRequeue.size());
    }
  }
  if (batch.empty() || requeue.empty()) {
    return make_error(
        fmt::format("scontrol show job: no BatchFlag and Requeue of job {}", printable(id, 40)));
  }
  return Job{.batch = batch != "0", .requeue = requeue != "0"};
}

Result<Job> ask_job(const Installation& installation, const std::string& id,
                    const CallLimits& limits) {
  return call_for_job(installation, id, {"show", "job", id}, limits)
      .and_then([&](const std::string& out) { return parse_job(out, id); });
}

Result<void> notify_job(const Installation& installation, const std::string& id,
                        const std::string& line, const CallLimits& limits) {
  return without_output(call_for_job(installation, id, {"notify", id, line}, limits));
}

Result<void> comment_job(const Installation& installation, const std::string& id,
                         const std::string& line, const CallLimits& limits) {
  return without_output(call_for_job(
      installation, id,
      {"update", fmt::format("jobid={}", id), fmt::format("admincomment={}", line)}, limits));
}

}  // namespace muster::slurm
