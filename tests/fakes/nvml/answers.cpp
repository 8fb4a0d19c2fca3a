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
#include <utility>

#include "lib/base/text.hpp"

namespace muster::fakes {
namespace {

std::filesystem::path scenario_file() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables meanwhile
  if (const char* named = std::getenv("MUSTER_FAKE_NVML"); named != nullptr) return named;
  Dl_info self{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): any address of this library
  if (dladdr(reinterpret_cast<void*>(&scenario_file), &self) == 0) return "scenario";
  return std::filesystem::path(self.dli_fname).parent_path() / "scenario";
}

}  // namespace

State& state() {
  static State the_one;
  return the_one;
}

bool load_scenario() {
  std::ifstream file(scenario_file());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto scenario = parse_scenario(text);
  if (!scenario) {
    fmt::print(stderr, "fake NVML: {}: {}\n", scenario_file().string(), scenario.error().message);
    return false;
  }
  state().scenario = std::move(*scenario);
  return true;
}

std::optional<int> obstacle(std::string_view call, std::optional<unsigned> gpu) {
  const auto& scenario = state().scenario;
  if (scenario.hangs_in(call, gpu)) {
    for (;;) ::pause();
  }
  return scenario.answer(call, gpu);
}

std::optional<int> system_obstacle(std::string_view call) {
  if (state().initialised == 0) return kUninitialised;
  return obstacle(call, std::nullopt);
}

std::optional<unsigned> index_of(nvml::Device device) {
  const auto& handles = state().handles;
  for (unsigned i = 0; i < state().scenario.nvml.gpus.size(); ++i) {
    if (&handles.at(i) == device) return i;
  }
  return std::nullopt;
}

const Gpu& gpu_at(unsigned index) { return state().scenario.nvml.gpus.at(index); }

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
