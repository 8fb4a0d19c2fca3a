// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/nvml/answers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::fakes {
namespace {

std::filesystem::path scenario_file() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): variables do not change
  if (const char* named = std::getenv("MUSTER_FAKE_NVML"); named != nullptr) return named;
  Dl_info self{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): any address of this library
  if (dladdr(reinterpret_cast<void*>(&scenario_file), &self) == 0) return "scenario";
  return std::filesystem::path(self.dli_fname).parent_path() / "scenario";
}

struct State {
  std::mutex guard;
  int initialised = 0;
  Script scenario;
  std::array<nvml::DeviceHandle, kMaxGpus> handles;
};

// Never destroyed: calls that hang outlive main.
State& state() {
  static State& the_one = *new State;
  return the_one;
}

// Null without a scenario. A wrong one aborts: an error of NVML might be what the test expects.
Script read_scenario() {
  std::ifstream file(scenario_file());
  if (!file) return nullptr;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto scenario = parse_scenario(text);
  if (scenario) return std::make_shared<const Scenario>(std::move(*scenario));
  fmt::print(stderr, "fake NVML: {}: {}\n", scenario_file().string(), scenario.error().message);
  std::abort();
}

}  // namespace

int start() {
  const Script scenario = read_scenario();
  if (!scenario) return nvml::kUnknownError;
  if (const auto code = obstacle(*scenario, "nvmlInit_v2", std::nullopt)) return *code;
  const std::lock_guard lock(state().guard);
  state().scenario = scenario;
  ++state().initialised;
  return nvml::kOk;
}

int stop() {
  const std::lock_guard lock(state().guard);
  if (state().initialised == 0) return kUninitialised;
  --state().initialised;
  return nvml::kOk;
}

Script script() {
  const std::lock_guard lock(state().guard);
  return state().initialised == 0 ? nullptr : state().scenario;
}

std::optional<int> obstacle(const Scenario& scenario, std::string_view call,
                            std::optional<unsigned> gpu) {
  if (scenario.hangs_in(call, gpu)) {
    for (;;) ::pause();
  }
  return scenario.answer(call, gpu);
}

nvml::Device handle_of(unsigned index) { return &state().handles.at(index); }

std::optional<unsigned> index_of(const Scenario& scenario, nvml::Device device) {
  for (unsigned i = 0; i < scenario.nvml.gpus.size(); ++i) {
    if (handle_of(i) == device) return i;
  }
  return std::nullopt;
}

int give_text(const Fact<std::string>& fact, char* out, unsigned size) {
  if (out == nullptr) return kInvalidArgument;
  if (!fact) return code_of(fact);
  if (fact->size() + 1 > size) return nvml::kInsufficientSize;
  std::memcpy(out, fact->c_str(), fact->size() + 1);
  return nvml::kOk;
}

nvml::PciInfo pci_of(std::string_view address) {
  nvml::PciInfo info{};
  const auto parts = split(address, ':');
  if (parts.size() != 3) return info;
  info.domain = static_cast<unsigned>(parse_hex(parts[0]).value_or(0));
  info.bus = static_cast<unsigned>(parse_hex(parts[1]).value_or(0));
  info.device = static_cast<unsigned>(parse_hex(parts[2].substr(0, 2)).value_or(0));
  const auto id = fmt::format("{:08X}:{:02X}:{:02X}.0", info.domain, info.bus, info.device);
  std::memcpy(info.bus_id.data(), id.c_str(), id.size() + 1);
  return info;
}

}  // namespace muster::fakes
