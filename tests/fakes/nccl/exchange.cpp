// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>

#include "tests/fakes/nccl/library.hpp"

namespace muster::fakes::gpu {
namespace {

namespace nccl = bench::nccl;

// A call on this rank.
class Execution {
 public:
  Execution(std::shared_ptr<Member> member, Call call)
      : member_(std::move(member)), call_(std::move(call)) {}

  bool advance(Time& now) {
    if (member_->given_up) return true;
    if (member_->error != 0) return false;
    if (!numbered_) number_ = member_->executed++;
    numbered_ = true;
    if (!published_ && !publish(now)) return false;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (seat(rank).arrived.load(std::memory_order_acquire) <= number_) return false;
    }
    return finish(now);
  }

 private:
  [[nodiscard]] int ranks() const { return member_->writer.ranks; }

  [[nodiscard]] int own() const { return member_->writer.rank; }

  [[nodiscard]] Seat& seat(int rank) const {
    return member_->meeting->seats.at(static_cast<std::size_t>(rank));
  }

  [[nodiscard]] Slot& slot(int rank) const {
    return member_->meeting->slots.at(number_ % 2).at(static_cast<std::size_t>(rank));
  }

  [[nodiscard]] int count(int host, std::optional<int> gpu = {}) const {
    return ranks_on(*member_, host, gpu);
  }

  // The parts that a rank sends.
  [[nodiscard]] std::span<const Part> parts_of(int rank) const {
    return std::span<const Part>(slot(rank).part).first(slot(rank).parts);
  }

  // The share of the bandwidth that a slow part leaves.
  [[nodiscard]] double share() const {
    const auto& part = scenario().slow_part;
    if (!part) return 1;
    const bool crosses = count(part->host) < ranks();
    const bool uses = part->of == SlowKind::links ? count(part->host) > 1
                                                  : count(part->host, part->gpu) > 0 &&
                                                        (part->of == SlowKind::gpu || crosses);
    return uses ? part->share : 1;
  }

  // Publishes this rank's data; false while it hangs or others still read the slot.
  bool publish(Time now) {
    const auto& faults = scenario();
    if (faults.dies && seat(own()).host == *faults.dies && count(*faults.dies) < ranks()) {
      ::kill(::getpid(), SIGKILL);
    }
    if (faults.hang && faults.hang->is(own(), number_)) return false;
    const auto& between = faults.hang_between;
    if (between && count(between->first) > 0 && count(between->second) > 0) return false;
    if (faults.async_error && faults.async_error->is(own(), number_)) {
      fail(*member_, faults.async_error->code, faults.async_error->text);
      return false;
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      if (seat(rank).finished.load(std::memory_order_acquire) + 1 < number_) return false;
    }
    auto& mine = slot(own());
    mine.request = call_.request;
    mine.ready = now;
    if (faults.slow && faults.slow->is(own(), number_)) {
      mine.ready += static_cast<Time>(faults.slow->us * 1e9);
    }
    mine.parts = call_.gifts.size();
    const auto room = call_.gifts.empty() ? 0 : kSlotBytes / call_.gifts.size() / 8 * 8;
    for (std::size_t i = 0; i < call_.gifts.size(); ++i) {
      const auto& gift = call_.gifts[i];
      auto& part = mine.part.at(i);
      part = {.peer = gift.peer,
              .bytes = gift.bytes,
              .real = std::min(real_bytes(gift.from, gift.bytes), room),
              .at = i * room};
      if (part.real > 0) std::memcpy(&mine.data.at(part.at), gift.from, part.real);
    }
    seat(own()).arrived.store(number_ + 1, std::memory_order_release);
    published_ = true;
    return true;
  }

  // All have arrived: takes this rank's data and advances the clock.
  bool finish(Time& now) {
    Time ready = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (slot(rank).request != call_.request) {
        fail(*member_, nccl::kInvalidUsage,
             fmt::format("rank {} and rank {} do not call the same operation with the same count",
                         own(), rank));
        return false;
      }
      ready = std::max(ready, slot(rank).ready);
    }
    const auto& lost = scenario().lost;
    if (!lost || !lost->is(own(), number_)) {
      if (!take()) return false;
      spoil();
    }
    now = ready + duration();
    log_operation(member_->writer, name(), call_.request.count * width());
    seat(own()).finished.store(number_ + 1, std::memory_order_release);
    return true;
  }

  [[nodiscard]] std::size_t width() const { return width_of(call_.request.type); }

  // The n-th part that a rank sends to this one.
  [[nodiscard]] const Part* part_from(int rank, std::uint64_t nth) const {
    for (const auto& part : parts_of(rank)) {
      if (part.peer != -1 && part.peer != own()) continue;
      if (nth-- == 0) return &part;
    }
    return nullptr;
  }

  bool take() {
    const bool reduces = call_.kind == Kind::all_reduce || call_.kind == Kind::reduce_scatter ||
                         call_.kind == Kind::reduce;
    std::map<int, std::uint64_t> taken;
    for (const auto& taking : call_.takings) {
      if (reduces) {
        take_reduced(taking);
      } else if (!take_copy(taking, taken[taking.peer]++)) {
        return false;
      }
    }
    return true;
  }

  void take_reduced(const Taking& taking) const {
    std::uint64_t real = taking.bytes;
    std::vector<const std::byte*> inputs;
    for (int rank = 0; rank < ranks(); ++rank) {
      const auto* part = part_from(rank, 0);
      real = std::min(real, part->real);
      inputs.push_back(slot(rank).data.data() + part->at);
    }
    const auto count = real / width();
    reduce(call_.request.type, call_.request.reduction, count, inputs, taking.to);
    written(taking.to, taking.bytes, count * width());
  }

  bool take_copy(const Taking& taking, std::uint64_t nth) {
    const auto* part = part_from(taking.peer, nth);
    if (part == nullptr || part->bytes != taking.bytes) {
      fail(*member_, nccl::kInvalidUsage,
           fmt::format("rank {} receives {} bytes from rank {}, which sends it {}", own(),
                       taking.bytes, taking.peer,
                       part == nullptr ? "none" : fmt::format("{}", part->bytes)));
      return false;
    }
    if (part->real > 0) {
      std::memcpy(taking.to, slot(taking.peer).data.data() + part->at, part->real);
    }
    written(taking.to, taking.bytes, part->real);
    return true;
  }

  void spoil() const {
    const auto& wrong = scenario().wrong;
    if (!wrong || !wrong->is(own(), number_) || call_.takings.empty()) return;
    auto at = wrong->index * width();
    for (const auto& taking : call_.takings) {
      if (at >= taking.bytes) {
        at -= taking.bytes;
        continue;
      }
      taking.to[at + width() - 1] ^= std::byte{0x80};
      touched(taking.to + at, width());
      return;
    }
  }

  // The bytes that this rank sends to others.
  [[nodiscard]] long double given() const {
    std::uint64_t bytes = 0;
    for (const auto& part : parts_of(own())) bytes += part.peer == own() ? 0 : part.bytes;
    return static_cast<long double>(bytes);
  }

  // The collective that a group of sends and receives implements.
  [[nodiscard]] std::string_view name_of_parts() const {
    std::uint64_t parts = 0;
    std::uint64_t most = 0;
    bool one_taker = true;
    const auto& first = slot(0).part.front();
    for (int rank = 0; rank < ranks(); ++rank) {
      parts += slot(rank).parts;
      most = std::max(most, slot(rank).parts);
      one_taker = one_taker && std::ranges::all_of(parts_of(rank), [&](const Part& part) {
                    return part.peer == first.peer;
                  });
    }
    const auto all = static_cast<std::uint64_t>(ranks());
    const bool equal = std::ranges::all_of(
        parts_of(0), [&](const Part& part) { return part.bytes == first.bytes; });
    if (all == 1) return "sendrecv";
    if (parts == all * all) return equal ? "alltoall" : "alltoallv";
    if (most == all) return "scatter";
    return one_taker ? "gather" : "sendrecv";
  }

  [[nodiscard]] std::string_view name() const {
    constexpr std::array<std::string_view, 5> kNames{"all_reduce", "all_gather", "reduce_scatter",
                                                     "broadcast", "reduce"};
    if (call_.kind == Kind::parts) return name_of_parts();
    return kNames.at(static_cast<std::size_t>(call_.kind));
  }

  [[nodiscard]] Time duration() const {
    const auto what = name();
    const auto n = static_cast<long double>(ranks());
    auto bytes = static_cast<long double>(call_.request.count * width());
    long double factor = 1;
    if (what == "all_reduce") {
      factor = 2 * (n - 1) / n;
    } else if (what == "alltoallv") {
      bytes = given();
    } else if (what != "broadcast" && what != "reduce" && what != "sendrecv") {
      bytes *= n;
      factor = (n - 1) / n;
    }
    const auto rate = static_cast<long double>(scenario().busbw_of(what) * share()) * 1e9L;
    const auto seconds =
        static_cast<long double>(scenario().latency_us) * 1e-6L + bytes * factor / rate;
    return static_cast<Time>(seconds * 1e15L);
  }

  std::shared_ptr<Member> member_;
  Call call_;
  std::uint64_t number_ = 0;
  bool numbered_ = false;
  bool published_ = false;
};

}  // namespace

int ranks_on(const Member& member, int host, std::optional<int> gpu) {
  int found = 0;
  for (int rank = 0; rank < member.writer.ranks; ++rank) {
    const auto& one = member.meeting->seats.at(static_cast<std::size_t>(rank));
    if (one.host == host && one.gpu == gpu.value_or(one.gpu)) ++found;
  }
  return found;
}

Work work_of(const std::shared_ptr<Member>& member, Call call) {
  return [member, call = std::move(call)]() -> Step {
    const auto execution = std::make_shared<Execution>(member, call);
    return [execution](Time& now) { return execution->advance(now); };
  };
}

void fail(Member& member, int code, std::string text) {
  member.error = code;
  member.text = std::move(text);
  log_warning(member.writer, member.text);
}

}  // namespace muster::fakes::gpu
