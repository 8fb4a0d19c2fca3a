// SPDX-License-Identifier: Apache-2.0
// The scenario of the fake CUDA driver and the fake NCCL: a small cluster with named faults. It is
// read from the JSON file MUSTER_FAKE_GPU. Each key is documented at its member.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::fakes::gpu {

// A rank, and an operation of its communicator (counted from 0), or all of them.
struct When {
  int rank = 0;
  std::optional<std::uint64_t> operation;

  [[nodiscard]] bool is(int at_rank, std::uint64_t at_operation) const {
    return rank == at_rank && (!operation || *operation == at_operation);
  }
};

struct Wrong {
  When when;
  std::uint64_t index = 0;  // of the element in the receive buffer; its highest bit is turned over
};

struct AsyncError {
  When when;
  int code = 6;
  std::string text;
};

struct Slow {
  When when;
  double us = 0;  // that the rank comes late
};

// A GPU that slows down after a time.
struct Throttle {
  int gpu = 0;
  double after_s = 0;  // of products
  double share = 1;    // of its speed that is left
};

// A flipped bit of a result.
struct Flip {
  int gpu = 0;
  std::uint64_t product = 1;  // the launch, from 1
  std::uint64_t index = 0;    // of the element
  unsigned bit = 0;

  [[nodiscard]] bool is(int on, std::uint64_t launch) const {
    return gpu == on && (product == 0 || product == launch);
  }
};

// The speeds and faults of a node: the key "node".
struct NodeHardware {
  double pcie_gbs = 55;
  std::map<int, double> pcie_of;                  // "pcie": {"3": 27.5}
  double peer_gbs = 350;                          // "peer_gbs"
  std::map<std::pair<int, int>, double> peer_of;  // "peer": {"1-4": 90}: GPU 1 reads from 4
  double memory_gbs = 3000;
  std::map<int, double> memory_of;  // "memory": {"2": 2000}
  double tflops = 40;               // of products by muster's kernel
  // "gemm": {"bf16": 770}: of products by cuBLASLt; 0 if the chip does not support the type
  std::map<std::string, double> gemm{{"bf16", 770}, {"fp16", 760}, {"fp8", 1400},
                                     {"tf32", 390}, {"fp32", 50},  {"fp64", 60}};
  std::map<int, double> gemm_of;  // "gemm_share": {"3": 0.9}: of that, on one GPU
  std::optional<Flip> gemm_flip;  // "gemm_flip": as "flip", of those products' bytes; 0: each

  std::optional<Throttle> throttle;  // "throttle": {"gpu": 2, "after_s": 60, "share": 0.6}
  std::optional<Flip> flip;          // "flip": {"gpu": 5, "product": 3, "index": 7, "bit": 13}
  std::optional<Flip> stuck;  // "stuck": {"gpu": 1, "index": 9, "bit": 40}: of a pattern's words
  std::optional<int> spoilt_copy;                  // "spoilt_copy": 3: to the host, one bit
  std::optional<std::pair<int, int>> spoilt_pair;  // "spoilt_pair": "1-4": one bit
  std::optional<int> lost_copy;                    // "lost_copy": 3: copies to the host do nothing
  std::optional<int> lost_copy_in;                 // "lost_copy_in": 3: nor do those from it
  std::optional<std::pair<int, int>> lost_pair;    // "lost_pair": "1-4": so do those of the pair
  std::uint64_t lost_from = 1;  // "lost_from": 2: only from the second of these copies on
  // "lost_product": {"gpu": 5, "product": 3}: that launch stores nothing; 0: none does
  std::optional<Flip> lost_product;
  std::optional<Flip> lost_gemm;   // "lost_gemm": the same for products by cuBLASLt
  std::optional<Flip> lost_triad;  // "lost_triad": and for triads
  int refused_algorithm = 0;       // "refused_algorithm": 2: cuBLASLt suggests it, and it fails
  bool late_rdma = false;          // "late_rdma": RDMA into a GPU's memory shows only once flushed
};

// A part of a node that slows down all operations that use it: "slow_part": {"of": "hca", "host":
// 2, "gpu": 1, "share": 0.5}. An HCA is used between nodes only, a GPU always, and a node's links
// by operations with two of its GPUs.
struct SlowPart {
  std::string of = "hca";  // hca, gpu, links
  int host = 0;
  int gpu = 0;
  double share = 1;  // of the bandwidth that is left
};

struct Scenario {
  int gpus = 8;                                 // "gpus": on each node
  std::uint64_t memory = 80UL << 30;            // "memory_gib": of each GPU
  std::string model = "NVIDIA H100 80GB HBM3";  // "name"
  std::vector<int> hosts;  // "hosts": [0, 0, 1, 1]: the node of each rank; else by `gpus`
  std::map<std::string, double> busbw_gbs;  // "busbw": {"all_reduce": 187, "*": 100}
  double latency_us = 0;                    // "latency_us": of each operation
  std::optional<Slow> slow;                 // "slow": {"rank": 3, "us": 500}
  std::optional<When> lost;                 // "lost": {"rank": 5, "operation": 0}: stores nothing
  std::optional<Wrong> wrong;               // "wrong": {"rank": 5, "operation": 0, "index": 7}
  // "hang": {"rank": 2, "operation": 3}: its GPU stops before that operation, or in it if earlier
  // ones are still on the stream
  std::optional<When> hang;
  std::optional<std::pair<int, int>>
      hang_between;  // "hang_between": "1-4": no operation ends that both nodes are in
  std::optional<int>
      dies;  // "dies": 3: processes of that node are killed at work with another node
  std::optional<std::pair<int, int>>
      apart;  // "apart": "1-4": no communicator ever forms that both nodes are in
  std::optional<SlowPart> slow_part;  // "slow_part"
  std::optional<int> absent;          // "absent": 4: the rank never comes to the communicator
  std::optional<AsyncError>
      async_error;  // "async_error": {"rank": 1, "operation": 2, "code": 6, "text": …}
  std::map<std::string, int> answers;  // "answers": {"cuInit": 802}: what a function answers
  std::string network = "ib+gdr";      // "network": ib+gdr, ib, socket
  std::string warning;                 // "warning": what NCCL warns of while it begins
  std::vector<std::string> diagnosis;  // "diagnosis": what NCCL prints of it, from 2.31 on
  std::string cause = "no_device";     // "cause" of socket: no_device, disabled, net, plugin
  std::string inside = "p2p";          // "inside": p2p, shm, nvls
  std::vector<std::string> log;        // "log": further lines, without their prefix
  int cuda_version = 13000;
  int nccl_version = 22809;  // "nccl_version"
  NodeHardware node;         // "node"
  bool abort_hangs = false;  // "abort_hangs": ncclCommAbort never returns

  [[nodiscard]] int host_of(int rank) const;
  [[nodiscard]] double busbw_of(std::string_view collective) const;
};

[[nodiscard]] Result<Scenario> parse_scenario(std::string_view json);

}  // namespace muster::fakes::gpu
