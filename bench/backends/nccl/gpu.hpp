// SPDX-License-Identifier: Apache-2.0
// One GPU: its context, one stream, memory, events, and the kernels that fill and verify buffers.
// All work is enqueued on the stream, and every wait checks for errors.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/backends/nccl/library.hpp"
#include "bench/collectives/pattern.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// The text of kernels.ptx.
[[nodiscard]] std::string_view kernels_ptx();

// Whether a thread that has waited this long may sleep for a moment. Not near the expected end,
// since it would start the next operation late. `expected` is zero if it is not known.
[[nodiscard]] bool may_nap(std::chrono::nanoseconds waited, std::chrono::nanoseconds expected);

// "0001:00:00.0". Works without a context.
[[nodiscard]] Result<std::string> pci_address_of(const cuda::Library& library, int ordinal);

class Gpu {
 public:
  // Called every millisecond of a wait; an error ends it.
  using Watch = std::function<Result<void>()>;

  [[nodiscard]] static Result<std::unique_ptr<Gpu>> open(const cuda::Library& library, int ordinal);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const std::string& pci_address() const { return pci_address_; }

  [[nodiscard]] int device() const { return device_; }

  [[nodiscard]] cuda::Stream stream() const { return stream_; }

  [[nodiscard]] cuda::Context context() const { return context_; }

  // Makes its context that of the calling thread.
  [[nodiscard]] Result<void> use() const;

  [[nodiscard]] std::optional<std::uint64_t> memory_free() const;
  [[nodiscard]] Result<cuda::Pointer> allocate(std::uint64_t bytes);
  void release(cuda::Pointer memory) const;

  // Sets all bytes to 0xff, a NaN in every floating-point type.
  [[nodiscard]] Result<void> poison(cuda::Pointer memory, std::uint64_t bytes);
  [[nodiscard]] Result<void> fill(cuda::Pointer memory, std::uint64_t count, std::size_t width,
                                  const Fill& fill);
  // Counts wrong elements in `wrong`. Waits for the stream.
  [[nodiscard]] Result<void> verify(cuda::Pointer memory, std::size_t width, const Segment& segment,
                                    Wrong& wrong, const Watch& watch);

  // Records event `index`, and creates it if necessary.
  [[nodiscard]] Result<void> mark(std::size_t index);
  // Whether the stream has reached it. wait() reports errors.
  [[nodiscard]] bool has_reached(std::size_t index) const;
  [[nodiscard]] Result<double> seconds_between(std::size_t first, std::size_t second);

  // Makes later work on the stream wait for the last event `index` that `other`, on the same GPU,
  // has recorded.
  [[nodiscard]] Result<void> wait_for(const Gpu& other, std::size_t index);

  // `expected` is how long it took the last time; zero if that is not known.
  [[nodiscard]] Result<void> wait(const Watch& watch,
                                  std::chrono::nanoseconds expected = std::chrono::nanoseconds(0));

  // The work that `enqueue` enqueues becomes a graph and does not run. The capture ends even if it
  // fails.
  [[nodiscard]] Result<void> capture(const std::function<Result<void>()>& enqueue);
  [[nodiscard]] Result<void> launch_graph();
  void drop_graph();

 private:
  explicit Gpu(cuda::Library library) : library_(std::move(library)) {}

  [[nodiscard]] Result<bool> is_done(const Watch& watch) const;
  [[nodiscard]] Result<void> set_up(int ordinal);
  [[nodiscard]] Result<void> load_kernels();
  // Callers must wait for the stream before the next upload.
  [[nodiscard]] Result<void> upload(const std::vector<std::uint64_t>& first,
                                    const std::vector<std::uint64_t>& second);
  [[nodiscard]] Result<void> launch(cuda::Kernel kernel, std::uint64_t count, void** arguments);

  cuda::Library library_;
  int device_ = 0;
  bool retained_ = false;
  unsigned blocks_ = 0;
  cuda::Context context_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::Module module_ = nullptr;
  std::array<cuda::Kernel, 4> fill_{};  // for elements of 1, 2, 4 and 8 bytes
  std::array<cuda::Kernel, 4> verify_{};
  cuda::Pointer table_ = 0;  // the values to fill with or to compare with
  std::uint64_t table_bytes_ = 0;
  cuda::Pointer result_ = 0;
  // The host side of copies. These may run after the call, and after a wait that failed.
  std::vector<std::uint64_t> words_;
  std::array<std::uint64_t, 2> counts_{};
  std::uint64_t element_ = 0;
  std::vector<cuda::Event> events_;
  cuda::Graph graph_ = nullptr;
  cuda::GraphRun graph_run_ = nullptr;
  std::string name_;
  std::string pci_address_;
};

}  // namespace muster::bench
