// SPDX-License-Identifier: Apache-2.0
// The state of the fake CUDA driver, and the memory of its GPUs.
#include "tests/fakes/cuda/state.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "tests/fakes/cuda/driver.hpp"
#include "tests/fakes/strict_json.hpp"

namespace muster::fakes::gpu {
namespace {

namespace cuda = bench::cuda;

// Each thread has its own context.
thread_local cuda::Context t_context = nullptr;

struct Allocation {
  int gpu = 0;
  std::uint64_t size = 0;
  std::map<std::uint64_t, std::uint64_t> real;  // from, to: what holds something
};

std::map<std::uint64_t, Allocation>& allocations() {
  static std::map<std::uint64_t, Allocation> all;
  return all;
}

// The allocation that contains an address, and the offset in it.
std::pair<Allocation*, std::uint64_t> find(std::uint64_t address) {
  auto after = allocations().upper_bound(address);
  if (after == allocations().begin()) return {nullptr, 0};
  --after;
  const auto offset = address - after->first;
  if (offset >= after->second.size) return {nullptr, 0};
  return {&after->second, offset};
}

std::uint64_t number(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

void forget(Allocation& allocation, std::uint64_t first, std::uint64_t end) {
  std::map<std::uint64_t, std::uint64_t> left;
  for (const auto& [from, to] : allocation.real) {
    if (from < first) left[from] = std::min(to, first);
    if (to > end) left[std::max(from, end)] = to;
  }
  allocation.real = std::move(left);
}

std::string_view library_of(std::string_view function) {
  for (const std::string_view prefix : {"nccl", "cublasLt", "cu"}) {
    if (function.starts_with(prefix)) return prefix;
  }
  return "";
}

[[noreturn]] void refuse_name(std::string_view what, std::string_view name) {
  fmt::print(stderr, "MUSTER_FAKE_GPU: unknown {} \"{}\"\n", what, name);
  std::abort();
}

// Aborts if the scenario has errors for functions that the library of `function` lacks. `caller` is
// an address in that library.
void check_answers(std::string_view function, void* caller) {
  static std::set<std::string_view> checked;
  if (!checked.insert(library_of(function)).second) return;
  Dl_info library{};
  ::dladdr(caller, &library);
  void* const opened = ::dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  for (const auto& [name, code] : scenario().answers) {
    if (library_of(name).empty() ||
        (library_of(name) == library_of(function) && ::dlsym(opened, name.c_str()) == nullptr)) {
      refuse_name("function", name);
    }
  }
}

// Checks the keys of maps, all of which from_strict_json accepts.
Scenario with_known_names(Scenario scenario) {
  constexpr std::array<std::string_view, 11> kOperations{
      "*",       "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
      "scatter", "gather",     "alltoall",   "alltoallv",      "sendrecv"};
  for (const auto& [name, rate] : scenario.busbw) {
    if (std::ranges::find(kOperations, name) == kOperations.end()) refuse_name("operation", name);
  }
  for (const auto& [name, tflops] : scenario.node.gemm) {
    if (!NodeHardware().gemm.contains(name)) refuse_name("type", name);
  }
  return scenario;
}

// Exposed memory as the GPU sees it.
std::map<const char*, std::vector<char>>& shadows() {
  static std::map<const char*, std::vector<char>> all;
  return all;
}

}  // namespace

Driver& driver() {
  static Driver one;
  return one;
}

void set_context(cuda::Context context) { t_context = context; }

cuda::Context context_of(int gpu) {
  return reinterpret_cast<cuda::Context>(pointer_to(static_cast<std::uintptr_t>(gpu) + 0x1000));
}

int usable(const char* function) {
  const int wanted = answer(function);
  if (wanted != cuda::kSuccess) return wanted;
  if (!driver().started) return cuda::kNotInitialised;
  return current_gpu() < 0 ? cuda::kInvalidContext : cuda::kSuccess;
}

std::vector<int> visible_gpus() {
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(scenario().gpus));
  for (int gpu = 0; gpu < scenario().gpus; ++gpu) all.push_back(gpu);
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return all;
  std::vector<int> named;
  named.reserve(all.size());
  for (const auto word : split(text, ',')) {
    const auto gpu = parse_unsigned(word);
    if (!gpu || *gpu >= all.size()) break;  // as the driver: the list ends there
    named.push_back(static_cast<int>(*gpu));
  }
  return named;
}

bool is_device(int device) {
  const auto& visible = driver().visible;
  return std::ranges::find(visible, device) != visible.end();
}

StreamState* own_stream(cuda::Stream stream) {
  auto* found = driver().streams.find(stream);
  return found != nullptr && found->gpu == current_gpu() ? found : nullptr;
}

std::recursive_mutex& lock() {
  static std::recursive_mutex mutex;
  return mutex;
}

const Scenario& scenario() {
  static const Scenario one = with_known_names(load_scenario<Scenario>("MUSTER_FAKE_GPU"));
  return one;
}

// Its return address is in the library that calls it.
[[gnu::noinline]] int answer(const char* function) {
  check_answers(function, __builtin_return_address(0));
  const auto found = scenario().answers.find(function);
  return found == scenario().answers.end() ? 0 : found->second;
}

int current_gpu() {
  if (t_context == nullptr) return -1;
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(t_context) - 0x1000);
}

void stop(cuda::Stream stream) {
  if (auto* state = own_stream(stream)) state->stopped = true;
}

int put(cuda::Stream stream, Work work) {
  auto* state = own_stream(stream);
  if (state == nullptr) return cuda::kInvalidHandle;
  if (state->captured != nullptr) {
    state->captured->work.push_back(std::move(work));
  } else {
    state->waiting.push_back(std::move(work));
  }
  return cuda::kSuccess;
}

void expose(const void* memory, std::uint64_t bytes) {
  if (!scenario().node.late_rdma) return;
  const auto* begin = static_cast<const char*>(memory);
  shadows()[begin] = std::vector<char>(begin, begin + bytes);
}

void conceal(const void* memory) { shadows().erase(static_cast<const char*>(memory)); }

const void* visible(const void* memory, std::uint64_t bytes) {
  const auto found = shadows().find(static_cast<const char*>(memory));
  return found == shadows().end() || bytes > found->second.size() ? memory : found->second.data();
}

void make_visible(const void* memory) {
  for (auto& [begin, shadow] : shadows()) {
    if (memory == nullptr || memory == begin) shadow.assign(begin, begin + shadow.size());
  }
}

std::uint64_t used_memory(int gpu) {
  std::uint64_t used = 0;
  for (const auto& [address, allocation] : allocations()) {
    if (allocation.gpu == gpu) used += allocation.size;
  }
  return used;
}

std::uint64_t reserve(int gpu, std::uint64_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast,performance-no-int-to-ptr): the macro's
  if (memory == MAP_FAILED) return 0;
  allocations()[number(memory)] = {.gpu = gpu, .size = size, .real = {}};
  return number(memory);
}

bool give_back(std::uint64_t address) {
  const auto found = allocations().find(address);
  if (found == allocations().end()) return false;
  ::munmap(pointer_to(address), found->second.size);
  allocations().erase(found);
  return true;
}

std::uint64_t reach(const void* memory) { return reach_on(current_gpu(), memory); }

std::uint64_t reach_on(int gpu, const void* memory) {
  const auto [allocation, offset] = find(number(memory));
  if (allocation == nullptr || allocation->gpu != gpu) return 0;
  return allocation->size - offset;
}

std::uint64_t real_bytes(const void* memory, std::uint64_t bytes) {
  for (const auto& range : real_ranges(memory, bytes)) {
    if (range.first == 0) return range.end;
  }
  return 0;
}

std::vector<Range> real_ranges(const void* memory, std::uint64_t bytes) {
  std::vector<Range> ranges;
  const auto [allocation, offset] = find(number(memory));
  if (allocation == nullptr) return ranges;
  for (const auto& [from, to] : allocation->real) {
    const auto first = std::max(from, offset);
    const auto end = std::min(to, offset + bytes);
    if (first >= end) continue;
    if (!ranges.empty() && ranges.back().end == first - offset) {
      ranges.back().end = end - offset;
    } else {
      ranges.push_back({.first = first - offset, .end = end - offset});
    }
  }
  return ranges;
}

void written(const void* memory, std::uint64_t bytes, std::uint64_t real) {
  const auto [allocation, offset] = find(number(memory));
  if (allocation == nullptr || bytes == 0) return;
  forget(*allocation, offset, offset + bytes);
  if (real > 0) allocation->real[offset] = offset + real;
}

void touched(const void* memory, std::uint64_t bytes) {
  if (real_bytes(memory, bytes) < bytes) written(memory, bytes, bytes);
}

}  // namespace muster::fakes::gpu
