// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/job.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

// A job's name may be any text: it ends its line and is the last of it.
constexpr std::string_view kName = " JobName=";

// Words KEY=VALUE; of a key that stands there twice the first counts, before what a user wrote.
void add_words(std::string_view line, std::map<std::string, std::string, std::less<>>& values) {
  for (const auto word : split_words(line)) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    values.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
}

// What scontrol says to `arguments`, which are about the job.
Result<std::string> ask_about(const Installation& installation, const std::string& id,
                              std::vector<std::string> arguments, const CallLimits& limits) {
  if (!parse_unsigned(id)) return make_error(fmt::format("no job's number: {}", printable(id, 40)));
  return call(installation.scontrol, std::move(arguments), installation.environment, limits);
}

}  // namespace

Result<Job> parse_job(std::string_view text, std::string_view id) {
  std::map<std::string, std::string, std::less<>> values;
  const auto header = fmt::format("JobId={} ", id);
  bool inside = false;
  for (auto line : split_lines(text)) {
    if (line.starts_with("JobId=")) inside = line.starts_with(header);
    if (!inside) continue;
    const auto name = line.starts_with("JobId=") ? line.find(kName) : std::string_view::npos;
    if (name != std::string_view::npos) {
      values.emplace("JobName", line.substr(name + kName.size()));
      line = line.substr(0, name);
    }
    add_words(line, values);
  }
  const auto value = [&](std::string_view key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  if (value("BatchFlag").empty() || value("Requeue").empty()) {
    return make_error(fmt::format("scontrol does not say what job {} is", printable(id, 40)));
  }
  return Job{.batch = value("BatchFlag") != "0",
             .requeue = value("Requeue") != "0",
             .name = value("JobName"),
             .array_job = value("ArrayJobId"),
             .array_task = value("ArrayTaskId"),
             .host = value("BatchHost")};
}

Result<Job> ask_job(const Installation& installation, const std::string& id,
                    const CallLimits& limits) {
  return ask_about(installation, id, {"show", "job", id}, limits)
      .and_then([&](const std::string& out) { return parse_job(out, id); });
}

Result<void> notify_job(const Installation& installation, const std::string& id,
                        const std::string& line, const CallLimits& limits) {
  return ask_about(installation, id, {"notify", id, line}, limits)
      .map([](const std::string& /*out*/) {});
}

}  // namespace muster::slurm
