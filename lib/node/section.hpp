// SPDX-License-Identifier: Apache-2.0
// One section of a snapshot: what one probe saw, and whether it could see at all.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace muster {

enum class Status {
  ok,       // the probe ran to its end; single facts may still be missing, each with its reason
  absent,   // this place has no such thing to observe (no RDMA stack, a foreign root …)
  timeout,  // the probe did not answer in time: a finding of its own
  error,    // the probe crashed, or what it needs could not be read
};

[[nodiscard]] std::string_view to_string(Status status);

inline constexpr std::string_view kNotObserved = "not observed";

template <class T>
struct Section {
  Status status = Status::absent;
  std::string reason{kNotObserved};  // empty when ok
  double duration_ms = 0;
  T facts{};

  [[nodiscard]] bool ok() const { return status == Status::ok; }

  // False where no probe was run for it.
  [[nodiscard]] bool asked() const { return status != Status::absent || reason != kNotObserved; }

  const T* operator->() const { return &facts; }

  T* operator->() { return &facts; }

  const T& operator*() const { return facts; }

  bool operator==(const Section&) const = default;
};

// What a probe returns when it could observe.
template <class T>
[[nodiscard]] Section<T> observed(T facts) {
  return {.status = Status::ok, .reason = {}, .duration_ms = 0, .facts = std::move(facts)};
}

}  // namespace muster
