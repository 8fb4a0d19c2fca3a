// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "bench/collectives/host_algorithms.hpp"

namespace muster::bench::mpi {
namespace {

template <Type type, Reduction reduction>
// NOLINTNEXTLINE(readability-non-const-parameter): the signature is MPI's
void combine(void* one, void* both, int* count, MPI_Datatype* /*datatype*/) {
  combine_of(type, reduction)(one, both, static_cast<std::uint64_t>(*count));
}

template <Type type>
void make_operations(std::array<MPI_Op, kReductions>& operations) {
  const auto make = [&](Reduction reduction, MPI_User_function* function) {
    MPI_Op_create(function, 1, &operations.at(static_cast<std::size_t>(reduction)));
  };
  make(Reduction::sum, combine<type, Reduction::sum>);
  make(Reduction::prod, combine<type, Reduction::prod>);
  make(Reduction::min, combine<type, Reduction::min>);
  make(Reduction::max, combine<type, Reduction::max>);
  make(Reduction::avg, combine<type, Reduction::avg>);
}

#define MUSTER_COLLECTIVE(name) &CallPlan::name,
constexpr std::array<int (CallPlan::*)() const, kCollectives> kCalls{
    MUSTER_COLLECTIVES(MUSTER_COLLECTIVE)};
#undef MUSTER_COLLECTIVE

std::uint64_t elements_of_block(Type type) { return 16 / size_of(type); }

// The elements that one call counts.
std::uint64_t counted(const MpiUse& use, const Shape& shape) {
  return use.counts_all ? std::max(shape.send, shape.receive) : shape.count;
}

void divide_unequally(CallPlan& plan) {
  const auto unit = plan.elements;
  for (int peer = 0; peer < plan.self.ranks; ++peer) {
    const auto sent = sent_to(peer, plan.self.rank, plan.self.ranks);
    const auto received = received_from(peer, plan.self.rank, plan.self.ranks);
    plan.send_counts.push_back(static_cast<int>(sent.count * unit));
    plan.send_at.push_back(static_cast<int>(sent.first * unit));
    plan.receive_counts.push_back(static_cast<int>(received.count * unit));
    plan.receive_at.push_back(static_cast<int>(received.first * unit));
  }
}

}  // namespace

int CallPlan::all_reduce() const {
  return MPI_Allreduce(sent(), receive, count(), datatype, op, communicator);
}

int CallPlan::all_gather() const {
  return MPI_Allgather(sent(), count(), datatype, receive, count(), datatype, communicator);
}

int CallPlan::reduce_scatter() const {
  return MPI_Reduce_scatter_block(sent(), receive, count(), datatype, op, communicator);
}

int CallPlan::broadcast() const {
  return MPI_Bcast(receive, count(), datatype, self.root, communicator);
}

int CallPlan::reduce() const {
  return MPI_Reduce(sent(), receive, count(), datatype, op, self.root, communicator);
}

int CallPlan::alltoall() const {
  return MPI_Alltoall(sent(), count(), datatype, receive, count(), datatype, communicator);
}

int CallPlan::alltoallv() const {
  return MPI_Alltoallv(send, send_counts.data(), send_at.data(), datatype, receive,
                       receive_counts.data(), receive_at.data(), datatype, communicator);
}

int CallPlan::hypercube() const {
  const auto own = static_cast<std::uint64_t>(self.rank);
  if (!in_place) std::memcpy(receive + own * part_bytes, send, part_bytes);
  for (int round = 0; 1 << round < self.ranks; ++round) {
    const auto [peer, there, here] = cube_step(self.rank, round);
    const auto swapped = static_cast<int>(elements * here.count);
    const int code = MPI_Sendrecv(receive + here.first * part_bytes, swapped, datatype, peer, 0,
                                  receive + there.first * part_bytes, swapped, datatype, peer, 0,
                                  communicator, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int CallPlan::sendrecv() const {
  const int next = self.next();
  const int previous = self.previous();
  if (in_place) {
    return MPI_Sendrecv_replace(receive, count(), datatype, next, 0, previous, 0, communicator,
                                MPI_STATUS_IGNORE);
  }
  return MPI_Sendrecv(send, count(), datatype, next, 0, receive, count(), datatype, previous, 0,
                      communicator, MPI_STATUS_IGNORE);
}

int CallPlan::gather() const {
  return MPI_Gather(sent(), count(), datatype, receive, count(), datatype, self.root, communicator);
}

int CallPlan::scatter() const {
  void* const to = receive_in_place ? MPI_IN_PLACE : receive;
  return MPI_Scatter(send, count(), datatype, to, count(), datatype, self.root, communicator);
}

int CallPlan::send_one() const {
  return MPI_Send(send, count(), datatype, self.partner(), 0, communicator);
}

int CallPlan::receive_one() const {
  return MPI_Recv(receive, count(), datatype, self.partner(), 0, communicator, MPI_STATUS_IGNORE);
}

int CallPlan::pingpong() const {
  const bool first = self.begins();
  const int code = first ? send_one() : receive_one();
  if (code != MPI_SUCCESS) return code;
  return first ? receive_one() : send_one();
}

int CallPlan::window(bool sends, bool receives) const {
  std::array<MPI_Request, 2 * static_cast<std::size_t>(kWindow)> requests{};
  int started = 0;
  int code = MPI_SUCCESS;
  const int partner = self.partner();
  const auto next = [&] { return &requests.at(static_cast<std::size_t>(started++)); };
  for (int i = 0; receives && code == MPI_SUCCESS && i < messages; ++i) {
    code = MPI_Irecv(receive, count(), datatype, partner, 0, communicator, next());
  }
  for (int i = 0; sends && code == MPI_SUCCESS && i < messages; ++i) {
    code = MPI_Isend(send, count(), datatype, partner, 0, communicator, next());
  }
  if (code != MPI_SUCCESS) return code;
  return MPI_Waitall(started, requests.data(), MPI_STATUSES_IGNORE);
}

int CallPlan::uniband() const {
  constexpr int kWord = 1;  // the tag of the receiver's word
  const bool sends = self.begins();
  const int code = window(sends, !sends);
  if (code != MPI_SUCCESS) return code;
  char word = 0;
  const int partner = self.partner();
  return sends ? MPI_Recv(&word, 1, MPI_CHAR, partner, kWord, communicator, MPI_STATUS_IGNORE)
               : MPI_Send(&word, 1, MPI_CHAR, partner, kWord, communicator);
}

int CallPlan::biband() const { return window(true, true); }

int CallPlan::barrier() const { return MPI_Barrier(communicator); }

int CallPlan::in_chunks() const {
  auto one = *this;
  for (std::uint64_t left = elements; left != 0; left -= one.elements) {
    one.elements = std::min(left, chunk);
    const int code = (one.*call)();
    if (code != MPI_SUCCESS) return code;
    one.send += chunk_bytes;
    one.receive += chunk_bytes;
  }
  return MPI_SUCCESS;
}

int CallPlan::run() const {
  const int code = chunk == 0 ? (this->*call)() : in_chunks();
  if (code == MPI_SUCCESS && averages) {
    divide(type, receive, received, self.ranks);
  }
  return code;
}

// If one of these fails, the operation that uses it fails later with a message.
Types::Types() {
  for (auto& of_type : own_) of_type.fill(MPI_OP_NULL);
  make_operations<Type::f16>(own_[0]);
  make_operations<Type::bf16>(own_[1]);
  make_operations<Type::f8e4m3>(own_[2]);
  make_operations<Type::f8e5m2>(own_[3]);
  MPI_Type_contiguous(16, MPI_BYTE, &block_);
  MPI_Type_commit(&block_);
}

Types::~Types() {
  for (auto& of_type : own_) {
    for (auto& op : of_type) {
      if (op != MPI_OP_NULL) MPI_Op_free(&op);
    }
  }
  if (block_ != MPI_DATATYPE_NULL) MPI_Type_free(&block_);
}

MPI_Datatype Types::datatype(Type type) {
  const std::array<MPI_Datatype, kTypes> all{MPI_FLOAT,    MPI_DOUBLE,
                                             MPI_UINT16_T,  // f16
                                             MPI_UINT16_T,  // bf16
                                             MPI_UINT8_T,   // f8e4m3
                                             MPI_UINT8_T,   // f8e5m2
                                             MPI_INT8_T,   MPI_INT32_T,  MPI_INT64_T,
                                             MPI_UINT8_T,  MPI_UINT32_T, MPI_UINT64_T};
  return all.at(static_cast<std::size_t>(type));
}

MPI_Op Types::op(Type type, Reduction reduction) const {
  constexpr std::array kOwn{Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2};
  const auto at = static_cast<std::size_t>(std::ranges::find(kOwn, type) - kOwn.begin());
  if (at < kOwn.size()) return own_.at(at).at(static_cast<std::size_t>(reduction));
  const std::array<MPI_Op, kReductions> all{MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_SUM};
  return all.at(static_cast<std::size_t>(reduction));
}

Result<void> can_count(const Operation& operation, int rank, int ranks, std::uint64_t most) {
  const auto& use = definition_of(operation.collective).mpi;
  const auto count = counted(use, shape_of(operation, rank, ranks));
  if (use.divisible || count <= most) return {};
  if (!reduces(operation.collective) && count / elements_of_block(operation.type) <= most) {
    return {};
  }
  return make_error(
      fmt::format("{} of {} bytes has {} elements per rank, but MPI counts at most {}",
                  to_string(operation.collective), operation.bytes, count, most));
}

CallPlan plan_of(const Operation& operation, const HostMemory::Buffers& buffers, const Types& types,
                 MPI_Comm communicator, int rank, int ranks, std::uint64_t most) {
  const auto& definition = definition_of(operation.collective);
  const auto& shape = buffers.shape;
  const bool is_root = rank == operation.root;
  const bool averages = definition.reduces && operation.reduction == Reduction::avg;
  CallPlan plan{.use = &definition.mpi,
                .call = kCalls.at(static_cast<std::size_t>(operation.collective)),
                .communicator = communicator,
                .send = buffers.send,
                .receive = buffers.receive,
                .in_place = operation.in_place,
                .send_in_place = operation.in_place && (!definition.has_root || is_root),
                .receive_in_place = operation.in_place && is_root,
                .elements = shape.count,
                .part_bytes = shape.count * size_of(operation.type),
                .datatype = Types::datatype(operation.type),
                .op = types.op(operation.type, operation.reduction),
                .self = {.rank = rank, .ranks = ranks, .root = operation.root},
                .messages = messages_of(operation),
                .averages = averages && shape.receive != 0,
                .received = shape.receive,
                .type = operation.type};
  if (shape.count > most && definition.mpi.divisible) {
    plan.chunk = most / 4096 * 4096;
    plan.chunk_bytes = plan.chunk * size_of(operation.type);
  } else if (counted(definition.mpi, shape) > most) {
    plan.elements = shape.count / elements_of_block(operation.type);
    plan.datatype = types.block();
  }
  if (definition.unequal) divide_unequally(plan);
  return plan;
}

}  // namespace muster::bench::mpi
