// SPDX-License-Identifier: Apache-2.0
// The collectives over connections between all ranks.
#include <array>

#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace over_tcp {
namespace {

Participant participant_of(const HostAlgorithms& peers) {
  return {.rank = peers.rank(), .ranks = peers.ranks()};
}

// In the first round each segment collects the sums of all ranks, in the second the finished
// segments go around. Short vectors are reduced at rank 0 and broadcast.
Result<void> all_reduce(HostAlgorithms& peers, const HostJob& job) {
  copy_bytes(job.send, job.receive);
  if (!is_short(job.receive)) return peers.reduce_around(job);
  TRY(peers.reduce_up(job, job.receive, 0));
  if (peers.rank() == 0) peers.average(job, job.receive);
  return peers.broadcast_down(job.receive, 0);
}

Result<void> all_gather(HostAlgorithms& peers, const HostJob& job) {
  copy_bytes(job.send, peers.own_segment(job.receive, job.width));
  return peers.gather_around(job.receive, job.width, 0);
}

Result<void> reduce_scatter(HostAlgorithms& peers, const HostJob& job) {
  copy_bytes(job.sent_part(peers.rank()), job.receive);
  for (int distance = 1; distance < peers.ranks(); ++distance) {
    const int to = peers.at_distance(distance);
    const int from = peers.at_distance(-distance);
    TRY(peers.exchange_and_combine(job, to, job.sent_part(to), from, job.receive));
  }
  peers.average(job, job.receive);
  return {};
}

Result<void> broadcast(HostAlgorithms& peers, const HostJob& job) {
  if (peers.ranks() == 1) return {};
  if (is_short(job.receive)) return peers.broadcast_down(job.receive, job.operation.root);
  return peers.broadcast_along(job.receive, job.operation.root);
}

// Sends blocks, so that several are in transit at the same time.
Result<void> reduce(HostAlgorithms& peers, const HostJob& job) {
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

// Calls `exchange(peer)` for each rank. Every round exchanges in pairs, so that nothing is lost in
// place.
template <class ExchangeWith>
Result<void> exchange_with_each(const HostAlgorithms& peers, ExchangeWith exchange) {
  for (int round = 0; round < peers.ranks(); ++round) {
    TRY(exchange((round - peers.rank() + peers.ranks()) % peers.ranks()));
  }
  return {};
}

Result<void> alltoall(HostAlgorithms& peers, const HostJob& job) {
  return exchange_with_each(peers, [&](int peer) -> Result<void> {
    const auto out = job.sent_parts(part_at(peer));
    const auto in = job.received_parts(part_at(peer));
    if (peer == peers.rank()) {
      copy_bytes(out, in);
      return {};
    }
    return job.operation.in_place ? peers.exchange_in_place(peer, peer, in)
                                  : peers.exchange(peer, out, peer, in);
  });
}

Result<void> alltoallv(HostAlgorithms& peers, const HostJob& job) {
  return exchange_with_each(peers, [&](int peer) -> Result<void> {
    const auto out = job.sent_parts(sent_to(peer, peers.rank(), peers.ranks()));
    const auto in = job.received_parts(received_from(peer, peers.rank(), peers.ranks()));
    if (peer != peers.rank()) return peers.exchange(peer, out, peer, in);
    copy_bytes(out, in);
    return {};
  });
}

Result<void> hypercube(HostAlgorithms& peers, const HostJob& job) {
  copy_bytes(job.send, job.received_part(peers.rank()));
  for (int round = 0; 1 << round < peers.ranks(); ++round) {
    const auto [peer, there, here] = cube_step(peers.rank(), round);
    TRY(peers.exchange(peer, job.received_parts(here), peer, job.received_parts(there)));
  }
  return {};
}

Result<void> sendrecv(HostAlgorithms& peers, const HostJob& job) {
  if (peers.ranks() == 1) {
    copy_bytes(job.send, job.receive);
    return {};
  }
  const int next = peers.at_distance(1);
  const int previous = peers.at_distance(-1);
  if (job.operation.in_place) return peers.exchange_in_place(next, previous, job.receive);
  return peers.exchange(next, job.send, previous, job.receive);
}

Result<void> gather(HostAlgorithms& peers, const HostJob& job) {
  const int root = job.operation.root;
  if (peers.rank() != root) return peers.send(root, job.send);
  for (int from = 0; from < peers.ranks(); ++from) {
    if (from == root) {
      copy_bytes(job.send, job.received_part(from));
    } else {
      TRY(peers.receive(from, job.received_part(from)));
    }
  }
  return {};
}

Result<void> scatter(HostAlgorithms& peers, const HostJob& job) {
  const int root = job.operation.root;
  if (peers.rank() != root) return peers.receive(root, job.receive);
  for (int to = 0; to < peers.ranks(); ++to) {
    if (to == root) {
      copy_bytes(job.sent_part(to), job.receive);
    } else {
      TRY(peers.send(to, job.sent_part(to)));
    }
  }
  return {};
}

Result<void> pingpong(HostAlgorithms& peers, const HostJob& job) {
  const auto self = participant_of(peers);
  if (self.begins()) {
    TRY(peers.send(self.partner(), job.send));
    return peers.receive(self.partner(), job.receive);
  }
  TRY(peers.receive(self.partner(), job.receive));
  return peers.send(self.partner(), job.send);
}

Result<void> uniband(HostAlgorithms& peers, const HostJob& job) {
  const auto self = participant_of(peers);
  std::array<std::byte, 1> word{};
  for (int i = 0; i < messages_of(job.operation); ++i) {
    TRY(self.begins() ? peers.send(self.partner(), job.send)
                      : peers.receive(self.partner(), job.receive));
  }
  return self.begins() ? peers.receive(self.partner(), word) : peers.send(self.partner(), word);
}

Result<void> biband(HostAlgorithms& peers, const HostJob& job) {
  const int partner = participant_of(peers).partner();
  for (int i = 0; i < messages_of(job.operation); ++i) {
    TRY(peers.exchange(partner, job.send, partner, job.receive));
  }
  return {};
}

Result<void> barrier(HostAlgorithms& peers, const HostJob& /*job*/) { return peers.barrier(); }

}  // namespace
}  // namespace over_tcp

TcpCollective tcp_collective(Collective collective) {
#define MUSTER_COLLECTIVE(name) over_tcp::name,
  constexpr std::array<TcpCollective, kCollectives> kAll{MUSTER_COLLECTIVES(MUSTER_COLLECTIVE)};
#undef MUSTER_COLLECTIVE
  return kAll.at(static_cast<std::size_t>(collective));
}

}  // namespace muster::bench
