// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/job_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"

namespace muster::app {
namespace {

std::string cause(std::string_view what) {
  return fmt::format("{}: {}", what, std::generic_category().message(errno));
}

// In a child, which never gets its rights back. Empty when done.
std::string append_as(uid_t user, gid_t group, const std::string& file, std::string_view text) {
  if (::geteuid() == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(group, group, group) != 0 ||
        ::setresuid(user, user, user) != 0) {
      return cause("become the job's user");
    }
  }
  // A FIFO without a reader must not hold a prolog up.
  const Descriptor output(::open(
      file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644));
  if (!output.is_open()) return cause(fmt::format("open {}", file));
  struct stat status = {};
  if (::fstat(output.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  errno = write_all(output.get(), text);
  return errno == 0 ? "" : cause(fmt::format("write {}", file));
}

std::string value_of(const std::map<std::string, std::string>& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

// Slurm hands the name over as the user wrote it. Empty where it has a pattern that a prolog cannot
// know the meaning of.
std::string expanded(std::string_view name, const std::map<std::string, std::string>& variables) {
  std::string file;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      file.push_back(name[i]);
      continue;
    }
    const char pattern = ++i < name.size() ? name[i] : '\0';
    if (pattern == 'j') {
      file.append(value_of(variables, "SLURM_JOB_ID"));
    } else if (pattern == 'u') {
      file.append(value_of(variables, "SLURM_JOB_USER"));
    } else {
      return "";
    }
  }
  return file;
}

}  // namespace

Result<void> append_to_job_output(const std::map<std::string, std::string>& variables,
                                  std::string_view text,
                                  Clock::time_point deadline) {
  const auto file = expanded(value_of(variables, "SLURM_JOB_STDOUT"), variables);
  const auto user = parse_unsigned(value_of(variables, "SLURM_JOB_UID"));
  const auto group = parse_unsigned(value_of(variables, "SLURM_JOB_GID"));
  if (!file.starts_with('/') || !user || !group) return {};
  Children children;  // a dead file server costs this message, not the prolog
  children.start("job output", deadline, [&] {
    return append_as(static_cast<uid_t>(*user), static_cast<gid_t>(*group), file, text);
  });
  const auto answer = children.next().second;
  const auto& trouble = answer.end == ChildAnswer::End::answered ? answer.bytes : answer.reason;
  if (!trouble.empty()) return make_error(trouble);
  return {};
}

}  // namespace muster::app
