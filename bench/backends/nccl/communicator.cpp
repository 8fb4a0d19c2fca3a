// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/communicator.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "bench/backends/nccl/errors.hpp"
#include "bench/backends/nccl/names.hpp"

namespace muster::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

// NCCL is known to hang in both; the process goes on to its end without it.
constexpr auto kLeavingLimit = std::chrono::seconds(10);
constexpr auto kAbortLimit = std::chrono::seconds(1);

void* address(cuda::Pointer memory) {
  return reinterpret_cast<void*>(memory);  // NOLINT(performance-no-int-to-ptr): as NCCL takes it
}

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

Result<void> Communicator::join(const std::string& id, bool blocking) {
  nccl::UniqueId unique{};
  if (id.size() != unique.bytes.size()) {
    return make_error(
        fmt::format("NCCL's unique id has {} bytes, not {}", id.size(), unique.bytes.size()));
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
  return settle(what, code);
}

int Communicator::state(int& asked) {
  const std::scoped_lock lock(asking_);
  if (given_up_.load() || handle_.load() == nullptr) return nccl::kSuccess;
  return library_.async_error.call(handle_.load(), &asked);
}

Result<void> Communicator::settle(std::string_view what, int code) {
  int state_now = code;
  const auto begin = SteadyClock::now();
  while (state_now == nccl::kInProgress) {
    if (given_up_.load()) return make_error(fmt::format("{}: given up", what));
    code = state(state_now);
    if (code != nccl::kSuccess) state_now = code;
    if (SteadyClock::now() - begin > std::chrono::milliseconds(1)) std::this_thread::yield();
  }
  if (given_up_.load()) return make_error(fmt::format("{}: given up", what));
  if (state_now == nccl::kSuccess) return {};
  failed_ = true;
  return tl::unexpected(trouble(library_, what, state_now, handle_.load()));
}

Result<void> Communicator::healthy() {
  if (given_up_.load()) return make_error("NCCL's communicator was given up");
  int state_now = nccl::kSuccess;
  const int code = state(state_now);
  if (code != nccl::kSuccess) state_now = code;
  if (state_now == nccl::kSuccess || state_now == nccl::kInProgress) return {};
  failed_ = true;
  return tl::unexpected(
      trouble(library_, "NCCL reports an error while it works", state_now, handle_.load()));
}

Result<void> Communicator::enqueue(const Operation& operation,
                                   const Shape& shape,
                                   const Buffers& buffers,
                                   cuda::Stream stream) {
  if (given_up_.load()) return make_error("NCCL's communicator was given up");
  return settle(to_string(operation.collective), call(operation, shape, buffers, stream));
}

int Communicator::call(const Operation& operation,
                       const Shape& shape,
                       const Buffers& buffers,
                       cuda::Stream stream) {
  const void* send = address(buffers.send);
  void* receive = address(buffers.receive);
  const int type = nccl::type_of(operation.type);
  const int reduction = nccl::reduction_of(operation.reduction);
  auto* handle = handle_.load();
  switch (operation.collective) {
    case Collective::all_reduce:
      return library_.all_reduce.call(send, receive, shape.count, type, reduction, handle, stream);
    case Collective::all_gather:
      return library_.all_gather.call(send, receive, shape.count, type, handle, stream);
    case Collective::reduce_scatter:
      return library_.reduce_scatter.call(
          send, receive, shape.count, type, reduction, handle, stream);
    case Collective::broadcast:
      return library_.broadcast.call(
          send, receive, shape.count, type, operation.root, handle, stream);
    case Collective::reduce:
      return library_.reduce.call(
          send, receive, shape.count, type, reduction, operation.root, handle, stream);
    case Collective::alltoall:
    case Collective::sendrecv:
    case Collective::gather:
    case Collective::scatter:
      return call_in_parts(operation, shape, buffers, stream);
  }
  return nccl::kInvalidArgument;
}

// NCCL before 2.28 has no functions for these, and makes them of sends and receives in one group,
// as programs do.
int Communicator::call_in_parts(const Operation& operation,
                                const Shape& shape,
                                const Buffers& buffers,
                                cuda::Stream stream) {
  const int type = nccl::type_of(operation.type);
  const std::uint64_t part = shape.count * size_of(operation.type);
  int failed = library_.group_start.call();
  const auto note = [&](int code) {
    if (failed == nccl::kSuccess && code != nccl::kInProgress) failed = code;
  };
  const auto send = [&](int peer, std::uint64_t index) {
    note(library_.send.call(
        address(buffers.send + index * part), shape.count, type, peer, handle_.load(), stream));
  };
  const auto receive = [&](int peer, std::uint64_t index) {
    note(library_.receive.call(
        address(buffers.receive + index * part), shape.count, type, peer, handle_.load(), stream));
  };
  const bool is_root = rank_ == operation.root;
  switch (operation.collective) {
    case Collective::alltoall:
      for (int peer = 0; peer < ranks_; ++peer) {
        send(peer, static_cast<std::uint64_t>(peer));
        receive(peer, static_cast<std::uint64_t>(peer));
      }
      break;
    case Collective::gather:
      send(operation.root, 0);
      for (int peer = 0; is_root && peer < ranks_; ++peer) {
        receive(peer, static_cast<std::uint64_t>(peer));
      }
      break;
    case Collective::scatter:
      for (int peer = 0; is_root && peer < ranks_; ++peer) {
        send(peer, static_cast<std::uint64_t>(peer));
      }
      receive(operation.root, 0);
      break;
    default:
      send((rank_ + 1) % ranks_, 0);
      receive((rank_ + ranks_ - 1) % ranks_, 0);
  }
  const int ended = library_.group_end.call();
  return failed == nccl::kSuccess ? ended : failed;
}

void Communicator::leave() {
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

// On a thread of its own, since NCCL may hang in it; the thread is left behind then.
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
    // No thread could be started. The process ends right after, and takes the communicator along.
    return;
  }
}

}  // namespace muster::bench
