// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/backends/host_backend.hpp"
#include "bench/collectives/definition.hpp"
#include "bench/collectives/number.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::mpi {
namespace {

template <Type type, Reduction reduction>
// NOLINTNEXTLINE(readability-non-const-parameter): the signature is MPI's
void combine(void* one, void* both, int* count, MPI_Datatype* /*datatype*/) {
  combine_of(type, reduction)(one, both, static_cast<std::uint64_t>(*count));
}

template <Type type>
void make_operations(std::array<MPI_Op, kReductions>& operations) {
  constexpr std::array<MPI_User_function*, kReductions> kFunctions{
      combine<type, Reduction::sum>, combine<type, Reduction::prod>, combine<type, Reduction::min>,
      combine<type, Reduction::max>, combine<type, Reduction::avg>};
  for (std::size_t i = 0; i < kReductions; ++i) {
    MPI_Op_create(kFunctions.at(i), 1, &operations.at(i));
  }
}

// The types and operations that MPI lacks. MPI must be initialised. If one cannot be made, the
// operation that uses it fails later with a message.
class Types {
 public:
  Types() {
    for (auto& of_type : own_) of_type.fill(MPI_OP_NULL);
    make_operations<Type::f16>(own_[0]);
    make_operations<Type::bf16>(own_[1]);
    make_operations<Type::f8e4m3>(own_[2]);
    make_operations<Type::f8e5m2>(own_[3]);
    MPI_Type_contiguous(16, MPI_BYTE, &block_);
    MPI_Type_commit(&block_);
  }

  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;

  ~Types() {
    for (auto& of_type : own_) {
      for (auto& op : of_type) {
        if (op != MPI_OP_NULL) MPI_Op_free(&op);
      }
    }
    if (block_ != MPI_DATATYPE_NULL) MPI_Type_free(&block_);
  }

  [[nodiscard]] static MPI_Datatype datatype(Type type) {
    const std::array<MPI_Datatype, kTypes> all{MPI_FLOAT,    MPI_DOUBLE,
                                               MPI_UINT16_T,  // f16
                                               MPI_UINT16_T,  // bf16
                                               MPI_UINT8_T,   // f8e4m3
                                               MPI_UINT8_T,   // f8e5m2
                                               MPI_INT8_T,   MPI_INT32_T,  MPI_INT64_T,
                                               MPI_UINT8_T,  MPI_UINT32_T, MPI_UINT64_T};
    return all.at(static_cast<std::size_t>(type));
  }

  [[nodiscard]] MPI_Op op(Type type, Reduction reduction) const {
    constexpr std::array kOwn{Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2};
    const auto at = static_cast<std::size_t>(std::ranges::find(kOwn, type) - kOwn.begin());
    if (at < kOwn.size()) return own_.at(at).at(static_cast<std::size_t>(reduction));
    const std::array<MPI_Op, kReductions> all{MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_SUM};
    return all.at(static_cast<std::size_t>(reduction));
  }

  // 16 bytes, for parts with more elements than fit into an int.
  [[nodiscard]] MPI_Datatype block() const { return block_; }

 private:
  std::array<std::array<MPI_Op, kReductions>, 4> own_;  // of f16, bf16, f8e4m3, f8e5m2
  MPI_Datatype block_ = MPI_DATATYPE_NULL;
};

// An operation as calls of MPI. plan_of() makes all decisions before the timed loop, which only
// calls run().
struct CallPlan {
  const MpiUse* use = nullptr;
  int (CallPlan::*call)() const = nullptr;  // one of those below
  MPI_Comm communicator = MPI_COMM_NULL;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  bool in_place = false;
  bool send_in_place = false;  // the send buffer is MPI_IN_PLACE
  bool receive_in_place = false;
  std::uint64_t elements = 0;  // of `datatype`
  std::uint64_t part_bytes = 0;
  // The unequal parts of each rank, in units of `datatype`.
  std::vector<int> send_counts = {}, send_at = {}, receive_counts = {}, receive_at = {};
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  Participant self;
  int messages = 1;

  bool averages = false;       // run() divides the sums
  std::uint64_t received = 0;  // elements
  Type type = Type::f32;
  std::uint64_t chunk = 0;  // elements of each of several calls; else 0
  std::uint64_t chunk_bytes = 0;

  [[nodiscard]] const void* sent() const { return send_in_place ? MPI_IN_PLACE : send; }

  [[nodiscard]] int count() const { return static_cast<int>(elements); }

  [[nodiscard]] int all_reduce() const {
    return MPI_Allreduce(sent(), receive, count(), datatype, op, communicator);
  }

  [[nodiscard]] int all_gather() const {
    return MPI_Allgather(sent(), count(), datatype, receive, count(), datatype, communicator);
  }

  [[nodiscard]] int reduce_scatter() const {
    return MPI_Reduce_scatter_block(sent(), receive, count(), datatype, op, communicator);
  }

  [[nodiscard]] int broadcast() const {
    return MPI_Bcast(receive, count(), datatype, self.root, communicator);
  }

  [[nodiscard]] int reduce() const {
    return MPI_Reduce(sent(), receive, count(), datatype, op, self.root, communicator);
  }

  [[nodiscard]] int alltoall() const {
    return MPI_Alltoall(sent(), count(), datatype, receive, count(), datatype, communicator);
  }

  [[nodiscard]] int alltoallv() const {
    return MPI_Alltoallv(send, send_counts.data(), send_at.data(), datatype, receive,
                         receive_counts.data(), receive_at.data(), datatype, communicator);
  }

  [[nodiscard]] int hypercube() const {
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

  // To the next rank, from the previous one.
  [[nodiscard]] int sendrecv() const {
    const int next = self.next();
    const int previous = self.previous();
    if (in_place) {
      return MPI_Sendrecv_replace(receive, count(), datatype, next, 0, previous, 0, communicator,
                                  MPI_STATUS_IGNORE);
    }
    return MPI_Sendrecv(send, count(), datatype, next, 0, receive, count(), datatype, previous, 0,
                        communicator, MPI_STATUS_IGNORE);
  }

  [[nodiscard]] int gather() const {
    return MPI_Gather(sent(), count(), datatype, receive, count(), datatype, self.root,
                      communicator);
  }

  [[nodiscard]] int scatter() const {
    void* const to = receive_in_place ? MPI_IN_PLACE : receive;
    return MPI_Scatter(send, count(), datatype, to, count(), datatype, self.root, communicator);
  }

  [[nodiscard]] int send_one() const {
    return MPI_Send(send, count(), datatype, self.partner(), 0, communicator);
  }

  [[nodiscard]] int receive_one() const {
    return MPI_Recv(receive, count(), datatype, self.partner(), 0, communicator, MPI_STATUS_IGNORE);
  }

  [[nodiscard]] int pingpong() const {
    const bool first = self.begins();
    const int code = first ? send_one() : receive_one();
    if (code != MPI_SUCCESS) return code;
    return first ? receive_one() : send_one();
  }

  // Starts a window of sends or receives, and waits for them.
  [[nodiscard]] int window(bool sends, bool receives) const {
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

  // A window of messages to the partner, which confirms that all have arrived.
  [[nodiscard]] int uniband() const {
    constexpr int kWord = 1;  // the tag of the receiver's word
    const bool sends = self.begins();
    const int code = window(sends, !sends);
    if (code != MPI_SUCCESS) return code;
    char word = 0;
    const int partner = self.partner();
    return sends ? MPI_Recv(&word, 1, MPI_CHAR, partner, kWord, communicator, MPI_STATUS_IGNORE)
                 : MPI_Send(&word, 1, MPI_CHAR, partner, kWord, communicator);
  }

  [[nodiscard]] int biband() const { return window(true, true); }

  [[nodiscard]] int barrier() const { return MPI_Barrier(communicator); }

  // Splits a call whose counts exceed an int.
  [[nodiscard]] int in_chunks() const {
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

  // Runs the whole operation.
  [[nodiscard]] Result<void> run() const {
    TRY(check(chunk == 0 ? (this->*call)() : in_chunks(), use->name));
    if (averages) divide(type, receive, received, self.ranks);
    return {};
  }

  [[nodiscard]] Result<void> meet() const { return check(barrier(), use->name); }
};

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

// An error if the operation is too large even for several calls.
Result<void> can_count(const Operation& operation, int rank, int ranks, std::uint64_t most) {
  const auto& use = definition_of(operation.collective).mpi;
  const auto count = counted(use, shape_of(operation, rank, ranks));
  if (use.divisible || count <= most) return {};
  if (!reduces(operation.collective) && count / elements_of_block(operation.type) <= most) {
    return {};
  }
  return make_error("{} of {} bytes has {} elements per rank, but MPI counts at most {}",
                    to_string(operation.collective), operation.bytes, count, most);
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

// This rank's equal share of the machine's memory. Returns after all ranks have measured it.
std::optional<std::uint64_t> room_of_rank() {
  const auto available = host_memory_available();
  MPI_Comm here = MPI_COMM_NULL;
  int ranks = 0;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) !=
      MPI_SUCCESS) {
    return std::nullopt;
  }
  const bool counted = MPI_Comm_size(here, &ranks) == MPI_SUCCESS && ranks > 0;
  MPI_Comm_free(&here);
  if (!available || !counted) return std::nullopt;
  return *available / static_cast<std::uint64_t>(ranks);
}

class MpiBackend final : public HostBackend<CallPlan> {
 public:
  MpiBackend(MPI_Comm communicator, int rank, int ranks, std::uint64_t most)
      : HostBackend("MPI", rank, ranks, room_of_rank()), communicator_(communicator), most_(most) {}

  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;

  ~MpiBackend() override {
    if (communicator_ != MPI_COMM_WORLD) MPI_Comm_free(&communicator_);
  }

  [[nodiscard]] std::string library() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    return library_name({text.data(), static_cast<std::size_t>(length)});
  }

  [[nodiscard]] Result<void> supports(const Operation& operation, const Pace& pace) const override {
    TRY(HostBackend::supports(operation, pace));
    return can_count(operation, rank(), ranks(), most_);
  }

 private:
  [[nodiscard]] CallPlan calls_of(const Operation& operation,
                                  HostMemory::Buffers& buffers) override {
    if (definition_of(operation.collective).mpi.received_first) buffers.receive = buffers.whole;
    return plan_of(operation, buffers, types_, communicator_, rank(), ranks(), most_);
  }

  MPI_Comm communicator_;
  std::uint64_t most_;
  Types types_;
};

}  // namespace

Result<void> check(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
    return make_error("{}: error {}", call, code);
  }
  return make_error("{}: {}", call,
                    std::string_view(text.data(), static_cast<std::size_t>(length)));
}

// "Open MPI v4.1.4, package: …", "MPICH Version:\t4.0.2\nMPICH Release date…", or "Intel(R) MPI
// Library 2021.5 for Linux* OS".
std::string library_name(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto word : split_words(text.substr(0, text.find_first_of(",\n")))) {
    if (word == "Version:") continue;
    const bool is_version =
        word.size() > 1 && word[0] == 'v' && std::isdigit(static_cast<unsigned char>(word[1])) != 0;
    if (is_version) word.remove_prefix(1);
    words.push_back(word);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

Result<std::unique_ptr<Backend>> make_backend(MPI_Comm communicator, std::uint64_t most) {
  int rank = 0;
  int ranks = 1;
  TRY(check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank"));
  TRY(check(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size"));
  return std::make_unique<MpiBackend>(communicator, rank, ranks, most);
}

}  // namespace muster::bench::mpi
