// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/collectives/host_arithmetic.hpp"

namespace muster::bench::mpi {
namespace {

template <Type type, Reduction reduction>
// NOLINTNEXTLINE(readability-non-const-parameter): the signature is MPI's
void combine(void* one, void* both, int* count, MPI_Datatype* /*datatype*/) {
  combine_of(type, reduction)(one, both, static_cast<std::uint64_t>(*count));
}

std::uint64_t elements_of_block(Type type) { return 16 / size_of(type); }

}  // namespace

int Plan::all_reduce() const {
  return MPI_Allreduce(sent(), parts_.receive, count(), parts_.datatype, parts_.op, MPI_COMM_WORLD);
}

int Plan::all_gather() const {
  return MPI_Allgather(
      sent(), count(), parts_.datatype, parts_.receive, count(), parts_.datatype, MPI_COMM_WORLD);
}

int Plan::reduce_scatter_block() const {
  return MPI_Reduce_scatter_block(
      sent(), parts_.receive, count(), parts_.datatype, parts_.op, MPI_COMM_WORLD);
}

int Plan::broadcast() const {
  return MPI_Bcast(parts_.receive, count(), parts_.datatype, parts_.self.root, MPI_COMM_WORLD);
}

int Plan::reduce() const {
  return MPI_Reduce(sent(),
                    parts_.receive,
                    count(),
                    parts_.datatype,
                    parts_.op,
                    parts_.self.root,
                    MPI_COMM_WORLD);
}

int Plan::alltoall() const {
  return MPI_Alltoall(
      sent(), count(), parts_.datatype, parts_.receive, count(), parts_.datatype, MPI_COMM_WORLD);
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
                                MPI_COMM_WORLD,
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
                      MPI_COMM_WORLD,
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
                    MPI_COMM_WORLD);
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
                     MPI_COMM_WORLD);
}

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
  MPI_Op_create(combine<Type::f16, Reduction::sum>, 1, &f16_sum_);
  MPI_Op_create(combine<Type::f16, Reduction::min>, 1, &f16_min_);
  MPI_Op_create(combine<Type::f16, Reduction::max>, 1, &f16_max_);
  MPI_Op_create(combine<Type::bf16, Reduction::sum>, 1, &bf16_sum_);
  MPI_Op_create(combine<Type::bf16, Reduction::min>, 1, &bf16_min_);
  MPI_Op_create(combine<Type::bf16, Reduction::max>, 1, &bf16_max_);
  MPI_Type_contiguous(16, MPI_BYTE, &block_);
  MPI_Type_commit(&block_);
}

Types::~Types() {
  for (auto* const op : {&f16_sum_, &f16_min_, &f16_max_, &bf16_sum_, &bf16_min_, &bf16_max_}) {
    if (*op != MPI_OP_NULL) MPI_Op_free(op);
  }
  if (block_ != MPI_DATATYPE_NULL) MPI_Type_free(&block_);
}

MPI_Datatype Types::datatype(Type type) {
  switch (type) {
    case Type::f32:
      return MPI_FLOAT;
    case Type::f64:
      return MPI_DOUBLE;
    case Type::i32:
      return MPI_INT32_T;
    case Type::u8:
      return MPI_UINT8_T;
    default:
      return MPI_UINT16_T;
  }
}

MPI_Op Types::op(Type type, Reduction reduction) const {
  const bool is_f16 = type == Type::f16;
  if (!is_f16 && type != Type::bf16) {
    return reduction == Reduction::min ? MPI_MIN : reduction == Reduction::max ? MPI_MAX : MPI_SUM;
  }
  switch (reduction) {
    case Reduction::min:
      return is_f16 ? f16_min_ : bf16_min_;
    case Reduction::max:
      return is_f16 ? f16_max_ : bf16_max_;
    default:
      return is_f16 ? f16_sum_ : bf16_sum_;
  }
}

Result<void> can_count(const Operation& operation, int rank, int ranks, std::uint64_t most) {
  const auto count = shape_of(operation, rank, ranks).count;
  if (definition_of(operation.collective).mpi.divisible || count <= most) return {};
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
             int rank,
             int ranks,
             std::uint64_t most) {
  const auto& definition = definition_of(operation.collective);
  const auto& shape = buffers.shape;
  const bool is_root = rank == operation.root;
  const bool averages = definition.reduces && operation.reduction == Reduction::avg;
  PlanParts parts{.use = &definition.mpi,
                  .send = buffers.send,
                  .receive = buffers.receive,
                  .in_place = operation.in_place,
                  .send_in_place = operation.in_place && (!definition.has_root || is_root),
                  .receive_in_place = operation.in_place && is_root,
                  .count = shape.count,
                  .datatype = Types::datatype(operation.type),
                  .op = types.op(operation.type, operation.reduction),
                  .self = {.rank = rank, .ranks = ranks, .root = operation.root},
                  .averages = averages && shape.receive != 0,
                  .received = shape.receive,
                  .type = operation.type};
  if (shape.count > most && definition.mpi.divisible) {
    parts.chunk = most / 4096 * 4096;
    parts.chunk_bytes = parts.chunk * size_of(operation.type);
  } else if (shape.count > most) {
    parts.count = shape.count / elements_of_block(operation.type);
    parts.datatype = types.block();
  }
  return Plan(parts);
}

}  // namespace muster::bench::mpi
