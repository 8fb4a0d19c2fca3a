// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/diagnosis.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

// Where standard output went, while it is kept from there; else -1.
std::atomic<int>& standard_output() {
  static std::atomic<int> descriptor{-1};
  return descriptor;
}

std::string contents_of(int file) {
  constexpr std::size_t kMost = 1UL << 20;
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < kMost) {
    const auto got = ::pread(file, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

void ask_for_diagnosis() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): NCCL has not been called yet
  ::setenv("NCCL_RUN_DIAGNOSTICS", "1", 1);
}

DiagnosisReader::DiagnosisReader() : file_(::memfd_create("muster-diagnosis", MFD_CLOEXEC)) {
  (void)std::fflush(stdout);
  const int before = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (!file_.is_open() || before < 0) return;
  standard_output() = before;
  (void)::dup2(file_.get(), STDOUT_FILENO);
}

DiagnosisReader::~DiagnosisReader() { give_back_standard_output(); }

std::vector<std::string> DiagnosisReader::read() {
  constexpr std::string_view kPrefix = "NCCL DIAG ";
  give_back_standard_output();
  std::vector<std::string> lines;
  const auto text = file_.is_open() ? contents_of(file_.get()) : std::string();
  for (const auto line : split_lines(text)) {
    if (line.starts_with(kPrefix)) {
      lines.push_back(printable(line.substr(kPrefix.size())));
    } else {
      (void)std::fwrite(line.data(), 1, line.size(), stdout);
      (void)std::fputc('\n', stdout);
    }
  }
  return lines;
}

void give_back_standard_output() {
  const int before = standard_output().exchange(-1);
  if (before < 0) return;
  (void)std::fflush(stdout);
  (void)::dup2(before, STDOUT_FILENO);
  (void)::close(before);
}

}  // namespace muster::bench
