// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kNap = std::chrono::milliseconds(5);

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void put_output(int number, const fs::path& file) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): as open is
  ::dup2(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), number);
}

}  // namespace

Process::Process(Words words, const Variables& variables, const fs::path& log,
                 const fs::path& errors) {
  Words settings;
  for (const auto& [name, value] : variables) settings.push_back(fmt::format("{}={}", name, value));
  const auto argument_pointers = pointers_to(words);
  const auto setting_pointers = pointers_to(settings);
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::setsid();
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): as open is
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  put_output(STDOUT_FILENO, log);
  if (errors.empty()) {
    ::dup2(STDOUT_FILENO, STDERR_FILENO);
  } else {
    put_output(STDERR_FILENO, errors);
  }
  ::execvpe(argument_pointers.front(), argument_pointers.data(), setting_pointers.data());
  ::_exit(127);
}

Process::~Process() {
  if (!running()) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool Process::running() {
  if (ended_ || pid_ <= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
  ended_ = true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

void Process::signal(int number) const {
  if (!ended_ && pid_ > 0) ::kill(pid_, number);
}

int Process::wait(std::chrono::milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (running()) {
    if (Clock::now() >= until) {
      signal(SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      ended_ = true;
      return -1;
    }
    std::this_thread::sleep_for(kNap);
  }
  return status_;
}

void Process::stop(std::chrono::milliseconds patience) {
  signal(SIGTERM);
  signal(SIGCONT);
  wait(patience);
}

bool wait_for(const std::function<bool()>& done, std::chrono::milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (!done()) {
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(4 * kNap);
  }
  return true;
}

std::vector<LiveProcess> other_processes() {
  std::vector<LiveProcess> found;
  std::error_code gone;
  for (auto entry = fs::directory_iterator("/proc", gone); entry != fs::directory_iterator();
       entry.increment(gone)) {
    const auto folder = entry->path();
    const auto pid = static_cast<pid_t>(
        std::strtol(folder.filename().c_str(), nullptr, 10));  // 0 if it is not a number
    if (pid <= 0 || pid == ::getpid()) continue;
    // "PID (name) state parent": a name may have spaces and brackets. A zombie has ended.
    const auto stat = content_of(folder / "stat");
    const auto after = stat.rfind(')');
    if (after == std::string::npos || stat.size() < after + 4 || stat[after + 2] == 'Z') continue;
    auto words = content_of(folder / "cmdline");
    std::ranges::replace(words, '\0', ' ');
    found.push_back(
        {.pid = pid,
         .parent = static_cast<pid_t>(std::strtol(stat.c_str() + after + 4, nullptr, 10)),
         .words = std::move(words),
         .variables = content_of(folder / "environ")});
  }
  std::ranges::sort(found, {}, &LiveProcess::pid);
  return found;
}

}  // namespace muster::e2e
