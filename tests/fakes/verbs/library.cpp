// SPDX-License-Identifier: Apache-2.0
// The functions of the fake libibverbs. It is stricter than the real one: it checks the order of
// states, required attributes, and that nothing in use is freed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/fakes/strict_json.hpp"
#include "tests/fakes/verbs/verbs.hpp"

#define FAKE_VERBS extern "C" __attribute__((visibility("default")))

#undef ibv_query_port
#undef ibv_reg_mr

namespace fake = muster::fakes::verbs;

fake::Everything& fake::everything() {
  static Everything all;
  return all;
}

const fake::Scenario& fake::scenario() {
  static const Scenario read_once = load_scenario<Scenario>("MUSTER_FAKE_VERBS");
  return read_once;
}

bool fake::holds(const std::vector<int>& hcas, int number) {
  return std::ranges::find(hcas, number) != hcas.end();
}

namespace {

constexpr int kMaxRequests = 8192;

template <class T>
T* refuse(int error) {
  errno = error;
  return nullptr;
}

int number_of(ibv_context* context) { return fake::own<fake::Context>(context)->number; }

bool has(int mask, int wanted) { return (mask & wanted) == wanted; }

}  // namespace

FAKE_VERBS ibv_device** ibv_get_device_list(int* count) {
  const int hcas = fake::scenario().hcas;
  auto** const list = new ibv_device*[static_cast<std::size_t>(hcas) + 1]();
  for (int i = 0; i < hcas; ++i) {
    auto* const device = new fake::Device{.number = hcas - 1 - i};
    fmt::format_to_n(device->base.name, sizeof(device->base.name) - 1, "mlx5_ib{}", hcas - 1 - i);
    list[i] = &device->base;
  }
  if (count != nullptr) *count = hcas;
  return list;
}

// The devices stay, as in the real library while they are open.
FAKE_VERBS void ibv_free_device_list(ibv_device** list) { delete[] list; }

FAKE_VERBS const char* ibv_get_device_name(ibv_device* device) {
  return static_cast<const char*>(device->name);
}

FAKE_VERBS ibv_context* ibv_open_device(ibv_device* device) {
  const int number = fake::own<fake::Device>(device)->number;
  if (fake::holds(fake::scenario().closed, number)) return refuse<ibv_context>(EACCES);
  auto* const context = new fake::Context{.number = number};
  context->base.device = device;
  context->base.ops.post_send = fake::post_send;
  context->base.ops.poll_cq = fake::poll_cq;
  return &context->base;
}

FAKE_VERBS int ibv_close_device(ibv_context* context) {
  delete fake::own<fake::Context>(context);
  return 0;
}

FAKE_VERBS int ibv_query_device(ibv_context* /*context*/, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->phys_port_cnt = 1;
  attributes->vendor_id = 0x02c9;
  attributes->vendor_part_id = 4126;
  attributes->max_qp_wr = kMaxRequests;
  attributes->max_cqe = kMaxRequests;
  attributes->max_qp_rd_atom = 16;
  attributes->max_qp_init_rd_atom = 16;
  return 0;
}

FAKE_VERBS int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* to) {
  if (port != 1) return EINVAL;
  const int number = number_of(context);
  ibv_port_attr attributes{};
  attributes.state = fake::holds(fake::scenario().down, number) ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  attributes.active_mtu = IBV_MTU_4096;
  attributes.gid_tbl_len = 2;
  attributes.pkey_tbl_len = 2;
  attributes.lid = static_cast<std::uint16_t>(1 + number);
  attributes.link_layer = fake::holds(fake::scenario().ethernet, number)
                              ? IBV_LINK_LAYER_ETHERNET
                              : IBV_LINK_LAYER_INFINIBAND;
  // The part that programs of any age have room for.
  std::memcpy(static_cast<void*>(to), &attributes, offsetof(ibv_port_attr, port_cap_flags2));
  return 0;
}

FAKE_VERBS int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (port != 1 || index > 1) return -1;
  *gid = {};
  gid->raw[0] = 0xfe;
  gid->raw[1] = 0x80;
  gid->raw[15] = static_cast<std::uint8_t>(1 + number_of(context));
  return 0;
}

FAKE_VERBS int ibv_query_pkey(ibv_context* /*context*/, std::uint8_t port, int index,
                              std::uint16_t* key) {
  if (port != 1 || index > 1) return -1;
  const bool full = (index == 0) != fake::scenario().limited;
  *key = htons(full ? 0x8015 : 0x7fff);
  return 0;
}

FAKE_VERBS ibv_pd* ibv_alloc_pd(ibv_context* context) { return new ibv_pd{.context = context}; }

FAKE_VERBS int ibv_dealloc_pd(ibv_pd* domain) {
  delete domain;
  return 0;
}

FAKE_VERBS ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) {
  if (fake::holds(fake::scenario().locked, number_of(domain->context))) {
    return refuse<ibv_mr>(ENOMEM);
  }
  const std::scoped_lock lock(fake::everything().mutex);
  auto* const region = new fake::Region{.access = static_cast<unsigned>(access)};
  region->base.context = domain->context;
  region->base.pd = domain;
  region->base.addr = address;
  region->base.length = bytes;
  region->base.lkey = region->base.rkey = fake::everything().next++;
  fake::everything().regions[region->base.lkey] = region;
  return &region->base;
}

// This HCA does not support relaxed ordering.
FAKE_VERBS ibv_mr* ibv_reg_mr_iova2(ibv_pd* /*domain*/, void* /*address*/, std::size_t /*bytes*/,
                                    std::uint64_t /*iova*/, unsigned /*access*/) {
  return refuse<ibv_mr>(EOPNOTSUPP);
}

// The fake driver's GPUs have host memory at the same address.
FAKE_VERBS ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t bytes,
                                     std::uint64_t iova, int file, int access) {
  if (fake::scenario().no_dma_buf) return refuse<ibv_mr>(EOPNOTSUPP);
  if (fake::scenario().no_relaxed && has(access, IBV_ACCESS_RELAXED_ORDERING)) {
    return refuse<ibv_mr>(EINVAL);
  }
  if (offset != 0 || ::fcntl(file, F_GETFD) < 0) return refuse<ibv_mr>(EBADF);
  void* memory = nullptr;
  std::memcpy(&memory, &iova, sizeof(memory));
  auto* const region = ibv_reg_mr(domain, memory, bytes, access);
  if (region != nullptr) fake::own<fake::Region>(region)->of_gpu = true;
  return region;
}

FAKE_VERBS int ibv_dereg_mr(ibv_mr* region) {
  const std::scoped_lock lock(fake::everything().mutex);
  fake::everything().regions.erase(region->lkey);
  delete fake::own<fake::Region>(region);
  return 0;
}

FAKE_VERBS ibv_cq* ibv_create_cq(ibv_context* context, int depth, void* /*data*/,
                                 ibv_comp_channel* /*channel*/, int /*vector*/) {
  if (depth < 1 || depth > kMaxRequests) return refuse<ibv_cq>(EINVAL);
  auto* const completions = new fake::Completions;
  completions->base.context = context;
  completions->base.cqe = depth;
  return &completions->base;
}

FAKE_VERBS int ibv_destroy_cq(ibv_cq* completions) {
  const std::scoped_lock lock(fake::everything().mutex);
  const auto* const mine = fake::own<fake::Completions>(completions);
  const bool used = std::ranges::any_of(
      fake::everything().pairs, [&](const auto& each) { return each.second->completions == mine; });
  if (used) return EBUSY;
  delete mine;
  return 0;
}

FAKE_VERBS ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  if (attributes->qp_type != IBV_QPT_RC || attributes->send_cq == nullptr ||
      attributes->cap.max_send_wr > kMaxRequests) {
    return refuse<ibv_qp>(EINVAL);
  }
  const std::scoped_lock lock(fake::everything().mutex);
  auto* const pair = new fake::Pair;
  pair->base.context = domain->context;
  pair->base.pd = domain;
  pair->base.qp_num = fake::everything().next++;
  pair->number = number_of(domain->context);
  pair->depth = attributes->cap.max_send_wr;
  pair->completions = fake::own<fake::Completions>(attributes->send_cq);
  fake::everything().pairs[pair->base.qp_num] = pair;
  return &pair->base;
}

FAKE_VERBS int ibv_modify_qp(ibv_qp* base, ibv_qp_attr* attributes, int mask) {
  const std::scoped_lock lock(fake::everything().mutex);
  auto& pair = *fake::own<fake::Pair>(base);
  const auto to = attributes->qp_state;
  constexpr int kInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  constexpr int kReceive = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  constexpr int kSend = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                        IBV_QP_MAX_QP_RD_ATOMIC;
  if (!has(mask, IBV_QP_STATE)) return EINVAL;
  if (to == IBV_QPS_INIT && pair.state == IBV_QPS_RESET && has(mask, kInit)) {
    if (attributes->port_num != 1 || attributes->pkey_index > 1) return EINVAL;
    pair.remote_access = attributes->qp_access_flags;
    pair.pkey_index = attributes->pkey_index;
  } else if (to == IBV_QPS_RTR && pair.state == IBV_QPS_INIT && has(mask, kReceive)) {
    const auto& address = attributes->ah_attr;
    const bool ethernet = fake::holds(fake::scenario().ethernet, pair.number);
    const bool addressed =
        ethernet ? address.is_global == 1 && address.grh.dgid.raw[0] != 0 : address.dlid != 0;
    if (!addressed || address.port_num != 1 || attributes->path_mtu < IBV_MTU_256) return EINVAL;
    pair.peer = attributes->dest_qp_num;
  } else if (to == IBV_QPS_RTS && pair.state == IBV_QPS_RTR && has(mask, kSend)) {
    if (attributes->retry_cnt > 7 || attributes->max_rd_atomic > 16) return EINVAL;
  } else {
    return EINVAL;
  }
  pair.state = to;
  return 0;
}

FAKE_VERBS int ibv_destroy_qp(ibv_qp* pair) {
  const std::scoped_lock lock(fake::everything().mutex);
  fake::everything().pairs.erase(pair->qp_num);
  fake::clock_end(fake::own<fake::Pair>(pair)->posted);
  delete fake::own<fake::Pair>(pair);
  return 0;
}

FAKE_VERBS const char* ibv_wc_status_str(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_LOC_PROT_ERR:
      return "local protection error";
    case IBV_WC_REM_ACCESS_ERR:
      return "remote access error";
    case IBV_WC_RETRY_EXC_ERR:
      return "transport retry counter exceeded";
    default:
      return "unknown";
  }
}
