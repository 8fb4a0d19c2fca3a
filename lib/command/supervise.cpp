// SPDX-License-Identifier: Apache-2.0
#include "lib/command/supervise.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "lib/process/process.hpp"
#include "lib/report/report.hpp"

namespace muster {
namespace {

static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// In memory that the child shares. It is never freed.
Deadline* make_shared_deadline(Clock::time_point when) {
  void* page =
      ::mmap(nullptr, sizeof(Deadline), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) Deadline(when);
}

// Collects one of the child's streams in memory. Without memory the child writes to the stream.
class CapturedStream {
 public:
  explicit CapturedStream(int stream) : stream_(stream) {
    if (auto file = make_memory_file("")) memory_ = *std::move(file);
  }

  // Call this in the child.
  void replace() const {
    if (memory_.is_open()) ::dup2(memory_.get(), stream_);
  }

  // Call this once the child has ended or was killed.
  [[nodiscard]] std::string content() const {
    std::string content;
    if (!memory_.is_open() || ::lseek(memory_.get(), 0, SEEK_SET) != 0) return content;
    static_cast<void>(read_all(memory_.get(), content, content.max_size() - 1));
    return content;
  }

 private:
  int stream_;
  Descriptor memory_;
};

void close_input() {
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing.is_open()) ::dup2(nothing.get(), STDIN_FILENO);
}

// "20 s", "1.5 s", "1 ms".
std::string in_words(Clock::duration allowed) {
  const auto milliseconds = std::chrono::round<std::chrono::milliseconds>(allowed).count();
  if (milliseconds < 1000) return fmt::format("{} ms", std::max<std::int64_t>(milliseconds, 1));
  return fmt::format("{:.3g} s", static_cast<double>(milliseconds) / 1000);
}

}  // namespace

Supervised supervise(Clock::time_point started, Clock::time_point deadline,
                     const std::function<int(Deadline&)>& work, Input input) {
  Supervised run{.until = deadline};
  const auto refused = [&](std::string_view why) {
    run.lost = fmt::format("muster: internal error: {}", why);
    return run;
  };
  auto* shared = make_shared_deadline(deadline);
  if (shared == nullptr) return refused("no memory for the deadline");
  const CapturedStream out(STDOUT_FILENO);
  const CapturedStream err(STDERR_FILENO);
  adopt_orphans();
  const pid_t child = fork_child(kExitUndecided);
  if (child == 0) {
    out.replace();
    err.replace();
    if (input == Input::none) close_input();
    std::exit(work(*shared));  // NOLINT(concurrency-mt-unsafe): no other thread is left here
  }
  if (child < 0) return refused("fork failed");
  const auto ended = wait_or_kill(child, [&] { return shared->when(); });
  run.until = shared->when();
  run.status = ended && WIFEXITED(*ended) ? WEXITSTATUS(*ended) : shared->if_lost();
  if (!ended) {
    run.lost = fmt::format("muster: no report within {}, gave up", in_words(run.until - started));
  } else if (WIFSIGNALED(*ended)) {
    run.lost = fmt::format("muster: internal error: killed by signal {}", WTERMSIG(*ended));
  }
  run.out = out.content();
  run.err = err.content();
  reap_children();
  return run;
}

int write_in_time(int descriptor, std::string_view text, Clock::time_point until) {
  if (text.empty()) return 0;
  // A child has none of the standard streams.
  const Descriptor own(::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!own.is_open()) return errno;
  Children children;
  children.start("output", until, [&] { return fmt::format("{}", write_all(own.get(), text)); });
  const auto answer = children.next().second;
  if (answer.end == ChildAnswer::End::timeout) return ETIMEDOUT;
  const auto code = parse_unsigned(answer.bytes);
  // If fork failed, write here.
  return code ? static_cast<int>(*code) : write_all(own.get(), text);
}

int pass_on(const Supervised& run) {
  constexpr auto kMinTime = std::chrono::milliseconds(500);
  const auto until = std::max(run.until, Clock::now() + kMinTime);
  const int written = write_in_time(STDOUT_FILENO, run.out, until);
  std::string last = run.err;
  if (!run.lost.empty()) last += fmt::format("{}\n", run.lost);
  // EPIPE needs no message.
  if (written != 0 && written != EPIPE) {
    last += fmt::format("muster: write to standard output: {}\n", errno_text(written));
  }
  static_cast<void>(write_in_time(STDERR_FILENO, last, std::max(until, Clock::now() + kMinTime)));
  reap_children();
  return written == 0 ? run.status : kExitUndecided;
}

}  // namespace muster
