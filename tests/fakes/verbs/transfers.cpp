// SPDX-License-Identifier: Apache-2.0
// RDMA writes and reads of the fake HCAs. They copy host memory when they are posted, and complete
// at a time that the calling thread's clock then shows (clock.hpp).
#include <cerrno>
#include <cstring>
#include <random>

#include "tests/fakes/verbs/verbs.hpp"

namespace muster::fakes::verbs {
namespace {

constexpr double kEmptyPoll = 1e6;  // nanoseconds

// A transfer from one HCA to another, or to itself.
struct Line {
  double free_at = 0;  // nanosecond
  double share = 1;    // of the speed, of this round
};

struct Lines {
  std::map<std::pair<int, int>, Line> lines;
  std::mt19937 random{std::random_device{}()};
};

Lines& lines_of_thread() {
  thread_local Lines lines;
  return lines;
}

double gbps_of(int number) {
  const auto found = scenario().slow.find(std::to_string(number));
  return found == scenario().slow.end() ? scenario().gbps : found->second;
}

// The time at which the bytes have arrived.
double take_time(int from, int to, double bytes) {
  auto& [lines, random] = lines_of_thread();
  auto& line = lines[{from, to}];
  if (line.free_at <= clock_now()) {
    std::uniform_real_distribution<double> noise(-scenario().noise, scenario().noise);
    line.share = 1 + noise(random);
    line.free_at = clock_now();
  }
  line.free_at += 8 * bytes / (std::min(gbps_of(from), gbps_of(to)) * line.share);
  return line.free_at + 1e3 * scenario().latency_us;
}

bool reaches(const Region* region, std::uint64_t address, std::uint64_t bytes, unsigned access) {
  if (region == nullptr || (region->access & access) != access) return false;
  std::uint64_t begin = 0;
  std::memcpy(&begin, static_cast<const void*>(&region->base.addr), sizeof(begin));
  return address >= begin && address + bytes <= begin + region->base.length;
}

char* at(std::uint64_t address) {
  return reinterpret_cast<char*>(address);  // NOLINT: verbs' addresses are numbers
}

Region* region_of(std::uint32_t key) {
  const auto found = everything().regions.find(key);
  return found == everything().regions.end() ? nullptr : found->second;
}

void copy(const Pair& pair, char* to, const char* from, std::size_t bytes, bool writes) {
  thread_local int rounds = 0;
  const bool skips = writes && scenario().skipped == pair.number && bytes > 8;
  if (skips && rounds++ == 3) return;
  if (writes && scenario().dropped == pair.number && bytes == 8) return;
  std::memcpy(to, from, bytes);
  if (writes && scenario().spoilt == pair.number && bytes > 8) to[bytes / 2] ^= 0x10;
}

ibv_wc_status carry_out(const Pair& pair, const ibv_send_wr& request) {
  const auto& piece = request.sg_list[0];
  const auto& remote = request.wr.rdma;
  const bool writes = request.opcode == IBV_WR_RDMA_WRITE;
  const auto other = everything().pairs.find(pair.peer);
  const unsigned local_access = writes ? 0 : IBV_ACCESS_LOCAL_WRITE;
  const unsigned remote_access = writes ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
  if (!reaches(region_of(piece.lkey), piece.addr, piece.length, local_access)) {
    return IBV_WC_LOC_PROT_ERR;
  }
  if (scenario().failing == pair.number || other == everything().pairs.end() ||
      other->second->peer != pair.base.qp_num || other->second->state < IBV_QPS_RTR ||
      (scenario().apart && other->second->number != pair.number)) {
    return IBV_WC_RETRY_EXC_ERR;
  }
  // Two limited members of a partition cannot communicate.
  if (scenario().limited && pair.pkey_index == 0) return IBV_WC_RETRY_EXC_ERR;
  const bool allowed = (other->second->remote_access & remote_access) != 0;
  if (!allowed ||
      !reaches(region_of(remote.rkey), remote.remote_addr, piece.length, remote_access)) {
    return IBV_WC_REM_ACCESS_ERR;
  }
  if (writes) {
    copy(pair, at(remote.remote_addr), at(piece.addr), piece.length, true);
  } else {
    copy(pair, at(piece.addr), at(remote.remote_addr), piece.length, false);
  }
  return IBV_WC_SUCCESS;
}

}  // namespace

int post_send(ibv_qp* base, ibv_send_wr* request, ibv_send_wr** bad) {
  auto& pair = *own<Pair>(base);
  const std::scoped_lock lock(everything().mutex);
  *bad = request;
  const bool known = request->opcode == IBV_WR_RDMA_WRITE || request->opcode == IBV_WR_RDMA_READ;
  const bool ready = pair.state == IBV_QPS_RTS || pair.state == IBV_QPS_ERR;
  if (!ready || !known || request->num_sge != 1 || request->next != nullptr) {
    return EINVAL;
  }
  auto& completions = *pair.completions;
  if (pair.posted >= pair.depth ||
      completions.posted >= static_cast<std::size_t>(completions.base.cqe)) {
    return ENOMEM;
  }
  ++pair.posted;
  ++completions.posted;
  clock_begin();
  if (scenario().silent == pair.number) return 0;
  ibv_wc done{};
  done.wr_id = request->wr_id;
  done.qp_num = base->qp_num;
  done.status = pair.state == IBV_QPS_ERR ? IBV_WC_WR_FLUSH_ERR : carry_out(pair, *request);
  done.opcode = request->opcode == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE : IBV_WC_RDMA_READ;
  if (done.status != IBV_WC_SUCCESS) pair.state = IBV_QPS_ERR;
  const auto other = everything().pairs.find(pair.peer);
  const int to = other == everything().pairs.end() ? pair.number : other->second->number;
  const auto* const region = region_of(request->sg_list[0].lkey);
  const bool strict = region == nullptr || (region->access & IBV_ACCESS_RELAXED_ORDERING) == 0;
  const bool slow =
      region != nullptr && region->of_gpu &&
      (holds(scenario().slow_gpus, pair.number) || (scenario().slow_strict && strict));
  const double bytes = (slow ? 2.0 : 1.0) * request->sg_list[0].length;
  completions.waiting.emplace_back(take_time(pair.number, to, bytes), done);
  *bad = nullptr;
  return 0;
}

int poll_cq(ibv_cq* base, int most, ibv_wc* done) {
  const std::scoped_lock lock(everything().mutex);
  auto& completions = *own<Completions>(base);
  int count = 0;
  if (completions.waiting.empty()) clock_advance(clock_now() + kEmptyPoll);
  while (count < most && !completions.waiting.empty()) {
    const auto& [when, each] = completions.waiting.front();
    if (count > 0 && when > clock_now()) break;
    clock_advance(when);
    const auto pair = everything().pairs.find(each.qp_num);
    if (pair != everything().pairs.end()) --pair->second->posted;
    --completions.posted;
    done[count++] = each;
    completions.waiting.pop_front();
    clock_end(1);
  }
  return count;
}

}  // namespace muster::fakes::verbs
