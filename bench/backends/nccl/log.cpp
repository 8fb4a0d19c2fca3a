// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "bench/sockets/sockets.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kLargestLog = 16UL * 1024 * 1024;
constexpr const char* kSubsystems = "INIT,ENV,NET,P2P,SHM,GRAPH,NVLS";
constexpr const char* kWithOperations = "INIT,ENV,NET,P2P,SHM,GRAPH,NVLS,TUNING";
constexpr const char* kRasAddress = "NCCL_RAS_ADDR";

struct KeptLog {
  Descriptor file;        // has no name, so it vanishes with the process
  std::string requested;  // the user's NCCL_DEBUG
  std::mutex guard;       // guards the two members below
  std::string earlier;    // the file's contents before NCCL reopened it
  std::size_t replayed = 0;
  std::atomic<int> standard_output{-1};  // the original, while it is captured
};

KeptLog& kept() {
  static KeptLog all;
  return all;
}

std::string contents_of(const Descriptor& from) {
  std::string text;
  std::array<char, 16384> part{};
  while (from.is_open() && text.size() < kLargestLog) {
    const auto got = ::pread(from.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Not a host name: a name server may take long to answer.
std::optional<Endpoint> numeric_endpoint(std::string_view text) {
  auto where = parse_endpoint(text);
  if (!where) return std::nullopt;
  if (where->host == "localhost") where->host = "127.0.0.1";
  const bool numeric =
      where->host.find_first_not_of("0123456789abcdefABCDEF.:") == std::string::npos;
  return numeric ? std::optional(*where) : std::nullopt;
}

// All bytes until the other side closes the connection, or those that came by `until`.
std::string read_all(int socket, Clock::time_point until) {
  constexpr std::size_t kMax = 1UL << 20;
  std::string text;
  char byte = 0;
  while (text.size() < kMax &&
         transfer({}, {.socket = socket, .bytes = std::as_writable_bytes(std::span(&byte, 1))},
                  until)) {
    text.push_back(byte);
  }
  return text;
}

}  // namespace

std::string variable(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? "" : text;
}

void set_variable(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

void keep_nccl_log() {
  if (kept().file.is_open()) return;
  kept().requested = variable("NCCL_DEBUG");
  if (!kept().requested.empty() && !variable("NCCL_DEBUG_FILE").empty()) return;
  Descriptor made(::memfd_create("muster-nccl-log", MFD_CLOEXEC));
  if (!made.is_open()) return;
  set_variable("NCCL_DEBUG", "INFO");
  set_variable("NCCL_DEBUG_SUBSYS", kSubsystems);
  set_variable("NCCL_DEBUG_FILE", fmt::format("/proc/self/fd/{}", made.get()));
  kept().file = std::move(made);
}

std::string nccl_log_remark() {
  if (kept().requested.empty()) return {};
  const auto level = printable(kept().requested, 40);
  if (!kept().file.is_open()) {
    return fmt::format(
        "NCCL_DEBUG={} and NCCL_DEBUG_FILE are set: NCCL's log goes to that file, so the transport "
        "is unknown",
        level);
  }
  return fmt::format(
      "NCCL_DEBUG={} is set: NCCL's log is kept to find the transport, and printed to standard "
      "error at the end (unless NCCL_DEBUG_FILE is set)",
      level);
}

void replay_nccl_log() {
  if (kept().requested.empty() || !kept().file.is_open()) return;
  const auto level = lower_case(kept().requested);
  const bool all = level == "info" || level == "trace";
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
  kept().earlier = std::move(log);  // NCCL truncates the file
  set_variable("NCCL_DEBUG_SUBSYS", wanted ? kWithOperations : kSubsystems);
  return true;
}

std::string nccl_log() {
  const auto text = contents_of(kept().file);
  const std::lock_guard lock(kept().guard);
  return kept().earlier + text;
}

void request_diagnosis() { set_variable("NCCL_RUN_DIAGNOSTICS", "1"); }

DiagnosisReader::DiagnosisReader() : file_(::memfd_create("muster-diagnosis", MFD_CLOEXEC)) {
  (void)std::fflush(stdout);
  const int before = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (!file_.is_open() || before < 0) return;
  kept().standard_output = before;
  (void)::dup2(file_.get(), STDOUT_FILENO);
}

DiagnosisReader::~DiagnosisReader() { restore_standard_output(); }

std::vector<std::string> DiagnosisReader::read() {
  constexpr std::string_view kPrefix = "NCCL DIAG ";
  restore_standard_output();
  std::vector<std::string> lines;
  const auto text = contents_of(file_);
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

void restore_standard_output() {
  const int before = kept().standard_output.exchange(-1);
  if (before < 0) return;
  (void)std::fflush(stdout);
  (void)::dup2(before, STDOUT_FILENO);
  (void)::close(before);
}

void choose_ras_address() {
  if (!variable(kRasAddress).empty()) return;
  const auto listener = listen_on({.host = "127.0.0.1", .port = 0});
  const auto port = listener ? port_of(*listener) : Result<std::uint16_t>(0);
  if (!port || *port == 0) return;
  set_variable(kRasAddress, fmt::format("127.0.0.1:{}", *port));
}

std::string ask_ras(Clock::duration limit) {
  // The service waits one second for processes that do not answer it.
  constexpr std::string_view kQuestion = "CLIENT PROTOCOL 2\nTIMEOUT 1\nSTATUS\n";
  const auto until = Clock::now() + limit;
  const auto where = numeric_endpoint(variable(kRasAddress));
  if (!where) return {};
  const auto socket = connect_once(*where, until, limit);
  if (!socket) return {};
  const auto question = std::as_bytes(std::span(kQuestion));
  if (!transfer({.socket = socket->get(), .bytes = question}, {}, until)) return {};
  const auto answer = read_all(socket->get(), until);
  return answer.starts_with("SERVER PROTOCOL ") ? trouble_in_ras_answer(answer) : "";
}

std::string trouble_in_ras_answer(std::string_view answer) {
  constexpr std::size_t kMax = 12;
  std::vector<std::string> sentences;
  bool reached = false;
  for (const auto line : split_lines(answer)) {
    if (line == "Errors" || line == "Warnings") reached = true;
    if (!reached || !line.starts_with(' ')) continue;  // headings are not indented
    sentences.push_back(printable(trim(line)));
  }
  const auto more = sentences.size() - std::min(sentences.size(), kMax);
  sentences.resize(sentences.size() - more);
  if (more > 0) sentences.push_back(fmt::format("and {} more lines", more));
  return fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace muster::bench
