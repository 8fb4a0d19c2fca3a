// SPDX-License-Identifier: Apache-2.0
// The common parts of the fake NVML's functions: the scenario, errors before an answer, and answers
// from facts. The library is stricter than the real one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/node/gpu.hpp"
#include "lib/probes/gpu/abi.hpp"
#include "tests/fakes/nvml/scenario.hpp"

// NVML declares these; a fake needs no header.
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace muster::nvml {

// A handle is an index in a table.
struct DeviceHandle {
  char unused = 0;
};

}  // namespace muster::nvml

namespace muster::fakes {

inline constexpr int kUninitialised = 1;
inline constexpr int kInvalidArgument = 2;
inline constexpr std::size_t kMaxGpus = 64;

// A call keeps its scenario until it ends, even if nvmlInit reads another one; a call that hangs
// keeps it forever.
using Script = std::shared_ptr<const Scenario>;

// nvmlInit and nvmlShutdown; they return its codes.
int start();
int stop();

// Null before nvmlInit.
Script script();

// The error that a call returns instead of an answer, if any.
std::optional<int> obstacle(const Scenario& scenario, std::string_view call,
                            std::optional<unsigned> gpu);

nvml::Device handle_of(unsigned index);
std::optional<unsigned> index_of(const Scenario& scenario, nvml::Device device);

// Runs `answer` with the facts about the driver, unless there is an error.
template <class Answer>
int on_driver(std::string_view call, Answer answer) {
  const Script scenario = script();
  if (!scenario) return kUninitialised;
  if (const auto code = obstacle(*scenario, call, std::nullopt)) return *code;
  return answer(scenario->nvml);
}

// Runs `answer` with the GPU's facts, unless there is an error.
template <class Answer>
int on(std::string_view call, nvml::Device device, Answer answer) {
  const Script scenario = script();
  if (!scenario) return kUninitialised;
  const auto index = index_of(*scenario, device);
  if (!index) return kInvalidArgument;
  if (const auto code = obstacle(*scenario, call, *index)) return *code;
  const Gpu& gpu = scenario->nvml.gpus.at(*index);
  if (!gpu.lost.empty()) return nvml::kGpuIsLost;
  return answer(gpu);
}

template <class T>
int code_of(const Fact<T>& fact) {
  if (fact) return nvml::kOk;
  return fact.is_absent() ? nvml::kNotSupported : nvml::kUnknownError;
}

template <class T, class Raw>
int give(const Fact<T>& fact, Raw* out) {
  if (out == nullptr) return kInvalidArgument;
  if (fact) *out = static_cast<Raw>(*fact);
  return code_of(fact);
}

// Writes what `convert` makes of the fact's value.
template <class T, class Raw, class Convert>
int give(const Fact<T>& fact, Raw* out, Convert convert) {
  if (out == nullptr) return kInvalidArgument;
  if (fact) *out = convert(*fact);
  return code_of(fact);
}

// Whether a versioned struct is the expected one: kOk, or an error.
template <class Raw>
int check_version(const Raw* out, unsigned version) {
  if (out == nullptr) return kInvalidArgument;
  return out->version == nvml::version_word<Raw>(version) ? nvml::kOk : nvml::kVersionMismatch;
}

int give_text(const Fact<std::string>& fact, char* out, unsigned size);

nvml::PciInfo pci_of(std::string_view address);

}  // namespace muster::fakes
