// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kLargestLog = 16UL * 1024 * 1024;
constexpr const char* kPassages = "INIT,ENV,NET,P2P,SHM,GRAPH,NVLS";
constexpr const char* kWithOperations = "INIT,ENV,NET,P2P,SHM,GRAPH,NVLS,TUNING";

struct Kept {
  // A file without a name: it goes away with the process, however that ends. NCCL keeps it open for
  // as long as the process lives, and so does this.
  Descriptor file;
  std::string asked;  // NCCL_DEBUG as the user has set it
  // Of the two below: a thread that ends the process reads the log while another may be at work.
  std::mutex guard;
  std::string earlier;       // what stood in the file before NCCL opened it anew
  std::size_t replayed = 0;  // how much of the log was replayed
  // Where standard output went, while it is kept from there; else -1.
  std::atomic<int> standard_output{-1};
};

Kept& kept() {
  static Kept all;
  return all;
}

// As far as it can be read, up to little more than so many bytes.
std::string contents_of(const Descriptor& from, std::size_t most) {
  std::string text;
  std::array<char, 16384> part{};
  while (from.is_open() && text.size() < most) {
    const auto got = ::pread(from.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::string variable(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets any
  return text == nullptr ? "" : text;
}

void set_variable(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

void keep_nccl_log() {
  if (kept().file.is_open()) return;
  kept().asked = variable("NCCL_DEBUG");
  if (!kept().asked.empty() && !variable("NCCL_DEBUG_FILE").empty()) return;
  Descriptor made(::memfd_create("muster-nccl-log", MFD_CLOEXEC));
  if (!made.is_open()) return;
  set_variable("NCCL_DEBUG", "INFO");
  set_variable("NCCL_DEBUG_SUBSYS", kPassages);
  set_variable("NCCL_DEBUG_FILE", fmt::format("/proc/self/fd/{}", made.get()));
  kept().file = std::move(made);
}

std::string nccl_log_remark() {
  if (kept().asked.empty()) return {};
  if (!kept().file.is_open()) {
    return fmt::format(
        "NCCL_DEBUG={} and NCCL_DEBUG_FILE are set: NCCL's log goes there, and what it says of the "
        "transport is not known here",
        printable(kept().asked, 40));
  }
  return fmt::format(
      "NCCL_DEBUG={} is set: NCCL's log is kept to learn the transport from it, and what was asked "
      "for is written to standard error in the end (NCCL_DEBUG_FILE keeps it from that)",
      printable(kept().asked, 40));
}

void replay_nccl_log() {
  if (kept().asked.empty() || !kept().file.is_open()) return;
  const bool all = ::strcasecmp(kept().asked.c_str(), "INFO") == 0 ||
                   ::strcasecmp(kept().asked.c_str(), "TRACE") == 0;
  const auto log = nccl_log();
  std::size_t begin = log.size();
  {
    const std::lock_guard lock(kept().guard);
    std::swap(begin, kept().replayed);
  }
  for (const auto line : split_lines(std::string_view(log).substr(std::min(begin, log.size())))) {
    if (all || line.find("NCCL WARN ") != std::string_view::npos) fmt::print(stderr, "{}\n", line);
  }
}

bool log_nccl_operations(bool wanted) {
  if (!kept().file.is_open()) return false;
  auto log = nccl_log();
  const std::lock_guard lock(kept().guard);
  kept().earlier = std::move(log);  // the file begins anew
  set_variable("NCCL_DEBUG_SUBSYS", wanted ? kWithOperations : kPassages);
  return true;
}

std::string nccl_log() {
  const auto text = contents_of(kept().file, kLargestLog);
  const std::lock_guard lock(kept().guard);
  return kept().earlier + text;
}

void ask_for_diagnosis() { set_variable("NCCL_RUN_DIAGNOSTICS", "1"); }

DiagnosisReader::DiagnosisReader() : file_(::memfd_create("muster-diagnosis", MFD_CLOEXEC)) {
  (void)std::fflush(stdout);
  const int before = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (!file_.is_open() || before < 0) return;
  kept().standard_output = before;
  (void)::dup2(file_.get(), STDOUT_FILENO);
}

DiagnosisReader::~DiagnosisReader() { give_back_standard_output(); }

std::vector<std::string> DiagnosisReader::read() {
  constexpr std::string_view kPrefix = "NCCL DIAG ";
  give_back_standard_output();
  std::vector<std::string> lines;
  constexpr std::size_t kMost = 1UL << 20;
  const auto text = contents_of(file_, kMost);
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
  const int before = kept().standard_output.exchange(-1);
  if (before < 0) return;
  (void)std::fflush(stdout);
  (void)::dup2(before, STDOUT_FILENO);
  (void)::close(before);
}

}  // namespace muster::bench
