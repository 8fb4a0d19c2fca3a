// SPDX-License-Identifier: Apache-2.0
// A section of a snapshot: the result of one probe.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"

namespace muster {

enum class Status {
  ok,       // the probe completed; single facts may be missing, each with its reason
  absent,   // there is nothing to observe (no RDMA stack, a foreign root …)
  timeout,  // the probe did not answer in time
  error,    // the probe crashed, or could not read what it needs
};

inline constexpr std::array<std::string_view, 4> kStatusWords{"ok", "absent", "timeout", "error"};

constexpr const auto& json_words(Status /*type*/) { return kStatusWords; }

[[nodiscard]] constexpr std::string_view to_string(Status status) {
  return kStatusWords.at(static_cast<std::size_t>(status));
}

inline constexpr std::string_view kNotObserved = "not observed";

template <class T>
struct Section {
  Status status = Status::absent;
  std::string reason{kNotObserved};  // empty if ok
  double duration_ms = 0;
  T facts{};

  [[nodiscard]] bool ok() const { return status == Status::ok; }

  // False if its probe was not run.
  [[nodiscard]] bool asked() const { return status != Status::absent || reason != kNotObserved; }

  const T* operator->() const { return &facts; }

  T* operator->() { return &facts; }

  const T& operator*() const { return facts; }

  bool operator==(const Section&) const = default;
};

// The section of a probe that completed.
template <class T>
[[nodiscard]] Section<T> observed(T facts) {
  return {.status = Status::ok, .reason = {}, .duration_ms = 0, .facts = std::move(facts)};
}

// In JSON a section has "reason" only if it has one, and "facts" only if it is ok.
template <class T>
void write_json(JsonWriter& json, const Section<T>& section) {
  json.begin_object(4);
  json.member("status", section.status);
  if (!section.reason.empty()) json.member("reason", section.reason);
  json.member("duration_ms", section.duration_ms);
  if (section.ok()) json.member("facts", section.facts);
}

template <class T>
void read_json(const JsonReader& json, Section<T>& section) {
  if (!json.expect_object()) return;
  section = {.status = Status::error, .reason = {}};
  json.member("status", section.status);
  json.member("reason", section.reason);
  json.member("duration_ms", section.duration_ms);
  if (section.ok()) json.member("facts", section.facts);
}

}  // namespace muster
