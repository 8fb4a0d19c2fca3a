// SPDX-License-Identifier: Apache-2.0
#include "bench/node/rdma/hca.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"

namespace muster::bench::node {
namespace {

constexpr std::array<std::string_view, 6> kStates{"NOP",   "DOWN",   "INIT",
                                                  "ARMED", "ACTIVE", "ACTIVE_DEFER"};

std::string_view state_name(ibv_port_state state) {
  const auto number = static_cast<std::size_t>(state);
  return number < kStates.size() ? kStates.at(number) : "unknown";
}

// Matches NCCL_IB_HCA as NCCL does: beginnings of names, or with '=' whole names, each with an
// optional port. A list to exclude ('^') names none.
bool is_named(std::string_view variable, std::string_view device) {
  if (variable.starts_with('^')) return false;
  const bool whole = variable.starts_with('=');
  if (whole) variable.remove_prefix(1);
  return std::ranges::any_of(split(variable, ','), [&](std::string_view word) {
    const auto name = trim(word.substr(0, word.find(':')));
    return !name.empty() && (whole ? device == name : device.starts_with(name));
  });
}

Result<std::pair<ibv_device**, int>> list_devices(const VerbsLibrary& library) {
  int count = 0;
  errno = 0;
  ibv_device** const list = library.list(&count);
  if (list != nullptr) return std::pair(list, count);
  if (errno == ENOSYS) return make_missing("libibverbs finds no RDMA devices: no ib_uverbs");
  return verbs_error("list RDMA devices", errno);
}

}  // namespace

tl::unexpected<Error> verbs_error(std::string_view operation, int error) {
  return make_error(fmt::format("{}: {}", operation, errno_text(error)));
}

Hca::~Hca() {
  if (domain_ != nullptr) library_.dealloc_pd(domain_);
  if (context_ != nullptr) library_.close(context_);
}

Result<std::unique_ptr<Hca>> Hca::open(const VerbsLibrary& library, ibv_device* device,
                                       bool ethernet_too) {
  std::unique_ptr<Hca> hca(new Hca(library, printable(library.name(device), 64)));
  errno = 0;
  hca->context_ = library.open(device);
  if (hca->context_ == nullptr) return verbs_error("open the HCA", errno);
  if (const int error = library.query_device(hca->context_, &hca->limits_); error != 0) {
    return verbs_error("query the HCA", error);
  }
  TRY(hca->choose_port(ethernet_too));
  TRY(hca->choose_address());
  hca->domain_ = library.alloc_pd(hca->context_);
  if (hca->domain_ == nullptr) return verbs_error("allocate a protection domain", errno);
  return hca;
}

Result<void> Hca::choose_port(bool ethernet_too) {
  std::string why;
  for (unsigned number = 1; number <= limits_.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    if (const int error = library_.port(context_, number, port); error != 0) {
      return verbs_error(fmt::format("query port {}", number), error);
    }
    if (port.link_layer == IBV_LINK_LAYER_ETHERNET && !ethernet_too) continue;
    if (port.state == IBV_PORT_ACTIVE) {
      port_ = port;
      port_number_ = static_cast<std::uint8_t>(number);
      return {};
    }
    if (why.empty()) why = fmt::format("port {} is {}", number, state_name(port.state));
  }
  if (why.empty()) return make_missing("the HCA has no InfiniBand port");
  return make_error(why);
}

// Chooses the key of a full member: a limited member of a partition reaches full members only.
Result<void> Hca::choose_address() {
  constexpr int kPkeys = 8;
  constexpr std::uint16_t kFullMember = 0x8000;
  for (int index = 0; index < std::min<int>(kPkeys, port_.pkey_tbl_len); ++index) {
    std::uint16_t key = 0;
    if (library_.query_pkey(context_, port_number_, index, &key) != 0) break;
    if ((ntohs(key) & kFullMember) == 0) continue;
    pkey_index_ = static_cast<std::uint16_t>(index);
    break;
  }
  if (port_.link_layer != IBV_LINK_LAYER_ETHERNET) return {};
  // The last one is of an IP address, if there is any, and of RoCE v2.
  constexpr int kGids = 16;
  bool found = false;
  for (int index = 0; index < std::min(kGids, port_.gid_tbl_len); ++index) {
    ibv_gid gid{};
    if (library_.query_gid(context_, port_number_, index, &gid) != 0) continue;
    if (std::ranges::all_of(gid.raw, [](std::uint8_t byte) { return byte == 0; })) continue;
    gid_ = gid;
    gid_index_ = static_cast<std::uint8_t>(index);
    found = true;
  }
  if (!found) return make_error(fmt::format("port {} has no address (GID)", port_number_));
  return {};
}

ibv_ah_attr Hca::address() const {
  constexpr std::uint8_t kHops = 64;
  ibv_ah_attr address{};
  address.port_num = port_number_;
  if (port_.link_layer == IBV_LINK_LAYER_ETHERNET) {
    address.is_global = 1;
    address.grh.dgid = gid_;
    address.grh.sgid_index = gid_index_;
    address.grh.hop_limit = kHops;
  } else {
    address.dlid = port_.lid;
  }
  return address;
}

std::string Hca::model() const {
  return fmt::format("{:04x}:{}", limits_.vendor_id, limits_.vendor_part_id);
}

std::optional<unsigned> Hca::numa_node() const {
  const auto node =
      read_unsigned(Root(), fmt::format("/sys/class/infiniband/{}/device/numa_node", name_));
  return node ? std::optional(static_cast<unsigned>(*node)) : std::nullopt;
}

Result<OpenHcas> open_hcas(const TestInput& input) {
  TRY_ASSIGN(const auto library, open_verbs(input.verbs));
  TRY_ASSIGN(const auto devices, list_devices(library));
  const auto& [list, count] = devices;
  const auto variable = input.variables.find("NCCL_IB_HCA");
  OpenHcas all;
  for (int index = 0; index < count; ++index) {
    auto* const device = list[index];
    const std::string name = printable(library.name(device), 64);
    const bool named = variable != input.variables.end() && is_named(variable->second, name);
    auto hca = Hca::open(library, device, named);
    if (hca) {
      all.hcas.push_back(*std::move(hca));
    } else if (!hca.error().missing) {
      all.refused.push_back(unjudged(name, hca.error().message));
    }
  }
  library.free_list(list);
  if (all.hcas.empty() && all.refused.empty()) {
    return make_missing("this node has no HCA with an InfiniBand port");
  }
  std::ranges::sort(all.hcas, {}, [](const auto& hca) { return hca->name(); });
  return all;
}

}  // namespace muster::bench::node
