// SPDX-License-Identifier: Apache-2.0
// An NVML with arbitrary answers and an arbitrary `nvml` section: GPUs are read, written, read
// again and judged, and every check has a finding.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "checks/run.hpp"
#include "lib/probes/gpu/reader.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster {
namespace {

using nvml::Device;

// The rest of the input; global because NVML's functions have no context.
std::string_view& input() {
  static std::string_view rest;
  return rest;
}

std::uint8_t next_byte() {
  if (input().empty()) return 0;
  const auto byte = static_cast<std::uint8_t>(input().front());
  input().remove_prefix(1);
  return byte;
}

// Zeros after the end.
void fill(void* out, std::size_t size) {
  const auto count = std::min(size, input().size());
  std::memset(out, 0, size);
  if (count > 0) std::memcpy(out, input().data(), count);
  input().remove_prefix(count);
}

// Half of the calls succeed.
int next_code() {
  constexpr std::array kCodes{3, 4, 7, 8, 13, 14, 15, 16, 25, 26, 27, 999, -1};
  const auto byte = next_byte();
  return byte % 2 == 0 ? 0 : kCodes.at(byte / 2 % kCodes.size());
}

template <class T>
void answer_one(T* out) {
  if (out != nullptr) fill(out, sizeof(T));
}

void answer_one(Device* out) {
  static std::uint8_t somewhere = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a handle is never looked into
  *out = reinterpret_cast<Device>(&somewhere);
}

void answer_one(Device /*device*/) {}

void answer_one(int /*argument*/) {}

void answer_one(unsigned /*argument*/) {}

// The general form: arbitrary bytes behind every pointer.
template <class... Arguments>
int anything(Arguments... arguments) {
  (answer_one(arguments), ...);
  return next_code();
}

// Calls with a length: never more than fits, and not always zero-terminated.
int any_text(Device /*device*/, char* out, unsigned size) {
  fill(out, size);
  return next_code();
}

int any_firmware(Device /*device*/, char* out) {
  constexpr std::size_t kLength = 80;
  fill(out, kLength);
  return next_code();
}

int any_fields(Device /*device*/, int count, nvml::FieldValue* fields) {
  for (auto& field : std::span(fields, static_cast<std::size_t>(count))) {
    fill(&field.type, sizeof field.type);
    field.type %= 8;
    field.code = next_code();
    fill(&field.value, sizeof field.value);
  }
  return next_code();
}

template <class Entry>
int any_processes(Device /*device*/, unsigned* count, Entry* out) {
  const unsigned room = *count;
  fill(count, sizeof *count);
  for (auto& entry : std::span(out, std::min(room, *count % 8))) fill(&entry, sizeof entry);
  return next_code();
}

const char* any_word(int /*code*/) {
  return next_byte() % 2 == 0 ? "a word \x1b[2J\n\xff" : nullptr;
}

template <class... Arguments>
auto* answerer(int (* /*like*/)(Arguments...)) {
  return &anything<Arguments...>;
}

auto* answerer(int (* /*like*/)(Device, char*, unsigned)) { return &any_text; }

auto* answerer(int (* /*like*/)(Device, char*)) { return &any_firmware; }

auto* answerer(int (* /*like*/)(Device, int, nvml::FieldValue*)) { return &any_fields; }

auto* answerer(int (* /*like*/)(Device, unsigned*, nvml::Process*)) {
  return &any_processes<nvml::Process>;
}

auto* answerer(int (* /*like*/)(Device, unsigned*, nvml::ProcessV1*)) {
  return &any_processes<nvml::ProcessV1>;
}

auto* answerer(const char* (* /*like*/)(int)) { return &any_word; }

// Some functions that a driver may lack are missing.
template <class Signature>
void offer(nvml::Function<Signature>& function) {
  function.name = function.names.substr(0, function.names.find(' '));
  if (function.required || next_byte() % 8 != 7) function.call = answerer(function.call);
}

Gpu read_any_gpu(unsigned index) {
  nvml::Functions functions;
#define MUSTER_FUZZ_OFFER(member, ...) offer(functions.member);
  MUSTER_NVML_FUNCTIONS(MUSTER_FUZZ_OFFER)
#undef MUSTER_FUZZ_OFFER
  nvml::Watched<nvml::GpuFacts> watched({});
  nvml::read_gpu(functions, index, next_byte() % 2 == 0 ? NvmlParts::all() : NvmlParts(), watched);
  return watched.wait(Clock::now()).first.gpu;
}

void judge_all(const Section<Nvml>& section) {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.hypervisor = section.duration_ms > 0});
  snapshot.nvml = section;
  const auto again = parse_section<Nvml>(section_to_json(section));
  require(again.has_value() && again->facts == section.facts);
  for (const auto& profile : {Profile{}, gpu_node::profile()}) {
    const auto report = judge(snapshot, profile, {.only = {"gpu.*"}});
    require(!report.checks.empty());
    for (const auto& check : report.checks) {
      require(std::ranges::count(report.findings, check.id, &Finding::check) > 0);
    }
    for (const auto& finding : report.findings) {
      require(!finding.message.empty());
      require(finding.message.find_first_of("\n\x1b") == std::string::npos);
    }
  }
}

}  // namespace

void fuzz(std::string_view text) {
  if (text.starts_with('{')) {
    if (const auto section = parse_section<Nvml>(text)) judge_all(*section);
    return;
  }
  input() = text;
  Nvml nvml;
  for (unsigned index = 0; index < 2; ++index) nvml.gpus.push_back(read_any_gpu(index));
  judge_all(observed(std::move(nvml)));
}

}  // namespace muster
