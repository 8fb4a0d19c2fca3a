// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/queue.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

constexpr std::array<std::string_view, 11> kOver = {
    "BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED",
    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};

constexpr std::string_view kStatesFormat = "%T";

// Parts of Slurm's messages about a failed connection to slurmctld.
constexpr std::array<std::string_view, 6> kFailedConnection = {
    "timed out", "Unable to contact", "Zero Bytes", "Message ", "Communication", "data received"};

class QueuePrograms final : public Queue {
 public:
  QueuePrograms(Installation installation, const CallLimits& limits)
      : installation_(std::move(installation)), limits_(limits) {}

  Result<std::vector<QueuedJob>> jobs(const std::vector<std::string>& names) override {
    const auto out =
        call(installation_, installation_.squeue,
             {"--local", "-h", "--states=all",
              // Another user's comment may contain anything.
              fmt::format("--user={}", ::geteuid()),
              fmt::format("--name={}", fmt::join(names, ",")), "-o", std::string(kSqueueFormat)},
             limits_);
    return out.and_then(parse_squeue);
  }

  Result<std::string> submit(const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& environment) override {
    // The job gets sbatch's environment. Slurm's programs are in the same place on the nodes.
    auto all = environment;
    all.emplace("PATH", fmt::format("{}:{}", installation_.sbatch.parent_path().string(),
                                    installation_.environment.at("PATH")));
    all.insert(installation_.environment.begin(), installation_.environment.end());
    if (!installation_.conf.empty()) all["SLURM_CONF"] = installation_.conf.string();
    all.erase("SLURM_TIME_FORMAT");
    TRY_ASSIGN(const auto out, call(installation_.sbatch, arguments, all, limits_));
    // "4711", or "4711;cluster".
    const auto job = trim(split(trim(out), ';').front());
    if (parse_unsigned(job)) return std::string(job);
    return make_error(fmt::format("sbatch: unexpected output \"{}\"", printable(trim(out), 80)));
  }

 private:
  Installation installation_;
  CallLimits limits_;
};

}  // namespace

bool is_over(const QueuedJob& job) { return std::ranges::find(kOver, job.state) != kOver.end(); }

bool is_refusal(const Error& error, std::string_view program) {
  return error.message.starts_with(fmt::format("{} ended with status 1: ", program)) &&
         std::ranges::none_of(kFailedConnection, [&](std::string_view words) {
           return error.message.find(words) != std::string::npos;
         });
}

Result<std::size_t> jobs_on(const Installation& installation, std::string_view node,
                            const CallLimits& limits) {
  if (installation.squeue.empty()) return make_missing("no squeue next to sinfo");
  TRY(check_node_name(node));
  TRY_ASSIGN(const auto out,
             call(installation, installation.squeue,
                  {"--local", "-h", "--states=all", fmt::format("--nodelist={}", node), "-o",
                   std::string(kStatesFormat)},
                  limits));
  const auto lines = split_lines(out);
  return static_cast<std::size_t>(std::ranges::count_if(lines, [](std::string_view state) {
    return !state.empty() && state != "PENDING" && !is_over({.state = std::string(state)});
  }));
}

Result<std::vector<QueuedJob>> parse_squeue(std::string_view text) {
  std::vector<QueuedJob> jobs;
  for (const auto line : split_lines(text)) {
    constexpr std::size_t kFields = 4;
    const auto fields = split(line, '|');
    if (fields.size() < kFields || !parse_unsigned(fields[0])) {
      return make_error(fmt::format("squeue: invalid line \"{}\", expected {}", printable(line, 80),
                                    kSqueueFormat));
    }
    auto& job = jobs.emplace_back();
    job.job = fields[0];
    job.state = fields[1];
    if (const auto ended = parse_time(fields[2]); ended != Time{}) job.ended = ended;
    job.comment = fields[3];
  }
  return jobs;
}

Result<std::unique_ptr<Queue>> make_queue(Installation installation, const CallLimits& limits) {
  for (const auto& [name, program] :
       {std::pair{"sbatch", &installation.sbatch}, std::pair{"squeue", &installation.squeue}}) {
    if (!program->empty()) continue;
    return make_missing(
        fmt::format("no {} next to {}; slurm.programs in muster.yaml names other folders", name,
                    installation.sinfo.string()));
  }
  return std::make_unique<QueuePrograms>(std::move(installation), limits);
}

}  // namespace muster::slurm
