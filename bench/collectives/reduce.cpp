// SPDX-License-Identifier: Apache-2.0
// The root receives the reduction of all inputs.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

// In blocks, so that several are in transit at the same time.
Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  auto own = job.send;
  auto result = job.receive;
  while (!own.empty()) {
    const auto out = take_block(own);
    const auto sum =
        peers.rank() == job.operation.root ? take_block(result) : peers.outgoing_block(out.size());
    copy_bytes(out, sum);
    TRY(peers.reduce_up(job, sum, job.operation.root));
  }
  peers.average(job, job.receive);
  return {};
}

}  // namespace

constinit const CollectiveDefinition collectives::reduce{
    .name = "reduce",
    .reduces = true,
    .has_root = true,
    .shape =
        [](Shape& shape, const Participant& self) {
          if (!self.is_root()) shape.receive = 0;
        },
    .received = {.what = Received::What::reduction},
    .bus_factor = factor_of_one,
    .nccl = {.call = [](NcclCalls& nccl) { return nccl.reduce(); }, .log_name = "Reduce"},
    .mpi = {.name = "MPI_Reduce", .divisible = true},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.network; }},
};

}  // namespace muster::bench
