// SPDX-License-Identifier: Apache-2.0
#include "bench/node/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "bench/backends/nccl/binding.hpp"
#include "bench/backends/nccl/library.hpp"
#include "bench/node/host.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/process/startup.hpp"

namespace muster::bench::node {
namespace {

constexpr unsigned kThreads = 256;  // as the product kernel needs
constexpr std::uint64_t kBlocksPerMultiprocessor = 8;

// A CPU of this process that is local to the device; its first one if the kernel reports none.
Result<unsigned> cpu_near(const std::string& pci_address) {
  TRY_ASSIGN(const auto own, own_cpus());
  const auto local = read_and_parse(
      Root(), fmt::format("/sys/bus/pci/devices/{}/local_cpulist", pci_address), parse_cpu_list);
  if (!local) return own.front();
  const auto near = std::ranges::find_first_of(own, *local);
  return near == own.end() ? own.front() : *near;
}

// The index of a GPU as NVML counts: CUDA_VISIBLE_DEVICES may renumber.
std::string name_of(const TestInput& input, std::size_t ordinal) {
  const auto visible = muster::value_of(input.variables, "CUDA_VISIBLE_DEVICES");
  const auto words = split(visible, ',');
  const auto number = ordinal < words.size() ? parse_unsigned(trim(words[ordinal]))
                                             : Result<std::uint64_t>(ordinal);
  return fmt::format("gpu{}", number.value_or(ordinal));
}

}  // namespace

Result<std::unique_ptr<NodeGpu>> NodeGpu::open(const cuda::Library& library, int ordinal,
                                               std::string name) {
  // NOLINTNEXTLINE(modernize-make-unique): private
  std::unique_ptr<NodeGpu> gpu(new NodeGpu(library, std::move(name)));
  TRY(gpu->set_up(ordinal));
  return gpu;
}

Result<void> NodeGpu::set_up(int ordinal) {
  TRY(call(library_, library_.device, &device_, ordinal));
  int multiprocessors = 0;
  TRY(call(library_, library_.device_attribute, &multiprocessors, cuda::kMultiprocessors, device_));
  blocks_ = kBlocksPerMultiprocessor * static_cast<std::uint64_t>(std::max(1, multiprocessors));
  TRY_ASSIGN(first_, Gpu::open(library_, ordinal));
  TRY_ASSIGN(second_, Gpu::open(library_, ordinal));
  const std::string ptx(kernels_ptx());
  TRY(call(library_, library_.module_load, &module_, ptx.c_str()));
  for (const auto& [kernel, name] :
       {std::pair(&triad_, "muster_triad"), std::pair(&write_, "muster_pattern_write"),
        std::pair(&check_, "muster_pattern_check"), std::pair(&product_, "muster_product"),
        std::pair(&compare_, "muster_compare")}) {
    TRY(call(library_, library_.module_function, kernel, module_, name));
  }
  TRY_ASSIGN(result_, first_->allocate(sizeof counts_));
  return {};
}

// If the GPU no longer answers, nothing can be released.
NodeGpu::~NodeGpu() {
  if (!first_ || !first_->use()) return;
  release_all();
  first_->release(result_);
  if (module_ != nullptr) library_.module_unload.call(module_);
}

Result<cuda::Pointer> NodeGpu::allocate(std::uint64_t bytes) {
  TRY(first_->use());
  auto memory = first_->allocate(bytes);
  if (memory) memory_.push_back(*memory);
  return memory;
}

Result<void> NodeGpu::allocate(std::initializer_list<cuda::Pointer*> memories,
                               std::uint64_t bytes) {
  for (auto* memory : memories) {
    TRY_ASSIGN(*memory, allocate(bytes));
  }
  return {};
}

void NodeGpu::release_all() {
  if (!first_->use()) return;
  for (const auto memory : memory_) first_->release(memory);
  for (auto* const memory : pinned_) library_.host_free.call(memory);
  memory_.clear();
  pinned_.clear();
}

Result<void> NodeGpu::poison(cuda::Pointer memory, std::uint64_t bytes) {
  TRY(first_->use());
  TRY(first_->poison(memory, bytes));
  return wait();
}

Result<void> NodeGpu::fill(cuda::Pointer memory, std::uint64_t count, std::size_t width,
                           const std::vector<std::uint64_t>& bits) {
  TRY(first_->use());
  TRY(first_->fill(memory, count, width, {.bits = bits}));
  return wait();
}

Result<Wrong> NodeGpu::verify(cuda::Pointer memory, std::uint64_t count, std::size_t width,
                              const std::vector<std::uint64_t>& bits) {
  Wrong wrong;
  TRY(first_->use());
  TRY(first_->verify(memory, width, {.count = count, .low = bits, .high = bits}, wrong, no_watch));
  return wrong;
}

Result<std::span<std::uint64_t>> NodeGpu::pin(std::uint64_t bytes) {
  if (library_.host_allocate.call == nullptr || library_.host_free.call == nullptr) {
    return make_error("{} offers no pinned memory", library_.path);
  }
  TRY_ASSIGN(const auto cpu, cpu_near(first_->pci_address()));
  void* memory = nullptr;
  Result<void> allocated;
  TRY(on_each(std::array{cpu}, [&](std::size_t) {
    allocated = first_->use().and_then(
        [&] { return call(library_, library_.host_allocate, &memory, bytes, 0U); });
  }));
  TRY(allocated);
  pinned_.push_back(memory);
  return std::span(static_cast<std::uint64_t*>(memory), bytes / sizeof(std::uint64_t));
}

Result<void> NodeGpu::copy_to_gpu(cuda::Pointer to, const void* from, std::uint64_t bytes) {
  TRY(call(library_, library_.copy_in, to, from, bytes, first_->stream()));
  return wait();
}

Result<void> NodeGpu::copy_to_host(void* to, cuda::Pointer from, std::uint64_t bytes) {
  TRY(call(library_, library_.copy_out, to, from, bytes, first_->stream()));
  return wait();
}

template <class... Arguments>
Result<void> NodeGpu::launch(cuda::Kernel kernel, std::uint64_t blocks, Arguments... arguments) {
  std::array<void*, sizeof...(Arguments)> addresses{&arguments...};
  TRY(first_->use());
  return call(library_, library_.launch, kernel, static_cast<unsigned>(blocks), 1, 1, kThreads, 1,
              1, 0, first_->stream(), addresses.data(), nullptr);
}

Result<void> NodeGpu::triad(cuda::Pointer c, cuda::Pointer a, cuda::Pointer b,
                            std::uint64_t count) {
  return launch(triad_, blocks_, c, a, b, count / 4);
}

Result<void> NodeGpu::write_pattern(cuda::Pointer words, std::uint64_t count,
                                    const MemoryPattern& pattern) {
  return launch(write_, blocks_, words, count, pattern.seed, pattern.spread);
}

Result<void> NodeGpu::check_pattern(cuda::Pointer words, std::uint64_t count,
                                    const MemoryPattern& pattern) {
  return launch(check_, blocks_, words, count, pattern.seed, pattern.spread, result_);
}

Result<void> NodeGpu::product(cuda::Pointer a, cuda::Pointer b, cuda::Pointer c, std::uint64_t n,
                              std::uint64_t copies, std::uint64_t repeats) {
  constexpr std::uint64_t kTile = 64;
  return launch(product_, copies * (n / kTile) * (n / kTile), a, b, c, n, repeats);
}

Result<void> NodeGpu::compare(cuda::Pointer seen, cuda::Pointer expected, std::uint64_t count,
                              std::uint64_t period) {
  return launch(compare_, blocks_, seen, expected, count, period, result_);
}

Result<void> NodeGpu::clear_counts() {
  TRY(wait());
  counts_ = {0, ~std::uint64_t{0}, 0};
  return copy_to_gpu(result_, counts_.data(), sizeof counts_);
}

Result<Counts> NodeGpu::counts() {
  TRY(wait());
  TRY(copy_to_host(counts_.data(), result_, sizeof counts_));
  return Counts{.wrong = counts_[0], .first = counts_[1], .bits = counts_[2]};
}

Result<void> NodeGpu::wait() const {
  TRY(first_->use());
  return first_->wait(no_watch);
}

Result<double> NodeGpu::timed(const std::function<Result<void>()>& work) {
  TRY(begin_timed(work));
  return end_timed();
}

Result<void> NodeGpu::begin_timed(const std::function<Result<void>()>& work) {
  TRY(first_->use());
  TRY(first_->mark(0));
  TRY(work());
  return first_->mark(1);
}

Result<double> NodeGpu::end_timed() {
  TRY(wait());
  return first_->seconds_between(0, 1);
}

void NodeGpus::on_each(TestResult& result,
                       const std::function<Result<void>(NodeGpu&)>& work) const {
  for (const auto& gpu : gpus) {
    if (const auto done = work(*gpu); !done) {
      result.findings.push_back(unjudged(gpu->name(), done.error().message));
    }
  }
}

std::vector<std::uint64_t> varied_words(std::uint64_t seed) {
  constexpr std::uint64_t kPeriod = 1021;
  std::vector<std::uint64_t> words(kPeriod);
  for (std::uint64_t i = 0; i < kPeriod; ++i) {
    words[i] = (seed * kPeriod + i + 1) * 0x9e3779b97f4a7c15U;
  }
  return words;
}

std::uint64_t copied_bytes(const TestInput& input) {
  constexpr std::uint64_t kPage = 4096;
  if (input.bytes != 0) return input.bytes / kPage * kPage;
  return input.level == Level::quick ? kQuickCopy : 256UL << 20U;
}

Result<NodeGpus> open_gpus(const TestInput& input) {
  // Count GPUs in bus order, as NVML does.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  const auto library = cuda::open_library(input.cuda);
  if (!library && library.error().missing) {
    return make_missing("no CUDA driver: {}", library.error().message);
  }
  TRY(library);
  const int started = library->init.call(0);
  if (started == cuda::kNoDevice) return make_missing("no GPU is visible to this process");
  if (started != cuda::kSuccess) {
    return tl::unexpected(trouble(*library, library->init.name, started));
  }
  int count = 0;
  TRY(call(*library, library->device_count, &count));
  NodeGpus all;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    auto name = name_of(input, static_cast<std::size_t>(ordinal));
    if (auto gpu = NodeGpu::open(*library, ordinal, name)) {
      all.gpus.push_back(*std::move(gpu));
    } else {
      all.refused.push_back(unjudged(std::move(name), gpu.error().message));
    }
  }
  return all;
}

}  // namespace muster::bench::node
