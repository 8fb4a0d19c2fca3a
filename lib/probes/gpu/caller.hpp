// SPDX-License-Identifier: Apache-2.0
// Calls NVML and converts its return codes to facts: unsupported values are absent, failures are
// unreadable, and codes that mean a faulty GPU are recorded.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

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

}  // namespace muster::nvml
