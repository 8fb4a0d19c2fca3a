// SPDX-License-Identifier: Apache-2.0
// The node's HCAs, open for RDMA.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/node/test.hpp"
#include "lib/base/result.hpp"
#include "lib/probes/verbs/library.hpp"

namespace muster::bench::node {

// One HCA with an active port.
class Hca {
 public:
  // The error is `missing` if the HCA has no port of the tested kind.
  [[nodiscard]] static Result<std::unique_ptr<Hca>> open(const VerbsLibrary& library,
                                                         ibv_device* device, bool ethernet_too);
  Hca(const Hca&) = delete;
  Hca& operator=(const Hca&) = delete;
  ~Hca();

  [[nodiscard]] const VerbsLibrary& library() const { return library_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ibv_context* context() const { return context_; }
  [[nodiscard]] ibv_pd* domain() const { return domain_; }
  [[nodiscard]] const ibv_device_attr& limits() const { return limits_; }
  [[nodiscard]] const ibv_port_attr& port() const { return port_; }
  [[nodiscard]] std::uint8_t port_number() const { return port_number_; }
  [[nodiscard]] std::uint16_t pkey_index() const { return pkey_index_; }
  // The address of this HCA for a queue pair of another one with the same kind of port.
  [[nodiscard]] ibv_ah_attr address() const;

  // HCAs of one model are compared.
  [[nodiscard]] std::string model() const;
  // Empty if the kernel does not report it.
  [[nodiscard]] std::optional<unsigned> numa_node() const;

 private:
  Hca(const VerbsLibrary& library, std::string name) : library_(library), name_(std::move(name)) {}
  [[nodiscard]] Result<void> choose_port(bool ethernet_too);
  [[nodiscard]] Result<void> choose_address();

  VerbsLibrary library_;
  std::string name_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_device_attr limits_{};
  ibv_port_attr port_{};
  std::uint8_t port_number_ = 1;
  std::uint8_t gid_index_ = 0;
  std::uint16_t pkey_index_ = 0;
  ibv_gid gid_{};
};

struct OpenHcas {
  std::vector<std::unique_ptr<Hca>> hcas;  // by name
  std::vector<Finding> refused;            // unknown, with the reason
};

// Opens all HCAs with an InfiniBand port, and others that NCCL_IB_HCA names. The error is `missing`
// if there is none, or no libibverbs.
[[nodiscard]] Result<OpenHcas> open_hcas(const TestInput& input);

// "post a transfer: Connection refused": the operation that failed, and an errno.
[[nodiscard]] tl::unexpected<Error> verbs_error(std::string_view operation, int error);

}  // namespace muster::bench::node
