// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/backends/host_arithmetic.hpp"

namespace muster::bench::mpi {
namespace {

const void* sent(const Plan& plan) { return plan.send_in_place ? MPI_IN_PLACE : plan.send; }

void* received(const Plan& plan) { return plan.receive_in_place ? MPI_IN_PLACE : plan.receive; }

int count_of(const Plan& plan) { return static_cast<int>(plan.count); }

int all_reduce(const Plan& plan) {
  return MPI_Allreduce(
      sent(plan), plan.receive, count_of(plan), plan.datatype, plan.op, MPI_COMM_WORLD);
}

int all_gather(const Plan& plan) {
  return MPI_Allgather(sent(plan),
                       count_of(plan),
                       plan.datatype,
                       plan.receive,
                       count_of(plan),
                       plan.datatype,
                       MPI_COMM_WORLD);
}

int reduce_scatter(const Plan& plan) {
  return MPI_Reduce_scatter_block(
      sent(plan), plan.receive, count_of(plan), plan.datatype, plan.op, MPI_COMM_WORLD);
}

int broadcast(const Plan& plan) {
  return MPI_Bcast(plan.receive, count_of(plan), plan.datatype, plan.root, MPI_COMM_WORLD);
}

int reduce(const Plan& plan) {
  return MPI_Reduce(
      sent(plan), plan.receive, count_of(plan), plan.datatype, plan.op, plan.root, MPI_COMM_WORLD);
}

int alltoall(const Plan& plan) {
  return MPI_Alltoall(sent(plan),
                      count_of(plan),
                      plan.datatype,
                      plan.receive,
                      count_of(plan),
                      plan.datatype,
                      MPI_COMM_WORLD);
}

int sendrecv(const Plan& plan) {
  return MPI_Sendrecv(plan.send,
                      count_of(plan),
                      plan.datatype,
                      plan.next,
                      0,
                      plan.receive,
                      count_of(plan),
                      plan.datatype,
                      plan.previous,
                      0,
                      MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
}

int sendrecv_replace(const Plan& plan) {
  return MPI_Sendrecv_replace(plan.receive,
                              count_of(plan),
                              plan.datatype,
                              plan.next,
                              0,
                              plan.previous,
                              0,
                              MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE);
}

int gather(const Plan& plan) {
  return MPI_Gather(sent(plan),
                    count_of(plan),
                    plan.datatype,
                    plan.receive,
                    count_of(plan),
                    plan.datatype,
                    plan.root,
                    MPI_COMM_WORLD);
}

int scatter(const Plan& plan) {
  return MPI_Scatter(plan.send,
                     count_of(plan),
                     plan.datatype,
                     received(plan),
                     count_of(plan),
                     plan.datatype,
                     plan.root,
                     MPI_COMM_WORLD);
}

int in_chunks(const Plan& plan) {
  auto chunk = plan;
  for (std::uint64_t left = plan.count; left != 0; left -= chunk.count) {
    chunk.count = std::min(left, plan.chunk);
    const int code = plan.call(chunk);
    if (code != MPI_SUCCESS) return code;
    chunk.send += plan.chunk_bytes;
    chunk.receive += plan.chunk_bytes;
  }
  return MPI_SUCCESS;
}

int and_divided(const Plan& plan) {
  const int code = plan.whole(plan);
  if (code == MPI_SUCCESS) divide(plan.type, plan.divided, plan.divided_count, plan.ranks);
  return code;
}

struct Row {
  Collective collective;
  std::string_view name;
  Call call;
};

constexpr std::array kCalls{
    Row{Collective::all_reduce, "MPI_Allreduce", all_reduce},
    Row{Collective::all_gather, "MPI_Allgather", all_gather},
    Row{Collective::reduce_scatter, "MPI_Reduce_scatter_block", reduce_scatter},
    Row{Collective::broadcast, "MPI_Bcast", broadcast},
    Row{Collective::reduce, "MPI_Reduce", reduce},
    Row{Collective::alltoall, "MPI_Alltoall", alltoall},
    Row{Collective::sendrecv, "MPI_Sendrecv", sendrecv},
    Row{Collective::gather, "MPI_Gather", gather},
    Row{Collective::scatter, "MPI_Scatter", scatter},
};

template <Type type, Reduction reduction>
// NOLINTNEXTLINE(readability-non-const-parameter): the signature is MPI's
void combine(void* one, void* both, int* count, MPI_Datatype* /*datatype*/) {
  combine_of(type, reduction)(one, both, static_cast<std::uint64_t>(*count));
}

// What may be done in several calls, one after the other.
bool divisible(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::broadcast ||
         collective == Collective::reduce || collective == Collective::sendrecv;
}

std::uint64_t elements_of_block(Type type) { return 16 / size_of(type); }

}  // namespace

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
  if (divisible(operation.collective) || count <= most) return {};
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
  const auto& row = kCalls.at(static_cast<std::size_t>(operation.collective));
  const auto& shape = buffers.shape;
  const bool is_root = rank == operation.root;
  Plan plan{.name = row.name,
            .call = row.call,
            .whole = row.call,
            .send = buffers.send,
            .receive = buffers.receive,
            .count = shape.count,
            .datatype = Types::datatype(operation.type),
            .op = types.op(operation.type, operation.reduction),
            .root = operation.root,
            .next = (rank + 1) % ranks,
            .previous = (rank + ranks - 1) % ranks,
            .divided = buffers.receive,
            .divided_count = shape.receive,
            .type = operation.type,
            .ranks = ranks};
  if (operation.in_place) {
    plan.send_in_place = !has_root(operation.collective) || is_root;
    plan.receive_in_place = operation.collective == Collective::scatter && is_root;
    if (operation.collective == Collective::sendrecv) plan.call = plan.whole = sendrecv_replace;
  }
  if (shape.count > most && divisible(operation.collective)) {
    plan.whole = in_chunks;
    plan.chunk = most / 4096 * 4096;
    plan.chunk_bytes = plan.chunk * size_of(operation.type);
  } else if (shape.count > most) {
    plan.count = shape.count / elements_of_block(operation.type);
    plan.datatype = types.block();
  }
  const bool averages = reduces(operation.collective) && operation.reduction == Reduction::avg;
  plan.run = averages && shape.receive != 0 ? and_divided : plan.whole;
  return plan;
}

}  // namespace muster::bench::mpi
