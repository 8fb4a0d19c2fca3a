// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/communicator.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <thread>

#include "bench/backends/nccl/library.hpp"
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

// NCCL may hang in both; the process then ends without it.
constexpr auto kLeavingLimit = std::chrono::seconds(10);
constexpr auto kAbortLimit = std::chrono::seconds(1);

bool is_fine(int code) { return code == nccl::kSuccess || code == nccl::kInProgress; }

void* address(cuda::Pointer memory) {
  return reinterpret_cast<void*>(memory);  // NOLINT(performance-no-int-to-ptr): of NCCL's interface
}

// NCCL's numbers for our types and reductions.
constexpr std::array<int, kTypes> kNcclTypes{nccl::kFloat32,  nccl::kFloat64,    nccl::kFloat16,
                                             nccl::kBfloat16, nccl::kFloat8e4m3, nccl::kFloat8e5m2,
                                             nccl::kInt8,     nccl::kInt32,      nccl::kInt64,
                                             nccl::kUint8,    nccl::kUint32,     nccl::kUint64};
constexpr std::array<int, kReductions> kNcclReductions{nccl::kSum, nccl::kProd, nccl::kMin,
                                                       nccl::kMax, nccl::kAvg};

// NCCL's calls on the buffers of an operation. They return NCCL's result codes.
class Calls : public Participant {
 public:
  Calls(const nccl::Library& library, const Participant& self, const OperationRun& run,
        nccl::Communicator handle, cuda::Stream stream, int round)
      : Participant(self),
        library_(library),
        run_(run),
        handle_(handle),
        stream_(stream),
        round_(round),
        count_(run.shape.count),
        type_(kNcclTypes.at(static_cast<std::size_t>(run.operation.type))),
        reduction_(kNcclReductions.at(static_cast<std::size_t>(run.operation.reduction))) {}

  int all_reduce() {
    return library_.all_reduce.call(sent(), received(), count_, type_, reduction_, handle_,
                                    stream_);
  }

  int all_gather() {
    return library_.all_gather.call(sent(), received(), count_, type_, handle_, stream_);
  }

  int reduce_scatter() {
    return library_.reduce_scatter.call(sent(), received(), count_, type_, reduction_, handle_,
                                        stream_);
  }

  int broadcast() {
    return library_.broadcast.call(sent(), received(), count_, type_, root, handle_, stream_);
  }

  int reduce() {
    return library_.reduce.call(sent(), received(), count_, type_, reduction_, root, handle_,
                                stream_);
  }

  // NCCL before 2.28 has no functions for these: programs use sends and receives in one group.

  int exchange_parts() {
    const auto& parts = definition_of(run_.operation.collective).parts;
    begin_group();
    for (int peer = 0; peer < ranks; ++peer) {
      const auto sent = parts.sent(*this, peer);
      const auto received = parts.received(*this, peer);
      if (sent.count > 0) send(peer, sent);
      if (received.count > 0) receive(peer, received);
    }
    return end_group();
  }

  // One round. The first sends the input: a group must not read what it receives.
  int hypercube() {
    begin_group();
    if (round_ == 0 && !run_.operation.in_place) {
      send(rank, part_at(0));
      receive(rank, part_at(rank));
    }
    if (ranks > 1) {
      const auto [peer, there, here] = cube_step(rank, round_);
      if (round_ == 0) {
        send(peer, part_at(0));
      } else {
        send(peer, here, run_.receive);
      }
      receive(peer, there);
    }
    return end_group();
  }

  int sendrecv() {
    begin_group();
    send(next(), part_at(0));
    receive(previous(), part_at(0));
    return end_group();
  }

 private:
  void begin_group() { failed_ = library_.group_start.call(); }

  int end_group() {
    const int ended = library_.group_end.call();
    return failed_ == nccl::kSuccess ? ended : failed_;
  }

  void note(int code) {
    if (failed_ == nccl::kSuccess && code != nccl::kInProgress) failed_ = code;
  }

  [[nodiscard]] void* at(cuda::Pointer buffer, Stretch parts) const {
    return address(buffer + parts.first * count_ * size_of(run_.operation.type));
  }

  void send(int peer, Stretch parts) { send(peer, parts, run_.send); }

  void send(int peer, Stretch parts, cuda::Pointer buffer) {
    note(
        library_.send.call(at(buffer, parts), parts.count * count_, type_, peer, handle_, stream_));
  }

  void receive(int peer, Stretch parts) {
    note(library_.receive.call(at(run_.receive, parts), parts.count * count_, type_, peer, handle_,
                               stream_));
  }

  [[nodiscard]] void* sent() const { return address(run_.send); }

  [[nodiscard]] void* received() const { return address(run_.receive); }

  const nccl::Library& library_;
  const OperationRun& run_;
  nccl::Communicator handle_;
  cuda::Stream stream_;
  int round_;
  std::uint64_t count_;
  int type_;
  int reduction_;
  int failed_ = nccl::kSuccess;
};

// In the order of MUSTER_COLLECTIVES. NCCL cannot run those that are missing at the end.
constexpr std::array<int (Calls::*)(), kCollectives> kCalls{
    &Calls::all_reduce, &Calls::all_gather,     &Calls::reduce_scatter, &Calls::broadcast,
    &Calls::reduce,     &Calls::exchange_parts, &Calls::exchange_parts, &Calls::hypercube,
    &Calls::sendrecv,   &Calls::exchange_parts, &Calls::exchange_parts};

}  // namespace

Communicator::~Communicator() {
  if (handle_.load() == nullptr || given_up_.load()) return;
  if (failed_) {
    abort();
  } else {
    leave();
  }
}

Result<std::string> Communicator::make_id() const {
  nccl::UniqueId id{};
  TRY(call(library_, library_.unique_id, &id));
  return std::string(id.bytes.data(), id.bytes.size());
}

Result<void> Communicator::join(const std::string& id,
                                std::optional<std::chrono::nanoseconds> limit) {
  const auto until = limit ? Clock::now() + *limit : Clock::time_point::max();
  nccl::UniqueId unique{};
  if (id.size() != unique.bytes.size()) {
    return make_error("NCCL's unique id: {} bytes, expected {}", id.size(), unique.bytes.size());
  }
  std::memcpy(unique.bytes.data(), id.data(), id.size());
  nccl::Communicator made = nullptr;
  int code = nccl::kSuccess;
  std::string_view what = library_.init.name;
  if (library_.init_config.call == nullptr) {
    code = library_.init.call(&made, ranks_, unique, rank_);
  } else {
    nccl::Config config;
    config.blocking = limit ? 0 : 1;
    what = library_.init_config.name;
    code = library_.init_config.call(&made, ranks_, unique, rank_, &config);
  }
  handle_.store(made);
  return wait_for_call(what, code, until);
}

int Communicator::state() {
  const std::scoped_lock lock(asking_);
  int now = nccl::kInProgress;
  if (given_up_.load() || handle_.load() == nullptr) return now;
  const int code = library_.async_error.call(handle_.load(), &now);
  return code == nccl::kSuccess ? now : code;
}

Result<void> Communicator::wait_for_call(std::string_view what, int code, Clock::time_point until) {
  int state_now = code;
  const auto begin = Clock::now();
  while (state_now == nccl::kInProgress) {
    if (given_up_.load()) return make_error("{}: aborted", what);
    state_now = state();
    const auto now = Clock::now();
    if (state_now == nccl::kInProgress && now >= until) {
      abort();
      return make_error("{}: the communicator did not form within its deadline", what);
    }
    if (now - begin > std::chrono::milliseconds(1)) std::this_thread::yield();
  }
  if (given_up_.load()) return make_error("{}: aborted", what);
  if (state_now == nccl::kSuccess) return {};
  failed_ = true;
  return tl::unexpected(trouble(library_, what, state_now, handle_.load()));
}

Result<void> Communicator::healthy() {
  if (given_up_.load()) return make_error("NCCL's communicator was aborted");
  const int state_now = state();
  if (is_fine(state_now)) return {};
  failed_ = true;
  return tl::unexpected(
      trouble(library_, "NCCL reports an asynchronous error", state_now, handle_.load()));
}

Result<void> Communicator::enqueue(const OperationRun& run, cuda::Stream stream, int times) {
  if (given_up_.load()) return make_error("NCCL's communicator was aborted");
  const auto name = to_string(run.operation.collective);
  if (times == 1) {
    const bool in_rounds = definition_of(run.operation.collective).nccl.by == NcclUse::By::groups;
    for (int round = 0; round == 0 || (in_rounds && 1 << round < ranks_); ++round) {
      TRY(wait_for_call(name, start(run, stream, round)));
    }
    return {};
  }
  int begun = library_.group_start.call();
  for (int i = 0; i < times && is_fine(begun); ++i) begun = start(run, stream);
  const int ended = library_.group_end.call();
  return wait_for_call(name, is_fine(begun) ? ended : begun);
}

int Communicator::start(const OperationRun& run, cuda::Stream stream, int round) {
  const Participant self{.rank = rank_, .ranks = ranks_, .root = run.operation.root};
  Calls calls(library_, self, run, handle_.load(), stream, round);
  return (calls.*kCalls.at(static_cast<std::size_t>(run.operation.collective)))();
}

Result<void> Communicator::register_memory(cuda::Pointer memory, std::uint64_t bytes) {
  void* registered = nullptr;
  TRY(call(library_, library_.register_memory, handle_.load(), address(memory), bytes,
           &registered));
  registered_.push_back(registered);
  return {};
}

void Communicator::release_memory() {
  for (auto* const registered : registered_) {
    library_.deregister_memory.call(handle_.load(), registered);
  }
  registered_.clear();
}

void Communicator::leave() {
  release_memory();
  auto* handle = handle_.exchange(nullptr);
  if (library_.finalize.call != nullptr) {
    int state_now = library_.finalize.call(handle);
    const auto deadline = Clock::now() + kLeavingLimit;
    while (state_now == nccl::kInProgress && Clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (library_.async_error.call(handle, &state_now) != nccl::kSuccess) break;
    }
    if (state_now != nccl::kSuccess) {
      handle_.store(handle);
      abort();
      return;
    }
  }
  library_.destroy.call(handle);
}

// NCCL may hang in it: then the thread is left behind.
void Communicator::abort() noexcept {
  if (given_up_.exchange(true)) return;
  try {
    const std::unique_lock lock(asking_);
    auto* handle = handle_.load();
    if (handle == nullptr) return;
    const auto done = std::make_shared<std::atomic<bool>>(false);
    std::thread([done, handle, give_up = library_.abort.call] {
      give_up(handle);
      done->store(true);
    }).detach();
    const auto deadline = Clock::now() + kAbortLimit;
    while (!done->load() && Clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const std::exception&) {
    // No thread could be started. The process ends soon, and the communicator with it.
    return;
  }
}

}  // namespace muster::bench
