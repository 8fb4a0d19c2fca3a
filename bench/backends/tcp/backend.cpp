// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/tcp/backend.hpp"

#include <utility>

#include "bench/backends/host_memory.hpp"
#include "bench/backends/timing.hpp"
#include "bench/collectives/definition.hpp"

namespace muster::bench::tcp {
namespace {

class TcpBackend : public Backend {
 public:
  TcpBackend(Mesh mesh, std::optional<std::uint64_t> room)
      : mesh_(std::move(mesh)), peers_(mesh_), memory_(mesh_.rank(), mesh_.ranks(), room) {}

  [[nodiscard]] std::string library() const override { return "TCP of muster-bench"; }

  [[nodiscard]] int ranks() const override { return mesh_.ranks(); }

  [[nodiscard]] std::vector<Member> members() const override { return {host_member(mesh_.rank())}; }

  [[nodiscard]] std::optional<std::uint64_t> memory_free() const override { return memory_.room(); }

  [[nodiscard]] Result<void> supports(const Operation& /*operation*/,
                                      const Pace& pace) const override {
    if (pace.graph) return make_error("TCP on host memory has no CUDA graphs");
    if (pace.together > 1) return make_error("TCP on host memory has no groups of operations");
    return {};
  }

  [[nodiscard]] Result<void> reserve(const Operation& largest) override {
    return memory_.reserve(largest);
  }

  [[nodiscard]] Result<Batch> measure(const Operation& operation,
                                      const Pace& pace,
                                      Progress& progress) override {
    const auto buffers = memory_.lay_out(operation);
    if (!buffers) return tl::unexpected(buffers.error());
    memory_.poison_and_fill(operation, *buffers);

    Samples samples{.rank = mesh_.rank(), .seconds = {}};
    Result<void> last;
    const auto job = job_of(operation, *buffers);
    auto* const collective = definition_of(operation.collective).tcp;
    const auto run = [&] {
      last = collective(peers_, job);
      return last.has_value();
    };
    const auto barrier = [&] {
      last = peers_.barrier();
      return last.has_value();
    };
    if (!time_operations(pace, run, barrier, samples, progress)) {
      return tl::unexpected(last.error());
    }
    if (!is_repeatable(operation)) {
      memory_.poison_and_fill(operation, *buffers);
      if (!counted(run, progress)) return tl::unexpected(last.error());
    }
    return Batch{.samples = {std::move(samples)}, .wrong = memory_.verify(operation, *buffers)};
  }

  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& operation,
                                                  const Pace& /*pace*/,
                                                  Progress& progress) override {
    const auto buffers = memory_.lay_out(operation);
    if (!buffers) return tl::unexpected(buffers.error());
    memory_.poison_and_fill(operation, *buffers);
    progress.reset();
    ++progress.started;
    auto run = definition_of(operation.collective).tcp(peers_, job_of(operation, *buffers));
    if (!run) return tl::unexpected(run.error());
    ++progress.finished;
    return memory_.verify(operation, *buffers);
  }

  void abort() noexcept override { mesh_.shut_down(); }

 private:
  Mesh mesh_;
  HostAlgorithms peers_;
  HostMemory memory_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(const Options& options) {
  auto available = host_memory_available();  // all have asked when they are connected
  auto mesh =
      Mesh::connect(options.rank, options.ranks, options.token, options.exchange, options.patience);
  if (!mesh) return tl::unexpected(mesh.error());
  if (available) *available /= static_cast<std::uint64_t>(mesh->ranks_here());
  return std::make_unique<TcpBackend>(*std::move(mesh), available);
}

}  // namespace muster::bench::tcp
