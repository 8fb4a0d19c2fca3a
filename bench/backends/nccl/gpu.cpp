// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <thread>

#include "bench/backends/nccl/library.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerMultiprocessor = 8;
constexpr std::uint64_t kWord = sizeof(std::uint64_t);
constexpr auto kAwake = std::chrono::milliseconds(50);
constexpr auto kNap = std::chrono::microseconds(100);
constexpr auto kWatchEvery = std::chrono::milliseconds(1);

// Multiples of the expected time between which a thread stays awake.
constexpr double kNear = 0.9;
constexpr int kLate = 2;

std::size_t index_of(std::size_t width) {
  return static_cast<std::size_t>(std::countr_zero(width));
}

}  // namespace

bool may_nap(std::chrono::nanoseconds waited, std::chrono::nanoseconds expected) {
  if (expected <= kAwake) return waited >= kAwake;
  return waited < kNear * expected || waited >= kLate * expected;
}

Result<std::string> pci_address_of(const cuda::Library& library, int ordinal) {
  int device = 0;
  TRY(call(library, library.device, &device, ordinal));
  std::array<char, 64> text{};
  TRY(call(library, library.device_pci, text.data(), static_cast<int>(text.size()) - 1, device));
  return lower_case(printable(text.data(), 40));
}

Result<std::unique_ptr<Gpu>> Gpu::open(const cuda::Library& library, int ordinal) {
  std::unique_ptr<Gpu> gpu(new Gpu(library));  // NOLINT(modernize-make-unique): private
  TRY(gpu->set_up(ordinal));
  TRY(gpu->load_kernels());
  return gpu;
}

Result<void> Gpu::set_up(int ordinal) {
  TRY(call(library_, library_.device, &device_, ordinal));
  std::array<char, 256> text{};
  TRY(call(library_, library_.device_name, text.data(), static_cast<int>(text.size()) - 1,
           device_));
  name_ = printable(text.data(), 100);
  TRY_ASSIGN(pci_address_, pci_address_of(library_, ordinal));
  int multiprocessors = 0;
  TRY(call(library_, library_.device_attribute, &multiprocessors, cuda::kMultiprocessors, device_));
  blocks_ = kBlocksPerMultiprocessor * static_cast<unsigned>(std::max(1, multiprocessors));
  TRY(call(library_, library_.retain, &context_, device_));
  retained_ = true;
  TRY(call(library_, library_.set_current, context_));
  return call(library_, library_.stream_create, &stream_, cuda::kStreamNonBlocking);
}

Result<void> Gpu::load_kernels() {
  const std::string ptx(kernels_ptx());
  TRY(call(library_, library_.module_load, &module_, ptx.c_str()));
  for (std::size_t i = 0; i < fill_.size(); ++i) {
    const auto fill = fmt::format("muster_fill_{}", 1 << i);
    const auto verify = fmt::format("muster_verify_{}", 1 << i);
    TRY(call(library_, library_.module_function, &fill_.at(i), module_, fill.c_str()));
    TRY(call(library_, library_.module_function, &verify_.at(i), module_, verify.c_str()));
  }
  return call(library_, library_.allocate, &result_, 2 * kWord);
}

Gpu::~Gpu() {
  if (!use()) return;
  drop_graph();
  for (auto* event : events_) library_.event_destroy.call(event);
  if (table_ != 0) library_.free.call(table_);
  if (result_ != 0) library_.free.call(result_);
  if (module_ != nullptr) library_.module_unload.call(module_);
  if (stream_ != nullptr) library_.stream_destroy.call(stream_);
  if (retained_) library_.release.call(device_);
}

Result<void> Gpu::use() const { return call(library_, library_.set_current, context_); }

std::optional<std::uint64_t> Gpu::memory_free() const {
  std::size_t free = 0;
  std::size_t total = 0;
  if (!use() || library_.memory_info.call(&free, &total) != cuda::kSuccess) return std::nullopt;
  return free;
}

Result<cuda::Pointer> Gpu::allocate(std::uint64_t bytes) {
  cuda::Pointer memory = 0;
  const int code = library_.allocate.call(&memory, bytes);
  if (code == cuda::kSuccess) return memory;
  auto message = fmt::format("allocate {} on the GPU: {}", size_text(bytes),
                             trouble(library_, "cuMemAlloc", code).message);
  std::size_t free = 0;
  std::size_t total = 0;
  if (library_.memory_info.call(&free, &total) == cuda::kSuccess) {
    message = fmt::format("{}; {} of {} are free", message, size_text(free), size_text(total));
  }
  return make_error(std::move(message));
}

void Gpu::release(cuda::Pointer memory) const {
  if (memory != 0) library_.free.call(memory);
}

Result<void> Gpu::poison(cuda::Pointer memory, std::uint64_t bytes) {
  if (bytes == 0) return {};
  return call(library_, library_.set_bytes, memory, 0xff, bytes, stream_);
}

// Writes both lists to the table, one after the other.
Result<void> Gpu::upload(const std::vector<std::uint64_t>& first,
                         const std::vector<std::uint64_t>& second) {
  words_ = first;
  words_.insert(words_.end(), second.begin(), second.end());
  const auto bytes = words_.size() * kWord;
  if (bytes > table_bytes_) {
    if (table_ != 0) TRY(call(library_, library_.free, table_));
    table_ = 0;
    TRY(call(library_, library_.allocate, &table_, bytes));
    table_bytes_ = bytes;
  }
  return call(library_, library_.copy_in, table_, words_.data(), bytes, stream_);
}

Result<void> Gpu::launch(cuda::Kernel kernel, std::uint64_t count, void** arguments) {
  const auto needed = (count + kThreads - 1) / kThreads;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(needed, blocks_));
  return call(library_, library_.launch, kernel, blocks, 1, 1, kThreads, 1, 1, 0, stream_,
              arguments, nullptr);
}

Result<void> Gpu::fill(cuda::Pointer memory, std::uint64_t count, std::size_t width,
                       const Fill& fill) {
  if (count == 0 || fill.bits.empty()) return {};
  TRY(upload(fill.bits, {}));
  std::uint64_t period = fill.bits.size();
  std::uint64_t shift = fill.shift;
  std::array<void*, 5> arguments{&memory, &count, &table_, &period, &shift};
  return launch(fill_.at(index_of(width)), count, arguments.data());
}

Result<void> Gpu::verify(cuda::Pointer memory, std::size_t width, const Segment& segment,
                         Wrong& wrong, const Watch& watch) {
  if (segment.count == 0 || segment.low.empty()) return {};
  TRY(upload(segment.low, segment.high));
  counts_ = {0, ~std::uint64_t{0}};
  TRY(call(library_, library_.copy_in, result_, counts_.data(), sizeof counts_, stream_));
  cuda::Pointer at = memory + segment.first * width;
  std::uint64_t first = segment.first;
  std::uint64_t count = segment.count;
  std::uint64_t period = segment.low.size();
  std::uint64_t shift = segment.shift;
  cuda::Pointer high = table_ + period * kWord;
  std::array<void*, 8> arguments{&at, &first, &count, &table_, &high, &period, &shift, &result_};
  TRY(launch(verify_.at(index_of(width)), count, arguments.data()));
  // Wait before the copies: they may block until the kernel is done, without calling `watch`.
  TRY(wait(watch));
  TRY(call(library_, library_.copy_out, counts_.data(), result_, sizeof counts_, stream_));
  TRY(wait(watch));
  if (counts_[0] == 0) return {};
  const bool earlier = wrong.elements == 0 || counts_[1] < wrong.first;
  wrong.elements += counts_[0];
  if (!earlier) return {};
  wrong.first = counts_[1];
  element_ = 0;  // an element may be shorter
  TRY(call(library_, library_.copy_out, &element_, memory + wrong.first * width, width, stream_));
  TRY(wait(watch));
  wrong.observed = element_;
  const auto entry = (wrong.first - first + segment.shift) % segment.low.size();
  wrong.low = segment.low[entry];
  wrong.high = segment.high[entry];
  return {};
}

Result<void> Gpu::mark(std::size_t index) {
  while (events_.size() <= index) {
    cuda::Event event = nullptr;
    TRY(call(library_, library_.event_create, &event, 0));
    events_.push_back(event);
  }
  return call(library_, library_.event_record, events_[index], stream_);
}

bool Gpu::has_reached(std::size_t index) const {
  return library_.event_query.call(events_.at(index)) == cuda::kSuccess;
}

Result<void> Gpu::wait_for(const Gpu& other, std::size_t index) {
  return call(library_, library_.stream_wait, stream_, other.events_.at(index), 0U);
}

Result<double> Gpu::seconds_between(std::size_t first, std::size_t second) {
  float milliseconds = 0;
  TRY(call(library_, library_.event_elapsed, &milliseconds, events_.at(first), events_.at(second)));
  return static_cast<double>(milliseconds) / 1e3;
}

Result<bool> Gpu::is_done(const Watch& watch) const {
  const int code = library_.stream_query.call(stream_);
  if (code == cuda::kSuccess) return true;
  if (code == cuda::kNotReady) return false;
  TRY(watch());  // NCCL may know the cause
  return tl::unexpected(trouble(library_, library_.stream_query.name, code));
}

Result<void> Gpu::wait(const Watch& watch, std::chrono::nanoseconds expected) {
  const auto begin = SteadyClock::now();
  auto next_watch = begin + kWatchEvery;
  for (;;) {
    TRY_ASSIGN(const auto done, is_done(watch));
    if (done) return watch();
    const auto now = SteadyClock::now();
    if (now >= next_watch) {
      TRY(watch());
      next_watch = now + kWatchEvery;
    }
    if (may_nap(now - begin, expected)) {
      std::this_thread::sleep_for(kNap);
    } else {
      std::this_thread::yield();
    }
  }
}

Result<void> Gpu::capture(const std::function<Result<void>()>& enqueue) {
  drop_graph();
  TRY(call(library_, library_.capture_begin, stream_, cuda::kCaptureThreadLocal));
  const auto enqueued = enqueue();
  const auto ended = call(library_, library_.capture_end, stream_, &graph_);
  TRY(enqueued);
  TRY(ended);
  return call(library_, library_.graph_instantiate, &graph_run_, graph_, 0);
}

Result<void> Gpu::launch_graph() {
  return call(library_, library_.graph_launch, graph_run_, stream_);
}

void Gpu::drop_graph() {
  if (graph_run_ != nullptr) library_.graph_run_destroy.call(graph_run_);
  if (graph_ != nullptr) library_.graph_destroy.call(graph_);
  graph_run_ = nullptr;
  graph_ = nullptr;
}

}  // namespace muster::bench
