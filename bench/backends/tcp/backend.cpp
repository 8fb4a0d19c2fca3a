// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/tcp/backend.hpp"

#include <utility>

#include "bench/backends/host_backend.hpp"
#include "bench/collectives/definition.hpp"

namespace muster::bench::tcp {
namespace {

struct TcpCalls {
  Mesh& mesh;
  HostJob job;
  Result<void> (*collective)(HostAlgorithms& peers, const HostJob& job);
  Result<void> last{};

  [[nodiscard]] bool run() {
    last = collective(mesh, job);
    return last.has_value();
  }

  [[nodiscard]] bool barrier() {
    last = mesh.barrier();
    return last.has_value();
  }

  [[nodiscard]] const Error& error() const { return last.error(); }
};

class TcpBackend final : public HostBackend<TcpCalls> {
 public:
  TcpBackend(Mesh mesh, std::optional<std::uint64_t> room)
      : HostBackend("TCP", mesh.rank(), mesh.ranks(), room), mesh_(std::move(mesh)) {}

  [[nodiscard]] std::string library() const override { return "TCP of muster-bench"; }

  void abort() noexcept override { mesh_.shut_down(); }

 private:
  [[nodiscard]] TcpCalls calls_of(const Operation& operation,
                                  HostMemory::Buffers& buffers) override {
    return {.mesh = mesh_,
            .job = job_of(operation, buffers),
            .collective = definition_of(operation.collective).tcp};
  }

  Mesh mesh_;
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
