// SPDX-License-Identifier: Apache-2.0
#include "bench/node/rdma/way.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "lib/base/clock.hpp"

namespace muster::bench::node {
namespace {

constexpr std::size_t kPairs = 2;  // one alone does not keep the fastest HCAs busy
constexpr int kDepth = 128;        // transfers under way
constexpr int kMostReads = 16;     // that a queue pair has under way

Result<void> initialise(const Hca& hca, ibv_qp* pair) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = hca.pkey_index();
  attributes.port_num = hca.port_number();
  attributes.qp_access_flags =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  const int error = hca.library().modify_qp(
      pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) return refused("a queue pair cannot be initialised", error);
  return {};
}

std::uint8_t reads_of(int limit) {
  return static_cast<std::uint8_t>(std::clamp(limit, 1, kMostReads));
}

Result<void> connect(const Hca& hca, ibv_qp* pair, const Hca& other, const ibv_qp* peer) {
  constexpr std::uint8_t kLeastRnrTimer = 12;  // 0.64 ms
  constexpr std::uint8_t kTimeout = 14;        // 67 ms
  constexpr std::uint8_t kRetries = 7;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = std::min(hca.port().active_mtu, other.port().active_mtu);
  attributes.dest_qp_num = peer->qp_num;
  attributes.max_dest_rd_atomic = reads_of(hca.limits().max_qp_rd_atom);
  attributes.min_rnr_timer = kLeastRnrTimer;
  attributes.ah_attr = other.address();
  attributes.ah_attr.port_num = hca.port_number();
  attributes.ah_attr.grh.sgid_index = hca.address().grh.sgid_index;
  const auto& library = hca.library();
  int error =
      library.modify_qp(pair, &attributes,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) return refused("a queue pair cannot be joined with its peer", error);
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = kTimeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kRetries;
  attributes.max_rd_atomic = reads_of(hca.limits().max_qp_init_rd_atom);
  error = library.modify_qp(pair, &attributes,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (error != 0) return refused("a queue pair cannot be made ready", error);
  return {};
}

}  // namespace

Result<std::unique_ptr<Way>> Way::join(const Hca& from, const Hca& to,
                                       std::chrono::nanoseconds patience) {
  std::unique_ptr<Way> way(new Way(from, to, patience));
  if (auto done = way->set_up(); !done) return tl::unexpected(done.error());
  return way;
}

Way::~Way() {
  for (auto* pair : here_) from_.library().destroy_qp(pair);
  for (auto* pair : there_) to_.library().destroy_qp(pair);
  if (completions_ != nullptr) from_.library().destroy_cq(completions_);
  if (unused_ != nullptr) to_.library().destroy_cq(unused_);
}

Result<void> Way::set_up() {
  const int most = std::min(from_.limits().max_qp_wr, from_.limits().max_cqe);
  depth_ = static_cast<std::uint64_t>(std::clamp(most, 1, kDepth));
  completions_ =
      from_.library().create_cq(from_.context(), static_cast<int>(depth_), nullptr, nullptr, 0);
  unused_ = to_.library().create_cq(to_.context(), 1, nullptr, nullptr, 0);
  if (completions_ == nullptr || unused_ == nullptr) {
    return refused("a completion queue is refused", errno);
  }
  for (std::size_t i = 0; i < kPairs; ++i) {
    TRY_ASSIGN(const auto here, make_pair(from_, completions_));
    here_.push_back(here);
    TRY_ASSIGN(const auto there, make_pair(to_, unused_));
    there_.push_back(there);
    auto done = initialise(from_, here);
    if (done) done = initialise(to_, there);
    if (done) done = connect(to_, there, from_, here);
    if (done) done = connect(from_, here, to_, there);
    if (!done) return done;
  }
  return {};
}

Result<ibv_qp*> Way::make_pair(const Hca& hca, ibv_cq* completions) const {
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
  if (pair == nullptr) return refused("a queue pair is refused", errno);
  return pair;
}

Result<void> Way::post(const Transfers& transfers, std::uint64_t index) {
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
  const int error = ibv_post_send(here_[index % here_.size()], &request, &bad);
  if (error != 0) return refused("a transfer is refused", error);
  return {};
}

Result<std::uint64_t> Way::poll() {
  std::array<ibv_wc, 16> done{};
  const int count = ibv_poll_cq(completions_, static_cast<int>(done.size()), done.data());
  if (count < 0) return make_error("the completion queue cannot be read");
  for (int i = 0; i < count; ++i) {
    const auto& each = done.at(static_cast<std::size_t>(i));
    if (each.status == IBV_WC_SUCCESS) continue;
    return make_error(
        fmt::format("a transfer ended with: {}", from_.library().status_text(each.status)));
  }
  return static_cast<std::uint64_t>(count);
}

Result<double> Way::move(const Transfers& transfers) {
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  const auto begin = Clock::now();
  auto last = begin;
  while (done < transfers.count) {
    for (; posted < transfers.count && posted - done < depth_; ++posted) {
      if (auto sent = post(transfers, posted); !sent) return tl::unexpected(sent.error());
    }
    TRY_ASSIGN(const auto more, poll());
    done += more;
    if (more > 0) {
      last = Clock::now();
    } else if (Clock::now() - last > patience_) {
      return make_error(fmt::format("{} of {} transfers do not complete within {:.1f} s",
                                    posted - done, transfers.count,
                                    std::chrono::duration<double>(patience_).count()));
    }
  }
  return std::chrono::duration<double>(last - begin).count();
}

}  // namespace muster::bench::node
