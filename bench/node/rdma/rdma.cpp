// SPDX-License-Identifier: Apache-2.0
#include "bench/node/rdma/rdma.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/process/startup.hpp"

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

constexpr std::size_t kPairs = 2;  // one does not keep the fastest HCAs busy
constexpr int kDepth = 128;        // concurrent transfers
constexpr int kMaxReads = 16;      // concurrent reads of a queue pair

Result<void> initialise(const Hca& hca, ibv_qp* pair) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = hca.pkey_index();
  attributes.port_num = hca.port_number();
  attributes.qp_access_flags =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  const int error = hca.library().modify_qp(
      pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) return verbs_error("initialise a queue pair", error);
  return {};
}

std::uint8_t reads_of(int limit) {
  return static_cast<std::uint8_t>(std::clamp(limit, 1, kMaxReads));
}

Result<void> connect_pair(const Hca& hca, ibv_qp* pair, const Hca& other, const ibv_qp* peer) {
  constexpr std::uint8_t kMinRnrTimer = 12;  // 0.64 ms
  constexpr std::uint8_t kTimeout = 14;      // 67 ms
  constexpr std::uint8_t kRetries = 7;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = std::min(hca.port().active_mtu, other.port().active_mtu);
  attributes.dest_qp_num = peer->qp_num;
  attributes.max_dest_rd_atomic = reads_of(hca.limits().max_qp_rd_atom);
  attributes.min_rnr_timer = kMinRnrTimer;
  attributes.ah_attr = other.address();
  attributes.ah_attr.port_num = hca.port_number();
  attributes.ah_attr.grh.sgid_index = hca.address().grh.sgid_index;
  const auto& library = hca.library();
  int error =
      library.modify_qp(pair, &attributes,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) return verbs_error("connect a queue pair", error);
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = kTimeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kRetries;
  attributes.max_rd_atomic = reads_of(hca.limits().max_qp_init_rd_atom);
  error = library.modify_qp(pair, &attributes,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (error != 0) return verbs_error("make a queue pair ready", error);
  return {};
}

}  // namespace

tl::unexpected<Error> verbs_error(std::string_view operation, int error) {
  return make_error("{}: {}", operation, errno_text(error));
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
  // The last one belongs to an IP address, if there is any, and to RoCE v2.
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
  if (!found) return make_error("port {} has no address (GID)", port_number_);
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
  const auto named_hcas = muster::value_of(input.variables, "NCCL_IB_HCA");
  OpenHcas all;
  for (int index = 0; index < count; ++index) {
    auto* const device = list[index];
    const std::string name = printable(library.name(device), 64);
    auto hca = Hca::open(library, device, is_named(named_hcas, name));
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

Result<std::unique_ptr<RdmaPath>> RdmaPath::connect(const Hca& from, const Hca& to,
                                                    std::chrono::nanoseconds patience) {
  std::unique_ptr<RdmaPath> path(new RdmaPath(from, to, patience));
  TRY(path->set_up());
  return path;
}

RdmaPath::~RdmaPath() {
  for (auto* pair : local_) from_.library().destroy_qp(pair);
  for (auto* pair : remote_) to_.library().destroy_qp(pair);
  if (completions_ != nullptr) from_.library().destroy_cq(completions_);
  if (unused_ != nullptr) to_.library().destroy_cq(unused_);
}

Result<void> RdmaPath::set_up() {
  const int most = std::min(from_.limits().max_qp_wr, from_.limits().max_cqe);
  depth_ = static_cast<std::uint64_t>(std::clamp(most, 1, kDepth));
  completions_ =
      from_.library().create_cq(from_.context(), static_cast<int>(depth_), nullptr, nullptr, 0);
  unused_ = to_.library().create_cq(to_.context(), 1, nullptr, nullptr, 0);
  if (completions_ == nullptr || unused_ == nullptr) {
    return verbs_error("create a completion queue", errno);
  }
  for (std::size_t i = 0; i < kPairs; ++i) {
    TRY_ASSIGN(auto* const local, make_pair(from_, completions_));
    local_.push_back(local);
    TRY_ASSIGN(auto* const remote, make_pair(to_, unused_));
    remote_.push_back(remote);
    TRY(initialise(from_, local));
    TRY(initialise(to_, remote));
    TRY(connect_pair(to_, remote, from_, local));
    TRY(connect_pair(from_, local, to_, remote));
  }
  return {};
}

Result<ibv_qp*> RdmaPath::make_pair(const Hca& hca, ibv_cq* completions) const {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = completions;
  attributes.recv_cq = completions;
  attributes.cap.max_send_wr = static_cast<std::uint32_t>(depth_);
  attributes.cap.max_send_sge = 1;
  attributes.cap.max_recv_wr = 1;
  attributes.cap.max_recv_sge = 1;
  attributes.qp_type = IBV_QPT_RC;
  attributes.sq_sig_all = 1;
  ibv_qp* const pair = hca.library().create_qp(hca.domain(), &attributes);
  if (pair == nullptr) return verbs_error("create a queue pair", errno);
  return pair;
}

Result<void> RdmaPath::post(const Transfers& transfers, std::uint64_t index) {
  const auto offset = index * transfers.message;
  ibv_sge piece{.addr = transfers.local->address() + offset,
                .length = static_cast<std::uint32_t>(transfers.message),
                .lkey = transfers.local->local_key()};
  ibv_send_wr request{};
  request.wr_id = index;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = transfers.kind;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = transfers.remote->address() + offset;
  request.wr.rdma.rkey = transfers.remote->remote_key();
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(local_[index % local_.size()], &request, &bad);
  if (error != 0) return verbs_error("post a transfer", error);
  return {};
}

Result<std::uint64_t> RdmaPath::poll() {
  std::array<ibv_wc, 16> done{};
  const int count = ibv_poll_cq(completions_, static_cast<int>(done.size()), done.data());
  if (count < 0) return make_error("cannot read the completion queue");
  for (int i = 0; i < count; ++i) {
    const auto& each = done.at(static_cast<std::size_t>(i));
    if (each.status == IBV_WC_SUCCESS) continue;
    return make_error("a transfer failed: {}", from_.library().status_text(each.status));
  }
  return static_cast<std::uint64_t>(count);
}

Result<double> RdmaPath::move(const Transfers& transfers) {
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  const auto begin = Clock::now();
  auto last = begin;
  while (done < transfers.count) {
    for (; posted < transfers.count && posted - done < depth_; ++posted) {
      TRY(post(transfers, posted));
    }
    TRY_ASSIGN(const auto more, poll());
    done += more;
    if (more > 0) {
      last = Clock::now();
    } else if (Clock::now() - last > patience_) {
      return make_error("{} of {} transfers did not complete within {:.1f} s", posted - done,
                        transfers.count, std::chrono::duration<double>(patience_).count());
    }
  }
  return std::chrono::duration<double>(last - begin).count();
}

}  // namespace muster::bench::node
