// SPDX-License-Identifier: Apache-2.0
#include "bench/run/printer.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <utility>

#include "bench/group/trouble.hpp"
#include "lib/base/text.hpp"
#include "lib/report/verdict.hpp"

namespace muster::bench {
namespace {

constexpr std::chrono::seconds kEvery{1};

// Whoever reads the table leaves out its comments.
std::string commented(std::string_view text) {
  std::string lines;
  for (const auto line : split_lines(text)) {
    lines += line.empty() ? "#\n" : fmt::format("# {}\n", line);
  }
  return lines;
}

std::string rendered(const Report& report, const BenchCommand& command) {
  const RenderOptions options{.verbose = command.verbose,
                              .quiet = command.quiet,
                              .every_iteration = command.each_iteration,
                              .always = kBandwidthChecks};
  const auto text = row_of(command.format).render(report, options);
  return command.format == Format::text ? commented(text) : text;
}

}  // namespace

void Printer::say(std::string_view lines) {
  if (command_.format != Format::text || command_.quiet) return;
  clear_progress();
  if (to_file()) {
    kept_ += lines;
  } else if (said_) {
    said_ = console_.out(lines);
  }
}

void Printer::progress(std::string_view what) {
  if (!shows_progress() || !said_) return;
  has_progress_ = true;
  said_ = console_.out(fmt::format("\r\033[K# {}", printable(what, console_.width - 3)));
}

bool Printer::shows_progress() const {
  return console_.width > 0 && command_.format == Format::text && !command_.quiet;
}

void Printer::clear_progress() {
  if (std::exchange(has_progress_, false) && said_) said_ = console_.out("\r\033[K");
}

void Printer::remark(std::string_view line) { say(commented(line)); }

Result<void> Printer::finish(const Report& report) {
  clear_progress();
  if (!said_) return said_;
  const auto text = rendered(report, command_);
  if (!to_file()) return console_.out(text);
  auto written = write_answer(console_, command_.output, kept_ + text);
  // What took its time to measure is not lost with a disk that is full by now.
  if (!written) (void)console_.out(kept_ + text);
  return written;
}

Result<void> Printer::can_finish() const {
  if (!to_file()) return {};
  const auto open = Destination::open(console_, command_.output);
  return open ? Result<void>() : tl::unexpected(open.error());
}

std::string progress_line(const Going& going) {
  std::string line = going.what;
  // Who waits is done itself.
  if (!going.awaited.empty()) {
    return fmt::format("{}{}; waiting for {}", line, going.left, ranks_in_words(going.awaited));
  }
  if (going.done == 0 || going.done >= going.all) return line + going.left;
  line += fmt::format(": {} of {} iterations", going.done, going.all);
  if (!going.left.empty()) return line + going.left;
  const double each_s =
      std::chrono::duration<double>(going.since).count() / static_cast<double>(going.done);
  const double left_s = each_s * static_cast<double>(going.all - going.done);
  return left_s < 1 ? line : fmt::format("{}; about {:.0f} s of it left", line, left_s);
}

Ticker::Ticker(std::function<std::string(Clock::duration since)> line,
               std::function<void(std::string_view)> show) {
  show(line({}));
  // Signals are the process' own: none is handled on this thread.
  sigset_t all{};
  sigset_t before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([line = std::move(line), show = std::move(show), begin = Clock::now()](
                             const std::stop_token& stop) {
    while (sleep_for(stop, kEvery)) show(line(Clock::now() - begin));
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace muster::bench
