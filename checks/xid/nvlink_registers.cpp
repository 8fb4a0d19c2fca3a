// SPDX-License-Identifier: Apache-2.0
#include "checks/xid/nvlink_registers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "checks/xid/meaning.hpp"
#include "lib/base/text.hpp"

namespace muster::checks::xid {
namespace {

constexpr std::size_t kRegisters = 7;
constexpr unsigned kBits = 32;

// "link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
struct RegisterLine {
  bool harmless = false;
  std::string_view link;
  std::vector<std::uint64_t> registers;  // all seven, or none
};

std::vector<std::uint64_t> registers_of(std::string_view text) {
  std::vector<std::uint64_t> registers;
  for (const auto word : split(text.substr(0, text.find(')')), ',')) {
    const auto value = parse_hex(trim(word));
    if (!value || *value > UINT32_MAX) return {};
    registers.push_back(*value);
  }
  return registers.size() == kRegisters ? registers : std::vector<std::uint64_t>();
}

RegisterLine parse_register_line(std::string_view text) {
  constexpr std::string_view kLink = " link ";
  RegisterLine line;
  // From the driver's own words on: a program may be called anything.
  const auto begin = text.rfind("NVLink: ");
  text = begin == std::string_view::npos ? std::string_view() : text.substr(begin);
  for (const std::string_view word : {"non-fatal", "nonfatal", "Non-fatal", "Nonfatal"}) {
    line.harmless = line.harmless || text.find(word) != std::string_view::npos;
  }
  const auto at = text.find(kLink);
  if (at == std::string_view::npos) return line;
  text.remove_prefix(at + kLink.size());
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  line.link = text.substr(0, digits);
  text.remove_prefix(digits);
  if (text.starts_with('(')) line.registers = registers_of(text.substr(1));
  return line;
}

const NvlinkBits* row_of(const XidLimits& limits, std::size_t number, unsigned bit) {
  const auto found = std::ranges::find_if(limits.nvlink_bits, [&](const NvlinkBits& row) {
    return static_cast<std::size_t>(row.number) == number &&
           std::ranges::count(row.bits, fmt::format("{}", bit)) > 0;
  });
  return found == limits.nvlink_bits.end() ? nullptr : &*found;
}

// What the bits that are set say together.
struct Reading {
  bool fatal = false;  // one of them is, or is not known
  bool any = false;
  bool hardware = false;
  std::vector<std::string> registers, contexts;
};

void add_context(Reading& reading, const NvlinkBits& row) {
  // What is fatal explains the rest.
  if (row.kind == kDegraded && reading.fatal) return;
  if (std::ranges::count(reading.contexts, row.context) == 0) {
    reading.contexts.push_back(row.context);
  }
}

Reading read_bits(const XidLimits& limits, const RegisterLine& line) {
  Reading reading;
  for (std::size_t i = 0; i < line.registers.size(); ++i) {
    const auto value = line.registers[i];
    if (value == 0) continue;
    reading.registers.push_back(fmt::format("register {} {:#x}", i + 1, value));
    for (unsigned bit = 0; bit < kBits; ++bit) {
      if (((value >> bit) & 1U) == 0) continue;
      reading.any = true;
      const auto* row = row_of(limits, i + 1, bit);
      if (row == nullptr || row->kind != kDegraded) {
        if (!reading.fatal) reading.contexts.clear();
        reading.fatal = true;
      }
      if (row == nullptr) continue;
      reading.hardware = reading.hardware || row->hardware;
      add_context(reading, *row);
    }
  }
  return reading;
}

}  // namespace

NvlinkError decode_registers(const XidLimits& limits, std::string_view text) {
  const RegisterLine line = parse_register_line(text);
  const Reading reading = read_bits(limits, line);
  const bool fatal = !line.harmless && (reading.fatal || !reading.any);
  NvlinkError fault{.kind = std::string(fatal ? kFatal : kDegraded),
                    .link = std::string(line.link),
                    .hardware = reading.hardware};
  if (!line.link.empty()) fault.context = fmt::format("link {}", printable(line.link, 8));
  if (!reading.any) return fault;
  fault.context += fmt::format(", {}", fmt::join(reading.registers, ", "));
  if (!reading.contexts.empty()) {
    fault.context += fmt::format(": {}", fmt::join(reading.contexts, "; "));
  }
  return fault;
}

}  // namespace muster::checks::xid
