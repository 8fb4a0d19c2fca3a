// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "bench/collectives/host_arithmetic.hpp"

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

std::uint64_t elements_of_block(Type type) { return 16 / size_of(type); }

// What one call has to count.
std::uint64_t counted(const MpiUse& use, const Shape& shape) {
  return use.counts_all ? std::max(shape.send, shape.receive) : shape.count;
}

// From counts that fit into ints.
void divide_unequally(PlanParts& parts) {
  const auto unit = parts.count;
  for (int peer = 0; peer < parts.self.ranks; ++peer) {
    const auto sent = sent_to(peer, parts.self.rank, parts.self.ranks);
    const auto received = received_from(peer, parts.self.rank, parts.self.ranks);
    parts.send_counts.push_back(static_cast<int>(sent.count * unit));
    parts.send_at.push_back(static_cast<int>(sent.first * unit));
    parts.receive_counts.push_back(static_cast<int>(received.count * unit));
    parts.receive_at.push_back(static_cast<int>(received.first * unit));
  }
}

}  // namespace

int Plan::all_reduce() const {
  return MPI_Allreduce(
      sent(), parts_.receive, count(), parts_.datatype, parts_.op, parts_.communicator);
}

int Plan::all_gather() const {
  return MPI_Allgather(sent(),
                       count(),
                       parts_.datatype,
                       parts_.receive,
                       count(),
                       parts_.datatype,
                       parts_.communicator);
}

int Plan::reduce_scatter_block() const {
  return MPI_Reduce_scatter_block(
      sent(), parts_.receive, count(), parts_.datatype, parts_.op, parts_.communicator);
}

int Plan::broadcast() const {
  return MPI_Bcast(parts_.receive, count(), parts_.datatype, parts_.self.root, parts_.communicator);
}

int Plan::reduce() const {
  return MPI_Reduce(sent(),
                    parts_.receive,
                    count(),
                    parts_.datatype,
                    parts_.op,
                    parts_.self.root,
                    parts_.communicator);
}

int Plan::alltoall() const {
  return MPI_Alltoall(sent(),
                      count(),
                      parts_.datatype,
                      parts_.receive,
                      count(),
                      parts_.datatype,
                      parts_.communicator);
}

int Plan::alltoallv() const {
  return MPI_Alltoallv(parts_.send,
                       parts_.send_counts.data(),
                       parts_.send_at.data(),
                       parts_.datatype,
                       parts_.receive,
                       parts_.receive_counts.data(),
                       parts_.receive_at.data(),
                       parts_.datatype,
                       parts_.communicator);
}

int Plan::hypercube() const {
  const auto bytes = parts_.part_bytes;
  const auto own = static_cast<std::uint64_t>(parts_.self.rank);
  if (!parts_.in_place) std::memcpy(parts_.receive + own * bytes, parts_.send, bytes);
  for (int round = 0; 1 << round < parts_.self.ranks; ++round) {
    const auto [peer, there, here] = cube_step(parts_.self.rank, round);
    const auto elements = static_cast<int>(parts_.count * here.count);
    const int code = MPI_Sendrecv(parts_.receive + here.first * bytes,
                                  elements,
                                  parts_.datatype,
                                  peer,
                                  0,
                                  parts_.receive + there.first * bytes,
                                  elements,
                                  parts_.datatype,
                                  peer,
                                  0,
                                  parts_.communicator,
                                  MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int Plan::sendrecv() const {
  if (parts_.in_place) {
    return MPI_Sendrecv_replace(parts_.receive,
                                count(),
                                parts_.datatype,
                                parts_.self.next(),
                                0,
                                parts_.self.previous(),
                                0,
                                parts_.communicator,
                                MPI_STATUS_IGNORE);
  }
  return MPI_Sendrecv(parts_.send,
                      count(),
                      parts_.datatype,
                      parts_.self.next(),
                      0,
                      parts_.receive,
                      count(),
                      parts_.datatype,
                      parts_.self.previous(),
                      0,
                      parts_.communicator,
                      MPI_STATUS_IGNORE);
}

int Plan::gather() const {
  return MPI_Gather(sent(),
                    count(),
                    parts_.datatype,
                    parts_.receive,
                    count(),
                    parts_.datatype,
                    parts_.self.root,
                    parts_.communicator);
}

int Plan::scatter() const {
  void* const to = parts_.receive_in_place ? MPI_IN_PLACE : parts_.receive;
  return MPI_Scatter(parts_.send,
                     count(),
                     parts_.datatype,
                     to,
                     count(),
                     parts_.datatype,
                     parts_.self.root,
                     parts_.communicator);
}

int Plan::send_one() const {
  return MPI_Send(
      parts_.send, count(), parts_.datatype, parts_.self.partner(), 0, parts_.communicator);
}

int Plan::receive_one() const {
  return MPI_Recv(parts_.receive,
                  count(),
                  parts_.datatype,
                  parts_.self.partner(),
                  0,
                  parts_.communicator,
                  MPI_STATUS_IGNORE);
}

int Plan::pingpong() const {
  const bool first = parts_.self.begins();
  const int code = first ? send_one() : receive_one();
  if (code != MPI_SUCCESS) return code;
  return first ? receive_one() : send_one();
}

int Plan::window(bool sends, bool receives) const {
  std::array<MPI_Request, 2 * static_cast<std::size_t>(kWindow)> requests{};
  int started = 0;
  int code = MPI_SUCCESS;
  const int partner = parts_.self.partner();
  for (int i = 0; receives && code == MPI_SUCCESS && i < parts_.messages; ++i) {
    code = MPI_Irecv(parts_.receive,
                     count(),
                     parts_.datatype,
                     partner,
                     0,
                     parts_.communicator,
                     &requests.at(static_cast<std::size_t>(started++)));
  }
  for (int i = 0; sends && code == MPI_SUCCESS && i < parts_.messages; ++i) {
    code = MPI_Isend(parts_.send,
                     count(),
                     parts_.datatype,
                     partner,
                     0,
                     parts_.communicator,
                     &requests.at(static_cast<std::size_t>(started++)));
  }
  if (code != MPI_SUCCESS) return code;
  return MPI_Waitall(started, requests.data(), MPI_STATUSES_IGNORE);
}

int Plan::uniband() const {
  constexpr int kWord = 1;  // the tag of the receiver's word
  const bool sends = parts_.self.begins();
  const int code = window(sends, !sends);
  if (code != MPI_SUCCESS) return code;
  char word = 0;
  const int partner = parts_.self.partner();
  return sends
             ? MPI_Recv(&word, 1, MPI_CHAR, partner, kWord, parts_.communicator, MPI_STATUS_IGNORE)
             : MPI_Send(&word, 1, MPI_CHAR, partner, kWord, parts_.communicator);
}

int Plan::biband() const { return window(true, true); }

int Plan::barrier() const { return MPI_Barrier(parts_.communicator); }

int Plan::in_chunks() const {
  auto chunk = *this;
  for (std::uint64_t left = parts_.count; left != 0; left -= chunk.parts_.count) {
    chunk.parts_.count = std::min(left, parts_.chunk);
    const int code = chunk.call();
    if (code != MPI_SUCCESS) return code;
    chunk.parts_.send += parts_.chunk_bytes;
    chunk.parts_.receive += parts_.chunk_bytes;
  }
  return MPI_SUCCESS;
}

int Plan::run() const {
  const int code = parts_.chunk == 0 ? call() : in_chunks();
  if (code == MPI_SUCCESS && parts_.averages) {
    divide(parts_.type, parts_.receive, parts_.received, parts_.self.ranks);
  }
  return code;
}

// Where one of these fails, what needs it fails later, with a message.
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
  const std::array<MPI_Datatype, kTypes> all{MPI_FLOAT,
                                             MPI_DOUBLE,
                                             MPI_UINT16_T,  // f16
                                             MPI_UINT16_T,  // bf16
                                             MPI_UINT8_T,   // f8e4m3
                                             MPI_UINT8_T,   // f8e5m2
                                             MPI_INT8_T,
                                             MPI_INT32_T,
                                             MPI_INT64_T,
                                             MPI_UINT8_T,
                                             MPI_UINT32_T,
                                             MPI_UINT64_T};
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
      fmt::format("MPI counts at most {} elements, and {} of {} bytes has {} per rank",
                  most,
                  to_string(operation.collective),
                  operation.bytes,
                  count));
}

Plan plan_of(const Operation& operation,
             const HostMemory::Buffers& buffers,
             const Types& types,
             MPI_Comm communicator,
             int rank,
             int ranks,
             std::uint64_t most) {
  const auto& definition = definition_of(operation.collective);
  const auto& shape = buffers.shape;
  const bool is_root = rank == operation.root;
  const bool averages = definition.reduces && operation.reduction == Reduction::avg;
  PlanParts parts{.use = &definition.mpi,
                  .communicator = communicator,
                  .send = buffers.send,
                  .receive = buffers.receive,
                  .in_place = operation.in_place,
                  .send_in_place = operation.in_place && (!definition.has_root || is_root),
                  .receive_in_place = operation.in_place && is_root,
                  .count = shape.count,
                  .part_bytes = shape.count * size_of(operation.type),
                  .datatype = Types::datatype(operation.type),
                  .op = types.op(operation.type, operation.reduction),
                  .self = {.rank = rank, .ranks = ranks, .root = operation.root},
                  .messages = messages_of(operation),
                  .averages = averages && shape.receive != 0,
                  .received = shape.receive,
                  .type = operation.type};
  if (shape.count > most && definition.mpi.divisible) {
    parts.chunk = most / 4096 * 4096;
    parts.chunk_bytes = parts.chunk * size_of(operation.type);
  } else if (counted(definition.mpi, shape) > most) {
    parts.count = shape.count / elements_of_block(operation.type);
    parts.datatype = types.block();
  }
  if (definition.unequal) divide_unequally(parts);
  return Plan(parts);
}

}  // namespace muster::bench::mpi
