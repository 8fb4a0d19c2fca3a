// SPDX-License-Identifier: Apache-2.0
#include "bench/node/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "bench/backends/nccl/errors.hpp"
#include "bench/node/cpus.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::node {
namespace {

constexpr unsigned kThreads = 256;  // as the products want them
constexpr std::uint64_t kBlocksPerMultiprocessor = 8;

Result<void> nothing_to_see() { return {}; }

// A CPU of this process that is local to the device; the first of its own where nobody tells.
Result<unsigned> cpu_near(const std::string& pci_address) {
  TRY_ASSIGN(const auto own, own_cpus());
  const auto text =
      Root().read_line(fmt::format("/sys/bus/pci/devices/{}/local_cpulist", pci_address));
  const auto local = text ? parse_cpu_list(*text) : Result<std::vector<unsigned>>(own);
  if (!local) return own.front();
  const auto near = std::ranges::find_first_of(own, *local);
  return near == own.end() ? own.front() : *near;
}

}  // namespace

Result<std::unique_ptr<NodeGpu>> NodeGpu::open(const cuda::Library& library, int ordinal,
                                               std::string name) {
  // NOLINTNEXTLINE(modernize-make-unique): private
  std::unique_ptr<NodeGpu> gpu(new NodeGpu(library, std::move(name)));
  if (auto ready = gpu->set_up(ordinal); !ready) return tl::unexpected(ready.error());
  return gpu;
}

Result<void> NodeGpu::set_up(int ordinal) {
  MUSTER_CUDA_TRY(library_, device, &device_, ordinal);
  int multiprocessors = 0;
  MUSTER_CUDA_TRY(library_, device_attribute, &multiprocessors, cuda::kMultiprocessors, device_);
  blocks_ = kBlocksPerMultiprocessor * static_cast<std::uint64_t>(std::max(1, multiprocessors));
  auto opened = put(first_, Gpu::open(library_, ordinal));
  if (opened) opened = put(second_, Gpu::open(library_, ordinal));
  if (!opened) return opened;
  const std::string ptx(kernels_ptx());
  MUSTER_CUDA_TRY(library_, module_load, &module_, ptx.c_str());
  const auto find = [this](cuda::Kernel& kernel, const char* name) -> Result<void> {
    MUSTER_CUDA_TRY(library_, module_function, &kernel, module_, name);
    return {};
  };
  auto found = find(triad_, "muster_triad");
  if (found) found = find(write_, "muster_pattern_write");
  if (found) found = find(check_, "muster_pattern_check");
  if (found) found = find(product_, "muster_product");
  if (found) found = find(compare_, "muster_compare");
  return found ? put(result_, first_->allocate(sizeof counts_)) : found;
}

// As with Gpu: where the GPU no longer answers, giving back fails, and nothing can be done.
NodeGpu::~NodeGpu() {
  if (!first_ || !first_->use()) return;
  release_all();
  first_->release(result_);
  if (module_ != nullptr) library_.module_unload.call(module_);
}

Result<cuda::Pointer> NodeGpu::allocate(std::uint64_t bytes) {
  if (auto used = first_->use(); !used) return tl::unexpected(used.error());
  auto memory = first_->allocate(bytes);
  if (memory) memory_.push_back(*memory);
  return memory;
}

Result<void> NodeGpu::allocate(std::initializer_list<cuda::Pointer*> memories,
                               std::uint64_t bytes) {
  for (auto* memory : memories) {
    if (auto made = put(*memory, allocate(bytes)); !made) return made;
  }
  return {};
}

void NodeGpu::release_all() {
  if (!first_->use()) return;
  for (const auto memory : memory_) first_->release(memory);
  memory_.clear();
}

Result<std::unique_ptr<PinnedMemory>> NodeGpu::pin(std::uint64_t bytes) const {
  if (library_.host_allocate.call == nullptr || library_.host_free.call == nullptr) {
    return make_error(fmt::format("{} offers no pinned memory", library_.path));
  }
  TRY_ASSIGN(const auto cpu, cpu_near(first_->pci_address()));
  void* memory = nullptr;
  Result<void> made;
  const auto take = [&]() -> Result<void> {
    if (auto used = first_->use(); !used) return used;
    MUSTER_CUDA_TRY(library_, host_allocate, &memory, bytes, 0U);
    return {};
  };
  const std::array near{cpu};
  if (auto ran = on_each(near, [&](std::size_t) { made = take(); }); !ran) {
    return tl::unexpected(ran.error());
  }
  if (!made) return tl::unexpected(made.error());
  return std::make_unique<PinnedMemory>(library_, memory, bytes);
}

Result<void> NodeGpu::launch(cuda::Kernel kernel, std::uint64_t blocks, void** arguments) {
  if (auto used = first_->use(); !used) return used;
  MUSTER_CUDA_TRY(library_, launch, kernel, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0,
                  first_->stream(), arguments, nullptr);
  return {};
}

Result<void> NodeGpu::triad(cuda::Pointer c, cuda::Pointer a, cuda::Pointer b,
                            std::uint64_t count) {
  std::uint64_t vectors = count / 4;
  std::array<void*, 4> arguments{&c, &a, &b, &vectors};
  return launch(triad_, blocks_, arguments.data());
}

Result<void> NodeGpu::write_pattern(cuda::Pointer words, std::uint64_t count,
                                    const MemoryPattern& pattern) {
  auto [seed, spread] = pattern;
  std::array<void*, 4> arguments{&words, &count, &seed, &spread};
  return launch(write_, blocks_, arguments.data());
}

Result<void> NodeGpu::check_pattern(cuda::Pointer words, std::uint64_t count,
                                    const MemoryPattern& pattern) {
  auto [seed, spread] = pattern;
  std::array<void*, 5> arguments{&words, &count, &seed, &spread, &result_};
  return launch(check_, blocks_, arguments.data());
}

Result<void> NodeGpu::product(cuda::Pointer a, cuda::Pointer b, cuda::Pointer c, std::uint64_t n,
                              std::uint64_t copies, std::uint64_t repeats) {
  constexpr std::uint64_t kTile = 64;
  std::array<void*, 5> arguments{&a, &b, &c, &n, &repeats};
  return launch(product_, copies * (n / kTile) * (n / kTile), arguments.data());
}

Result<void> NodeGpu::compare(cuda::Pointer seen, cuda::Pointer expected, std::uint64_t count,
                              std::uint64_t period) {
  std::array<void*, 5> arguments{&seen, &expected, &count, &period, &result_};
  return launch(compare_, blocks_, arguments.data());
}

Result<void> NodeGpu::clear_counts() {
  if (auto waited = wait(); !waited) return waited;
  counts_ = {0, ~std::uint64_t{0}, 0};
  MUSTER_CUDA_TRY(library_, copy_in, result_, counts_.data(), sizeof counts_, first_->stream());
  return wait();
}

Result<Counts> NodeGpu::counts() {
  if (auto waited = wait(); !waited) return tl::unexpected(waited.error());
  MUSTER_CUDA_TRY(library_, copy_out, counts_.data(), result_, sizeof counts_, first_->stream());
  if (auto waited = wait(); !waited) return tl::unexpected(waited.error());
  return Counts{.wrong = counts_[0], .first = counts_[1], .bits = counts_[2]};
}

Result<void> NodeGpu::wait() const {
  if (auto used = first_->use(); !used) return used;
  return first_->wait(nothing_to_see);
}

Result<double> NodeGpu::timed(const std::function<Result<void>()>& work) {
  if (auto begun = begin_timed(work); !begun) return tl::unexpected(begun.error());
  return end_timed();
}

Result<void> NodeGpu::begin_timed(const std::function<Result<void>()>& work) {
  auto done = first_->use();
  if (done) done = first_->mark(0);
  if (done) done = work();
  return done ? first_->mark(1) : done;
}

Result<double> NodeGpu::end_timed() {
  if (auto waited = wait(); !waited) return tl::unexpected(waited.error());
  return first_->seconds_between(0, 1);
}

Result<NodeGpus> open_gpus(const TestInput& input) {
  // The driver's numbers are those of NVML, which counts along the bus.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  const auto library = cuda::open_library(input.cuda);
  if (!library && library.error().missing) {
    return make_missing(fmt::format("no CUDA driver: {}", library.error().message));
  }
  if (!library) return tl::unexpected(library.error());
  const int started = library->init.call(0);
  if (started == cuda::kNoDevice) return make_missing("no GPU is visible to this process");
  if (started != cuda::kSuccess) {
    return tl::unexpected(trouble(*library, library->init.name, started));
  }
  int count = 0;
  MUSTER_CUDA_TRY(*library, device_count, &count);
  const auto visible = input.variables.find("CUDA_VISIBLE_DEVICES");
  const auto named = visible == input.variables.end() ? std::string() : visible->second;
  NodeGpus all;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const auto words = named.empty() ? std::vector<std::string_view>() : split(named, ',');
    const auto index = static_cast<std::size_t>(ordinal);
    const auto number =
        index < words.size() ? parse_unsigned(trim(words[index])) : Result<std::uint64_t>(index);
    auto name = fmt::format("gpu{}", number ? *number : index);
    auto gpu = NodeGpu::open(*library, ordinal, name);
    if (gpu) {
      all.gpus.push_back(*std::move(gpu));
      continue;
    }
    all.refused.push_back(unjudged(std::move(name), gpu.error().message));
  }
  return all;
}

}  // namespace muster::bench::node
