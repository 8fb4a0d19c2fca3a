// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/job_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "lib/base/descriptor.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/result.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/process/child.hpp"
#include "lib/process/startup.hpp"

namespace muster::app {
namespace {

std::string cause(std::string_view what) { return fmt::format("{}: {}", what, errno_text(errno)); }

// The history, locks and the hook's own output are open here, and /proc/self/fd would lead the user
// to them. Pipes are left: a child answers by one, and none is a regular file.
void close_what_is_open() {
  constexpr std::size_t kMostFiles = 1U << 30U;  // that the kernel lets a process open
  std::vector<int> files;
  const auto names = Root().list("/proc/self/fd", kMostFiles);
  for (const auto& name : names.value_or(std::vector<std::string>())) {
    const auto number = parse_unsigned(name);
    struct stat status = {};
    if (!number || ::fstat(static_cast<int>(*number), &status) != 0) continue;
    if (!S_ISFIFO(status.st_mode)) files.push_back(static_cast<int>(*number));
  }
  const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int number : files) {
    if (number > STDERR_FILENO) {
      ::close(number);
    } else if (nothing.is_open()) {
      ::dup2(nothing.get(), number);
    }
  }
}

// In a child, which never gets its rights back. Empty when done.
std::string append_as(uid_t user, gid_t group, const OutputFile& file, std::string_view text) {
  close_what_is_open();
  if (::geteuid() == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(group, group, group) != 0 ||
        ::setresuid(user, user, user) != 0) {
      return cause("become the job's user");
    }
  }
  // A FIFO without a reader must not hold a prolog up.
  const int flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW;
  const Descriptor output(::open(file.path.c_str(), flags | (file.may_create ? O_CREAT : 0), 0644));
  if (!output.is_open() && errno == ENOENT && !file.may_create) return "";
  if (!output.is_open()) return cause(fmt::format("open {}", printable(file.path)));
  struct stat status = {};
  if (::fstat(output.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  errno = write_all(output.get(), text);
  return errno == 0 ? "" : cause(fmt::format("write {}", printable(file.path)));
}

// What the patterns of sbatch stand for in the output of a batch script.
struct Patterns {
  std::string job, array_job, array_task, user;
  std::optional<std::string> name;  // nothing: not known
  std::string host;
};

// Of tasks that belong to no array Slurm says this.
constexpr std::string_view kNoTask = "4294967294";

Patterns patterns_of(const Variables& variables, const std::optional<slurm::Job>& job,
                     std::string_view node) {
  Patterns known{.job = value_of(variables, "SLURM_JOB_ID"),
                 .array_job = value_of(variables, "SLURM_ARRAY_JOB_ID"),
                 .array_task = value_of(variables, "SLURM_ARRAY_TASK_ID"),
                 .user = value_of(variables, "SLURM_JOB_USER"),
                 .host = std::string(without_domain(host_name()))};
  if (job) {
    known.array_job = job->array_job;
    known.array_task = job->array_task;
    known.name = job->name;
    if (job->host != node) known.host = job->host;
  }
  if (known.array_job.empty()) known.array_job = known.job;
  if (known.array_task.empty()) known.array_task = kNoTask;
  return known;
}

// What `letter` stands for; nothing where that is not known.
std::optional<std::string> meaning(char letter, const Patterns& known) {
  using Meaning = std::pair<std::string_view, std::optional<std::string>>;
  for (const auto& [letters, value] :
       {Meaning{"jJ", known.job}, Meaning{"A", known.array_job}, Meaning{"a", known.array_task},
        Meaning{"u", known.user}, Meaning{"x", known.name}, Meaning{"N", known.host},
        Meaning{"nt", "0"}, Meaning{"s", "batch"}, Meaning{"%", "%"}}) {
    if (letters.find(letter) != std::string_view::npos) return value;
  }
  return std::nullopt;  // of another version
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// A number is as wide as is asked for, with zeros; a word is not.
std::string widened(std::string value, char letter, std::size_t width) {
  const bool is_number = std::string_view("jJAant").find(letter) != std::string_view::npos;
  if (!is_number || value.size() >= width) return value;
  return value.insert(0, width - value.size(), '0');
}

// As Slurm does it: where there is a backslash, no pattern means anything, and backslashes go.
std::string without_backslashes(std::string_view name) {
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '\\' && ++i == name.size()) break;
    plain.push_back(name[i]);
  }
  return plain;
}

Result<std::string> expanded(std::string_view name, const Patterns& known) {
  constexpr std::size_t kWidest = 10;  // that Slurm has
  if (name.find('\\') != std::string_view::npos) return without_backslashes(name);
  std::string file;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      file.push_back(name[i]);
      continue;
    }
    const auto begin = i++;
    while (i < name.size() && is_digit(name[i])) ++i;
    const auto pattern = name.substr(begin, i - begin + 1);
    const auto width = parse_unsigned(name.substr(begin + 1, i - begin - 1)).value_or(0);
    const auto value = i < name.size() ? meaning(name[i], known) : std::nullopt;
    if (!value || value->empty() || width > kWidest) {
      return make_error(fmt::format("the name of its output has {}, which is not known here: {}",
                                    printable(pattern, 20), printable(name)));
    }
    file += widened(*value, name[i], width);
  }
  return file;
}

// The node of the batch script, as far as slurmd tells.
std::string first_node(const Variables& variables) {
  const auto first = first_of_hostlist(value_of(variables, "SLURM_NODELIST"));
  return first ? *first : "";
}

}  // namespace

Result<OutputFile> output_file(const Variables& variables, const std::optional<slurm::Job>& job,
                               std::string_view node) {
  if (job && !job->batch) return OutputFile{};
  const auto known = patterns_of(variables, job, node);
  const auto folder = value_of(variables, "SLURM_JOB_WORK_DIR") + "/";
  auto name = value_of(variables, "SLURM_JOB_STDOUT");
  const bool is_default = name.empty();
  if (is_default) {
    name = folder + (known.array_task == kNoTask ? "slurm-%j.out" : "slurm-%A_%a.out");
  }
  if (!name.starts_with('/')) return OutputFile{};
  // Patterns in the name of the job's folder are none.
  const auto begin = name.starts_with(folder) ? folder.size() : 0;
  TRY_ASSIGN(const auto rest, expanded(std::string_view(name).substr(begin), known));
  const bool is_first = (job ? job->host : first_node(variables)) == node;
  return OutputFile{.path = name.substr(0, begin) + rest,
                    .may_create = is_first && (job || !is_default)};
}

Result<void> append_to_job_output(const OutputFile& file, const Variables& variables,
                                  std::string_view text, Clock::time_point deadline) {
  const auto user = parse_unsigned(value_of(variables, "SLURM_JOB_UID"));
  const auto group = parse_unsigned(value_of(variables, "SLURM_JOB_GID"));
  if (file.path.empty() || !user || !group) return {};
  // A dead file server costs this message, not the prolog.
  return run_in_child("job output", deadline, [&] {
    return append_as(static_cast<uid_t>(*user), static_cast<gid_t>(*group), file, text);
  });
}

}  // namespace muster::app
