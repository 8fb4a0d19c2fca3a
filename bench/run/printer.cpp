// SPDX-License-Identifier: Apache-2.0
#include "bench/run/printer.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/text.hpp"
#include "lib/report/bench_checks.hpp"

namespace muster::bench {
namespace {

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

}  // namespace muster::bench
