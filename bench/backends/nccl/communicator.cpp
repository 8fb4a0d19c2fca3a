// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/communicator.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "bench/backends/nccl/library.hpp"
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

// NCCL may hang in both; the process then ends without it.
constexpr auto kLeavingLimit = std::chrono::seconds(10);
constexpr auto kAbortLimit = std::chrono::seconds(1);

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

class Calls final : public NcclCalls {
 public:
  Calls(const nccl::Library& library, const Participant& self, const OperationRun& run,
        nccl::Communicator handle, cuda::Stream stream)
      : NcclCalls(self),
        library_(library),
        run_(run),
        handle_(handle),
        stream_(stream),
        type_(kNcclTypes.at(static_cast<std::size_t>(run.operation.type))),
        reduction_(kNcclReductions.at(static_cast<std::size_t>(run.operation.reduction))),
        part_(run.shape.count * size_of(run.operation.type)) {}

  int all_reduce() override {
    return library_.all_reduce.call(sent(), received(), run_.shape.count, type_, reduction_,
                                    handle_, stream_);
  }

  int all_gather() override {
    return library_.all_gather.call(sent(), received(), run_.shape.count, type_, handle_, stream_);
  }

  int reduce_scatter() override {
    return library_.reduce_scatter.call(sent(), received(), run_.shape.count, type_, reduction_,
                                        handle_, stream_);
  }

  int broadcast() override {
    return library_.broadcast.call(sent(), received(), run_.shape.count, type_, root, handle_,
                                   stream_);
  }

  int reduce() override {
    return library_.reduce.call(sent(), received(), run_.shape.count, type_, reduction_, root,
                                handle_, stream_);
  }

  void send(int peer, Stretch parts) override { give(peer, run_.send, parts); }

  void send_on(int peer, Stretch parts) override { give(peer, run_.receive, parts); }

  void receive(int peer, Stretch parts) override {
    note(library_.receive.call(address(run_.receive + parts.first * part_),
                               parts.count * run_.shape.count, type_, peer, handle_, stream_));
  }

  [[nodiscard]] bool in_place() const override { return run_.operation.in_place; }

  void begin_group() { failed_ = library_.group_start.call(); }

  [[nodiscard]] int end_group() {
    const int ended = library_.group_end.call();
    return failed_ == nccl::kSuccess ? ended : failed_;
  }

 private:
  void note(int code) {
    if (failed_ == nccl::kSuccess && code != nccl::kInProgress) failed_ = code;
  }

  void give(int peer, cuda::Pointer buffer, Stretch parts) {
    note(library_.send.call(address(buffer + parts.first * part_), parts.count * run_.shape.count,
                            type_, peer, handle_, stream_));
  }

  [[nodiscard]] void* sent() const { return address(run_.send); }

  [[nodiscard]] void* received() const { return address(run_.receive); }

  const nccl::Library& library_;
  const OperationRun& run_;
  nccl::Communicator handle_;
  cuda::Stream stream_;
  int type_;
  int reduction_;
  std::uint64_t part_;  // bytes
  int failed_ = nccl::kSuccess;
};

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
  const int code = library_.unique_id.call(&id);
  if (code != nccl::kSuccess) {
    return tl::unexpected(trouble(library_, library_.unique_id.name, code, nullptr));
  }
  return std::string(id.bytes.data(), id.bytes.size());
}

Result<void> Communicator::join(const std::string& id, bool blocking,
                                std::optional<std::chrono::nanoseconds> limit) {
  const auto until = limit ? SteadyClock::now() + *limit : SteadyClock::time_point::max();
  nccl::UniqueId unique{};
  if (id.size() != unique.bytes.size()) {
    return make_error(
        fmt::format("NCCL's unique id: {} bytes, expected {}", id.size(), unique.bytes.size()));
  }
  std::memcpy(unique.bytes.data(), id.data(), id.size());
  nccl::Communicator made = nullptr;
  int code = nccl::kSuccess;
  std::string_view what = library_.init.name;
  if (library_.init_config.call == nullptr) {
    code = library_.init.call(&made, ranks_, unique, rank_);
  } else {
    nccl::Config config;
    config.blocking = blocking ? 1 : 0;
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

Result<void> Communicator::wait_for_call(std::string_view what, int code,
                                         SteadyClock::time_point until) {
  int state_now = code;
  const auto begin = SteadyClock::now();
  while (state_now == nccl::kInProgress) {
    if (given_up_.load()) return make_error(fmt::format("{}: aborted", what));
    state_now = state();
    const auto now = SteadyClock::now();
    if (state_now == nccl::kInProgress && now >= until) {
      abort();
      return make_error(fmt::format("{}: the communicator did not form within its deadline", what));
    }
    if (now - begin > std::chrono::milliseconds(1)) std::this_thread::yield();
  }
  if (given_up_.load()) return make_error(fmt::format("{}: aborted", what));
  if (state_now == nccl::kSuccess) return {};
  failed_ = true;
  return tl::unexpected(trouble(library_, what, state_now, handle_.load()));
}

Result<void> Communicator::healthy() {
  if (given_up_.load()) return make_error("NCCL's communicator was aborted");
  const int state_now = state();
  if (state_now == nccl::kSuccess || state_now == nccl::kInProgress) return {};
  failed_ = true;
  return tl::unexpected(
      trouble(library_, "NCCL reports an asynchronous error", state_now, handle_.load()));
}

Result<void> Communicator::enqueue(const OperationRun& run, cuda::Stream stream, int times) {
  if (given_up_.load()) return make_error("NCCL's communicator was aborted");
  const auto name = to_string(run.operation.collective);
  if (times == 1) {
    const auto& use = definition_of(run.operation.collective).nccl;
    const int rounds = use.rounds == nullptr ? 1 : use.rounds(ranks_);
    for (int round = 0; round < rounds; ++round) {
      TRY(wait_for_call(name, call(run, stream, round)));
    }
    return {};
  }
  const auto is_fine = [](int code) { return code == nccl::kSuccess || code == nccl::kInProgress; };
  int begun = library_.group_start.call();
  for (int i = 0; i < times && is_fine(begun); ++i) {
    begun = call(run, stream);
  }
  const int ended = library_.group_end.call();
  return wait_for_call(name, is_fine(begun) ? ended : begun);
}

int Communicator::call(const OperationRun& run, cuda::Stream stream, int round) {
  const Participant self{.rank = rank_, .ranks = ranks_, .root = run.operation.root};
  Calls calls(library_, self, run, handle_.load(), stream);
  const auto& use = definition_of(run.operation.collective).nccl;
  if (use.call != nullptr) return (calls.*use.call)();
  // NCCL before 2.28 has no functions for these: programs use sends and receives in one group.
  calls.round = round;
  calls.begin_group();
  use.sends(calls);
  return calls.end_group();
}

Result<void> Communicator::register_memory(cuda::Pointer memory, std::uint64_t bytes) {
  void* registered = nullptr;
  const auto& call = library_.register_memory;
  const int code = call.call(handle_.load(), address(memory), bytes, &registered);
  if (code != nccl::kSuccess) {
    return tl::unexpected(trouble(library_, call.name, code, handle_.load()));
  }
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
    const auto deadline = SteadyClock::now() + kLeavingLimit;
    while (state_now == nccl::kInProgress && SteadyClock::now() < deadline) {
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
    const auto deadline = SteadyClock::now() + kAbortLimit;
    while (!done->load() && SteadyClock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const std::exception&) {
    // No thread could be started. The process ends soon, and the communicator with it.
    return;
  }
}

}  // namespace muster::bench
