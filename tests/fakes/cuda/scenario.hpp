// SPDX-License-Identifier: Apache-2.0
// The scenario of the fake CUDA driver, the fake NCCL and the fake cuBLASLt: a small cluster with
// named faults. It is read from the JSON file MUSTER_FAKE_GPU, which may have no other keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/json_read.hpp"

namespace muster::fakes::gpu {

// "1-4": two GPUs of a node, the one that reads first, or two nodes.
struct Pair {
  int first = 0, second = 0;

  bool operator==(const Pair&) const = default;
};

inline void read_json(const JsonReader& json, Pair& pair) {
  std::string text;
  json.read(text);
  const auto dash = text.find('-');
  pair = {std::stoi(text.substr(0, dash)), std::stoi(text.substr(dash + 1))};
}

// A fault of a rank in an operation.
struct RankFault {
  MUSTER_DESCRIBED(RankFault);
  MUSTER_REQUIRED(int, rank, "") = 0;
  MUSTER_FIELD(std::optional<std::uint64_t>, operation, "of its communicator, from 0; else all");
  MUSTER_FIELD(std::uint64_t, index, "of a wrong element, whose highest bit is turned over") = 0;
  MUSTER_FIELD(double, us, "that a slow rank comes late") = 0;
  MUSTER_FIELD(int, code, "of an asynchronous error") = 6;
  MUSTER_FIELD(std::string, text, "of an asynchronous error");

  [[nodiscard]] bool is(int at_rank, std::uint64_t at_operation) const {
    return rank == at_rank && operation.value_or(at_operation) == at_operation;
  }
};

// A GPU that slows down after a time.
struct Throttle {
  MUSTER_DESCRIBED(Throttle);
  MUSTER_FIELD(int, gpu, "") = 0;
  MUSTER_FIELD(double, after_s, "of products") = 0;
  MUSTER_FIELD(double, share, "of its speed that is left") = 1;
};

// A flipped bit of a result, or a launch that stores nothing.
struct Flip {
  MUSTER_DESCRIBED(Flip);
  MUSTER_FIELD(int, gpu, "") = 0;
  MUSTER_FIELD(std::uint64_t, product, "the launch, from 1; 0: each") = 1;
  MUSTER_FIELD(std::uint64_t, index, "of the element") = 0;
  MUSTER_FIELD(unsigned, bit, "") = 0;

  [[nodiscard]] bool is(int on, std::uint64_t launch) const {
    return gpu == on && (product == 0 || product == launch);
  }
};

// Numbers by GPU, "3", by pair of GPUs, "1-4", or by type.
[[nodiscard]] inline double number_for(const ByName<double>& numbers, const std::string& name,
                                       double usual) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? usual : found->second;
}

// The speeds and faults of a node.
struct NodeHardware {
  MUSTER_DESCRIBED(NodeHardware);
  MUSTER_FIELD(double, pcie_gbs, "") = 55;
  MUSTER_FIELD(ByName<double>, pcie, "of one GPU");
  MUSTER_FIELD(double, peer_gbs, "") = 350;
  MUSTER_FIELD(ByName<double>, peer, "of one pair; 0: it has no direct path");
  MUSTER_FIELD(double, memory_gbs, "") = 3000;
  MUSTER_FIELD(ByName<double>, memory, "of one GPU");
  MUSTER_FIELD(double, tflops, "of products by muster's kernel") = 40;
  MUSTER_FIELD(ByName<double>, gemm, "TFLOPS by cuBLASLt; 0: the chip lacks the type") = {
      {"bf16", 770}, {"fp16", 760}, {"fp8", 1400}, {"tf32", 390}, {"fp32", 50}, {"fp64", 60}};
  MUSTER_FIELD(ByName<double>, gemm_share, "of that, on one GPU");
  MUSTER_FIELD(std::optional<Throttle>, throttle, "");
  MUSTER_FIELD(std::optional<Flip>, flip, "of a product by muster's kernel");
  MUSTER_FIELD(std::optional<Flip>, gemm_flip, "of a byte of a product by cuBLASLt");
  MUSTER_FIELD(std::optional<Flip>, stuck, "of a pattern's words");
  MUSTER_FIELD(std::optional<int>, spoilt_copy, "a copy from this GPU to the host has a wrong bit");
  MUSTER_FIELD(std::optional<Pair>, spoilt_pair, "a copy between these GPUs has a wrong bit");
  MUSTER_FIELD(std::optional<int>, lost_copy, "copies from this GPU to the host do nothing");
  MUSTER_FIELD(std::optional<int>, lost_copy_in, "nor do those to it");
  MUSTER_FIELD(std::optional<Pair>, lost_pair, "nor do those between these");
  MUSTER_FIELD(std::uint64_t, lost_from, "the first of these copies that does nothing") = 1;
  MUSTER_FIELD(std::uint64_t, refused_copy, "the copy from pinned memory that fails") = 0;
  MUSTER_FIELD(std::optional<Flip>, lost_product, "by muster's kernel");
  MUSTER_FIELD(std::optional<Flip>, lost_gemm, "by cuBLASLt");
  MUSTER_FIELD(std::optional<Flip>, lost_triad, "");
  MUSTER_FIELD(std::uint64_t, refused_algorithm, "cuBLASLt suggests it, and it fails") = 0;
  MUSTER_FIELD(bool, late_rdma, "RDMA into a GPU's memory shows only once flushed") = false;
};

enum class SlowKind { hca, gpu, links };
MUSTER_WORDS(SlowKind, "hca", "gpu", "links");

// A part of a node that slows down all operations that use it. An HCA is used between nodes only, a
// GPU always, and a node's links by operations with two of its GPUs.
struct SlowPart {
  MUSTER_DESCRIBED(SlowPart);
  MUSTER_FIELD(SlowKind, of, "") = SlowKind::hca;
  MUSTER_FIELD(int, host, "") = 0;
  MUSTER_FIELD(int, gpu, "") = 0;
  MUSTER_FIELD(double, share, "of the bandwidth that is left") = 1;
};

// The path between nodes, and the path inside a node.
enum class Network { ib_gdr, ib, socket };
MUSTER_WORDS(Network, "ib+gdr", "ib", "socket");
enum class Inside { p2p, shm, nvls };
MUSTER_WORDS(Inside, "p2p", "shm", "nvls");

struct Scenario {
  MUSTER_DESCRIBED(Scenario);
  MUSTER_FIELD(int, gpus, "on each node") = 8;
  MUSTER_FIELD(std::uint64_t, memory_gib, "of each GPU") = 80;
  MUSTER_FIELD(std::string, name, "of the GPUs") = "NVIDIA H100 80GB HBM3";
  MUSTER_FIELD(std::vector<int>, hosts, "the node of each rank; else by `gpus`");
  MUSTER_FIELD(ByName<double>, busbw, "in GB/s; \"*\": of other collectives");
  MUSTER_FIELD(double, latency_us, "of each operation") = 0;
  MUSTER_FIELD(std::optional<RankFault>, slow, "");
  MUSTER_FIELD(std::optional<RankFault>, lost, "the rank stores nothing");
  MUSTER_FIELD(std::optional<RankFault>, wrong, "");
  MUSTER_FIELD(std::optional<RankFault>, hang,
               "the rank's GPU stops before the operation, or in it if the stream is busy");
  MUSTER_FIELD(std::optional<Pair>, hang_between, "no operation ends that both nodes are in");
  MUSTER_FIELD(std::optional<int>, dies,
               "processes of this node are killed at work with another node");
  MUSTER_FIELD(std::optional<Pair>, apart, "no communicator forms that both nodes are in");
  MUSTER_FIELD(std::optional<SlowPart>, slow_part, "");
  MUSTER_FIELD(std::optional<int>, absent, "the rank never comes to the communicator");
  MUSTER_FIELD(std::optional<RankFault>, async_error, "");
  MUSTER_FIELD(ByName<int>, answers, "the errors that functions return");
  MUSTER_FIELD(Network, network, "") = Network::ib_gdr;
  MUSTER_FIELD(std::string, warning, "that NCCL prints while it starts");
  MUSTER_FIELD(std::vector<std::string>, diagnosis,
               "lines that NCCL prints about its paths, since 2.31");
  MUSTER_FIELD(bool, ib_disabled, "why it is a socket: by NCCL_IB_DISABLE, else no device") = false;
  MUSTER_FIELD(Inside, inside, "") = Inside::p2p;
  MUSTER_FIELD(std::vector<std::string>, log, "further lines, without their prefix");
  MUSTER_FIELD(int, nccl_version, "") = 22809;
  MUSTER_FIELD(NodeHardware, node, "");
  MUSTER_FIELD(bool, abort_hangs, "ncclCommAbort never returns") = false;

  [[nodiscard]] int host_of(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    if (index < hosts.size()) return hosts[index];
    return gpus > 0 ? rank / gpus : 0;
  }

  [[nodiscard]] double busbw_of(std::string_view collective) const {
    return number_for(busbw, std::string(collective), number_for(busbw, "*", 100));
  }
};

}  // namespace muster::fakes::gpu
