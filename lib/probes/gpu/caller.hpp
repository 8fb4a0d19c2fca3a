// SPDX-License-Identifier: Apache-2.0
// Calls NVML, on threads that may hang, and converts its return codes to facts: unsupported values
// are absent, failures are unreadable, and codes that mean a faulty GPU are recorded.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/fact.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/gpu/library.hpp"

namespace muster::nvml {

class Caller {
 public:
  // Calls `calling` with a function's name before each call, and with an empty name after it.
  Caller(const Functions& functions, std::function<void(std::string_view)> calling)
      : functions_(functions), calling_(std::move(calling)) {}

  // Retries once if the driver is not ready.
  template <class Signature, class... Arguments>
  int operator()(const Function<Signature>& function, Arguments... arguments) {
    if (function.call == nullptr) return kFunctionNotFound;
    calling_(function.name);
    int code = function.call(arguments...);
    if (code == kNotReady) {
      constexpr std::chrono::milliseconds kPause{10};
      std::this_thread::sleep_for(kPause);
      code = function.call(arguments...);
    }
    calling_({});
    if (code != kOk) note(function.name, code);
    return code;
  }

  // "nvmlDeviceGetName: GPU is lost".
  template <class Signature>
  [[nodiscard]] Error error(const Function<Signature>& function, int code) {
    constexpr std::array kNotOffered{kNotSupported, kFunctionNotFound, kVersionMismatch,
                                     kDeprecated};
    if (function.call == nullptr) {
      return {.message = fmt::format("this driver has no {}", function.names), .missing = true};
    }
    return {.message = fmt::format("{}: {}", function.name, word_for(code)),
            .missing = std::ranges::count(kNotOffered, code) > 0};
  }

  template <class T, class Signature>
  [[nodiscard]] Fact<T> fact(const Function<Signature>& function, int code, T value) {
    if (code == kOk) return value;
    return Fact<T>::failed(error(function, code));
  }

  // Returns the value that the function writes to its last argument.
  template <class Raw, class Signature, class... Arguments>
  [[nodiscard]] Fact<Raw> value(const Function<Signature>& function, Arguments... arguments) {
    Raw raw{};
    const int code = (*this)(function, arguments..., &raw);
    return fact(function, code, raw);
  }

  // Returns the text that the function writes to a buffer; most functions also take its size.
  template <std::size_t Size, class... Parameters, class... Arguments>
  [[nodiscard]] Fact<std::string> text(const Function<int(Parameters...)>& function,
                                       Arguments... arguments) {
    std::array<char, Size + 1> buffer{};
    int code = kOk;
    if constexpr (sizeof...(Parameters) == sizeof...(Arguments) + 2) {
      code = (*this)(function, arguments..., buffer.data(), static_cast<unsigned>(Size));
    } else {
      code = (*this)(function, arguments..., buffer.data());
    }
    return fact(function, code, printable(buffer.data(), Size));
  }

  // NVML's text for a code.
  [[nodiscard]] std::string word_for(int code) {
    calling_(functions_.error_string.name);
    const char* word = functions_.error_string.call(code);
    calling_({});
    return fmt::format("{} ({})", printable(word == nullptr ? "no word for it" : word, 80), code);
  }

  // The call that found the GPU lost, with NVML's text; empty if none has.
  [[nodiscard]] const std::string& lost() const { return lost_; }

  // Codes that are faults of the GPU, each once.
  [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  void note(std::string_view name, int code) {
    constexpr std::array kFaults{kInsufficientPower, kIrqIssue, kCorruptedInforom, kResetRequired};
    if (code == kGpuIsLost) {
      if (lost_.empty()) lost_ = fmt::format("{}: {}", name, word_for(code));
    } else if (std::ranges::count(kFaults, code) > 0 && std::ranges::count(faults_, code) == 0) {
      faults_.push_back(code);
      troubles_.push_back(fmt::format("{}: {}", name, word_for(code)));
    }
  }

  const Functions& functions_;
  std::function<void(std::string_view)> calling_;
  std::string lost_;
  std::vector<int> faults_;
  std::vector<std::string> troubles_;
};

// A GPU, and the means to query NVML about it.
struct QueriedGpu {
  const Functions& functions;
  Caller& call;
  Device handle;

  template <class Raw, class Signature, class... Arguments>
  [[nodiscard]] Fact<Raw> number(const Function<Signature>& function,
                                 Arguments... arguments) const {
    return call.value<Raw>(function, handle, arguments...);
  }

  // Queries all fields in one call; each has its own return code.
  void query(std::span<FieldValue> fields) const;

  [[nodiscard]] Fact<std::uint64_t> answer(const FieldValue& field) const;
};

// A fact in another type.
template <class To, class From>
[[nodiscard]] Fact<To> as(const Fact<From>& from) {
  if (from) return static_cast<To>(*from);
  return from.is_absent() ? Fact<To>::absent(from.why()) : Fact<To>::unreadable(from.why());
}

// The facts of a worker so far. They are copied in and out, so that a hung worker holds no lock.
template <class Facts>
class Watched {
 public:
  explicit Watched(Facts facts) : facts_(std::move(facts)) {}

  // Records that a call begins, or has ended if `name` is empty.
  void calling(std::string_view name) {
    const std::lock_guard lock(guard_);
    calling_ = name;
  }

  void publish(const Facts& facts) {
    const std::lock_guard lock(guard_);
    facts_ = facts;
  }

  void finish() {
    const std::lock_guard lock(guard_);
    done_ = true;
    changed_.notify_all();
  }

  // Returns the facts at the deadline and the call that did not return, or no call if the worker
  // has finished.
  [[nodiscard]] std::pair<Facts, std::string_view> wait(Clock::time_point deadline) {
    std::unique_lock lock(guard_);
    const bool done = changed_.wait_until(lock, deadline, [&] { return done_; });
    constexpr std::string_view kBetween = "muster's own work";
    if (done) return {facts_, {}};
    return {facts_, calling_.empty() ? kBetween : calling_};
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  Facts facts_;
  std::string_view calling_;
  bool done_ = false;
};

// `work` may outlive its caller, so it must own everything it uses.
template <class Facts>
std::shared_ptr<Watched<Facts>> start_watched(Facts facts,
                                              std::function<void(Watched<Facts>&)> work) {
  auto watched = std::make_shared<Watched<Facts>>(std::move(facts));
  std::thread([watched, work = std::move(work)] {
    work(*watched);
    watched->finish();
  }).detach();
  return watched;
}

}  // namespace muster::nvml
