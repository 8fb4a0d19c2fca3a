// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/log.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "lib/base/descriptor.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kMostBytes = 16UL * 1024 * 1024;
constexpr const char* kPassages = "INIT,ENV,NET,P2P,SHM,GRAPH,NVLS";
constexpr const char* kWithOperations = "INIT,ENV,NET,P2P,SHM,GRAPH,NVLS,TUNING";

// A file without a name: it goes away with the process, however that ends. NCCL keeps it open for
// as long as the process lives, and so does this.
Descriptor& file() {
  static Descriptor descriptor;
  return descriptor;
}

// What stood in the file before NCCL opened it anew.
std::string& earlier() {
  static std::string text;
  return text;
}

void set(const char* name, const std::string& value) {
  // NCCL has not been called yet, or waits for its next call.
  ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

void keep_nccl_log() {
  if (file().is_open()) return;
  if (std::getenv("NCCL_DEBUG") != nullptr) return;  // NOLINT(concurrency-mt-unsafe): as above
  Descriptor made(::memfd_create("muster-nccl-log", MFD_CLOEXEC));
  if (!made.is_open()) return;
  set("NCCL_DEBUG", "INFO");
  set("NCCL_DEBUG_SUBSYS", kPassages);
  set("NCCL_DEBUG_FILE", fmt::format("/proc/self/fd/{}", made.get()));
  file() = std::move(made);
}

bool log_nccl_operations() {
  if (!file().is_open()) return false;
  earlier() = nccl_log();
  set("NCCL_DEBUG_SUBSYS", kWithOperations);
  return true;
}

void log_no_nccl_operations() {
  if (!file().is_open()) return;
  earlier() = nccl_log();
  set("NCCL_DEBUG_SUBSYS", kPassages);
}

std::string nccl_log() {
  std::string text;
  std::array<char, 16384> part{};
  while (file().is_open() && text.size() < kMostBytes) {
    const auto got =
        ::pread(file().get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return earlier() + text;
}

}  // namespace muster::bench
