// SPDX-License-Identifier: Apache-2.0
#include "slurm/tell/tell.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/base/result.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "lib/process/program.hpp"
#include "slurm/cluster/programs.hpp"

namespace muster::slurm {
namespace {

namespace fs = std::filesystem;

std::string cause(std::string_view what) { return fmt::format("{}: {}", what, errno_text(errno)); }

// Why others could change it; empty if they cannot. In a sticky folder such as /tmp, users cannot
// replace each other's files.
std::string exposure(const fs::path& path, const struct stat& status) {
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return fmt::format("{} belongs to neither root nor the user that muster runs as",
                       printable(path.string()));
  }
  const bool writable = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  if (!writable || sticky) return "";
  return fmt::format("{} is writable by others: chmod go-w", printable(path.string()));
}

Result<void> check_program(const fs::path& program) {
  struct stat status = {};
  if (::stat(program.c_str(), &status) != 0) return make_error(cause(printable(program.string())));
  if (!S_ISREG(status.st_mode)) {
    return make_error(fmt::format("{} is not a file", printable(program.string())));
  }
  if ((status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) {
    return make_error(fmt::format("{} is not executable: chmod a+x", printable(program.string())));
  }
  std::error_code failed;
  // The folders above a link and above its target can both be writable.
  for (const auto& start : {program, fs::canonical(program, failed)}) {
    if (failed) return make_error(cause(printable(program.string())));
    for (auto path = start; !path.empty(); path = path.parent_path()) {
      if (::stat(path.c_str(), &status) != 0) return make_error(cause(printable(path.string())));
      if (auto open = exposure(path, status); !open.empty()) return make_error(std::move(open));
      if (path == path.parent_path()) break;
    }
  }
  return {};
}

const struct passwd* find_user(const std::string& name) {
  errno = 0;
  return ::getpwnam(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
}

std::string unknown_user(const std::string& name) {
  return fmt::format("unknown user {}", printable(name, 60));
}

// Becomes the user permanently. Returns why it failed, or an empty string.
std::string become(const std::string& name) {
  if (::geteuid() != 0 || name == "root") return "";
  const auto* user = find_user(name);
  if (user == nullptr) return unknown_user(name);
  const auto [uid, gid] = std::pair(user->pw_uid, user->pw_gid);
  const bool done = ::setgroups(0, nullptr) == 0 && ::setresgid(gid, gid, gid) == 0 &&
                    ::setresuid(uid, uid, uid) == 0;
  return done ? "" : cause(fmt::format("become {}", name));
}

// Runs in a child, because the user's name may come from a server that does not answer.
std::string run_as(const TellRules& rules, const Event& event, Clock::time_point deadline) {
  if (auto trouble = become(rules.user); !trouble.empty()) return trouble;
  if (::chdir("/") != 0) return cause("chdir /");
  auto arguments = rules.arguments;
  arguments.push_back(event.kind);
  arguments.push_back(event.node);
  const auto ended = run_program(
      {.program = rules.program,
       .arguments = std::move(arguments),
       .environment = {{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}, {"LANG", "C"}, {"HOME", "/"}},
       .limit = deadline,
       .most_output = 64UL * 1024,
       .input = to_json_line(event)});
  if (!ended) return ended.error().message;
  if (ended->status == 0) return "";
  const auto complaint = last_line(ended->err);
  return fmt::format("it ended with status {}{}{}", ended->status, complaint.empty() ? "" : ": ",
                     complaint);
}

// Ends the sentence with what happens to the job.
std::string_view outcome(const HeldJob& held, const Job& job) {
  if (held.starts) return "the node stays in service, and the job starts on it";
  if (!job.batch) return "the job ends here: start it again";
  if (job.requeue) return "the job goes back into the queue";
  return "the job ends here, because it may not be requeued (sbatch --requeue)";
}

}  // namespace

Result<void> check_tell_program(const TellRules& rules, Clock::time_point end) {
  return run_in_child("tell", end, [&] {
    const auto fine = check_program(rules.program);
    if (!fine) return fine.error().message;
    return find_user(rules.user) == nullptr ? unknown_user(rules.user) : std::string();
  });
}

Result<void> tell_site(const TellRules& rules, const Event& event, Clock::time_point end) {
  constexpr std::chrono::milliseconds kForItsDeath{200};
  const auto deadline =
      std::min(Clock::now() + to_duration(rules.deadline), end - 2 * kForItsDeath);
  const auto about = [&](std::string_view what) {
    return make_error(fmt::format("tell.program {}: {}", printable(rules.program, 200), what));
  };
  if (Clock::now() >= deadline) return about("not run: no time is left");
  const auto told = run_in_child("tell", deadline + kForItsDeath, [&] {
    const auto fine = check_program(rules.program);
    return fine ? run_as(rules, event, deadline) : fine.error().message;
  });
  return told ? Result<void>() : about(told.error().message);
}

Result<void> tell_site(const TellRules& rules, const std::vector<Event>& events,
                       Clock::time_point end) {
  if (rules.program.empty()) return {};
  for (const auto& event : events) {
    if (std::ranges::find(rules.events, event.kind) == rules.events.end()) continue;
    if (auto told = tell_site(rules, event, end); !told) return told;
  }
  return {};
}

Result<void> tell_user(const HeldJob& held, const Rules& rules, const Variables& variables,
                       Clock::time_point end) {
  const auto id = value_of(variables, "SLURM_JOB_ID");
  if (id.empty()) return {};
  TRY_ASSIGN(const auto installation, find_installation(rules, variables));
  // Each of the three calls gets a third of the time.
  const CallLimits limits{.deadline = std::max(Clock::duration(0), (end - Clock::now()) / 3),
                          .end = end};
  TRY_ASSIGN(const auto job, ask_job(installation, id, limits));
  const auto line = fmt::format("{}{} is not fit for this job: {}; {}", kForUser, held.node,
                                held.what, outcome(held, job));
  return tell_job(installation, id, job, line, limits);
}

}  // namespace muster::slurm
