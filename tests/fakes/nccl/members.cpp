// SPDX-License-Identifier: Apache-2.0
// Communicators of the fake NCCL: how ranks join.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "tests/fakes/nccl/library.hpp"

namespace muster::fakes::gpu {
namespace {

namespace nccl = bench::nccl;
using nccl::Communicator;
using nccl::UniqueId;

#ifdef MUSTER_FAKE_OLD
constexpr bool kOld = true;
#else
constexpr bool kOld = false;
#endif

constexpr std::string_view kPrefix = "/proc/";

Seat& seat_of(const Member& member, int rank) {
  return member.meeting->seats.at(static_cast<std::size_t>(rank));
}

// Checks that the ranks fit together, once all have arrived.
void join(Member& member) {
  for (int rank = 0; rank < member.writer.ranks; ++rank) {
    if (seat_of(member, rank).taken.load(std::memory_order_acquire) != 2) return;
  }
  if (member.asks_left > 0) {
    --member.asks_left;
    return;
  }
  const auto& apart = scenario().apart;
  if (apart && ranks_on(member, apart->first) > 0 && ranks_on(member, apart->second) > 0) return;
  const auto& own = seat_of(member, member.writer.rank);
  for (int rank = 0; rank < member.writer.ranks; ++rank) {
    const auto& seat = seat_of(member, rank);
    if (seat.ranks != member.writer.ranks) {
      return fail(member, nccl::kInvalidUsage, "the ranks do not agree on how many they are");
    }
    if (rank != member.writer.rank && seat.host == own.host && seat.gpu == own.gpu) {
      return fail(
          member, nccl::kInvalidUsage,
          fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {:x}",
                      member.writer.rank, rank, own.gpu + 1));
    }
  }
  member.joined = true;
  log_begin(member.writer);
  const char* asked = std::getenv("NCCL_RUN_DIAGNOSTICS");  // NOLINT(concurrency-mt-unsafe)
  if (asked == nullptr || version() < 23100 || member.writer.rank != 0) return;
  for (const auto& line : scenario().diagnosis) std::printf("%s\n", line.c_str());
}

// In a communicator of some ranks the scenario's list of hosts is not valid: uses the number at the
// end of the node's name.
int own_host(int rank) {
  const char* name =
      std::getenv("MUSTER_HOSTNAME");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  const std::string_view text = name == nullptr ? "" : name;
  const auto digits = text.substr(text.find_last_not_of("0123456789") + 1);
  const bool says = scenario().hosts.empty() && !digits.empty() && digits != text;
  return says ? std::stoi(std::string(digits)) : scenario().host_of(rank);
}

// Null if the id is not that of a living process.
Meeting* join_meeting(const bench::nccl::UniqueId& id) {
  if (id.bytes.back() != '\0' || !std::string_view(id.bytes.data()).starts_with(kPrefix)) {
    return nullptr;
  }
  const Descriptor file(::open(id.bytes.data(), O_RDWR | O_CLOEXEC));
  if (!file.is_open()) return nullptr;
  void* memory =
      ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast,performance-no-int-to-ptr): the macro's
  if (memory == MAP_FAILED) return nullptr;
  return static_cast<Meeting*>(memory);
}

}  // namespace

bool open_meeting(bench::nccl::UniqueId& id) {
  const int file = ::memfd_create("muster-fake-nccl", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, sizeof(Meeting)) != 0) return false;
  const auto path = fmt::format("{}{}/fd/{}", kPrefix, ::getpid(), file);
  id.bytes.fill('\0');
  std::memcpy(id.bytes.data(), path.data(), path.size());
  return true;
}

void leave_meeting(Meeting* meeting) { ::munmap(meeting, sizeof(Meeting)); }

int version() { return kOld ? 2804 : scenario().nccl_version; }

Library& library() {
  static Library one;
  return one;
}

std::shared_ptr<Member> find(Communicator handle) {
  const auto found = library().members.find(handle);
  return found == library().members.end() ? nullptr : found->second;
}

int refuse(int code, std::string text) {
  library().last_error = std::move(text);
  return code;
}

void progress(Member& member) {
  if (member.error != 0) return;
  if (!member.joined) return join(member);
  if (member.begun.empty()) return;
  if (member.asks_left > 0) {
    --member.asks_left;
    return;
  }
  const int code = member.begun.front()();
  member.begun.pop_front();
  if (code != nccl::kSuccess) fail(member, nccl::kUnhandledCuda, "the stream cannot be used");
}

int state_of(const Member& member) {
  if (member.error != 0) return member.error;
  return member.joined && member.begun.empty() ? nccl::kSuccess : nccl::kInProgress;
}

int begin(Communicator* made, int ranks, const UniqueId& id, int rank, bool blocking) {
  if (made == nullptr) return nccl::kInvalidArgument;
  if (ranks < 1 || ranks > static_cast<int>(kMaxRanks) || rank < 0 || rank >= ranks) {
    return refuse(nccl::kInvalidArgument,
                  fmt::format("Invalid rank requested : {}/{}", rank, ranks));
  }
  if (current_gpu() < 0) return refuse(nccl::kUnhandledCuda, "no context is current");
  auto* meeting = join_meeting(id);
  if (meeting == nullptr) return refuse(nccl::kSystem, "the unique id leads nowhere");
  auto member = std::make_shared<Member>();
  member->writer = {.rank = rank, .ranks = ranks, .gpu = current_gpu()};
  member->meeting = meeting;
  member->blocking = blocking;
  member->asks_left = 2;
  if (scenario().absent != rank) {
    auto& seat = seat_of(*member, rank);
    if (seat.taken.exchange(1) != 0) {
      return refuse(nccl::kInvalidUsage, fmt::format("rank {} is there twice", rank));
    }
    seat.ranks = ranks;
    seat.host = own_host(rank);
    seat.gpu = current_gpu();
    seat.taken.store(2, std::memory_order_release);
    log_arrival(member->writer);
  }
  *made = reinterpret_cast<Communicator>(member.get());
  library().members[*made] = std::move(member);
  return nccl::kInProgress;
}

int wait_for(Communicator handle) {
  for (;;) {
    {
      const std::scoped_lock guard(lock());
      const auto member = find(handle);
      if (member == nullptr) return nccl::kInvalidArgument;
      progress(*member);
      if (state_of(*member) != nccl::kInProgress) return state_of(*member);
    }
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace muster::fakes::gpu
