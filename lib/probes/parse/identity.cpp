// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/identity.hpp"

#include <algorithm>
#include <cctype>

namespace muster {
namespace {

// HV_KVP_EXCHANGE_MAX_KEY_SIZE and _VALUE_SIZE of the kernel's hyperv.h: each record is both,
// padded with zero bytes.
constexpr std::size_t kKeySize = 512;
constexpr std::size_t kValueSize = 2048;
constexpr std::size_t kRecordSize = kKeySize + kValueSize;
constexpr std::size_t kLongestHostName = 253;
constexpr std::string_view kPhysicalHost = "PhysicalHostNameFullyQualified";

std::string_view up_to_zero(std::string_view field) { return field.substr(0, field.find('\0')); }

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestHostName &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
         });
}

}  // namespace

Result<std::string> parse_physical_host(std::string_view pool) {
  while (pool.size() >= kRecordSize) {
    if (up_to_zero(pool.substr(0, kKeySize)) == kPhysicalHost) {
      const auto name = up_to_zero(pool.substr(kKeySize, kValueSize));
      if (!is_host_name(name)) return make_error("the key-value pool holds no valid host name");
      return std::string(name);
    }
    pool.remove_prefix(kRecordSize);
  }
  if (!pool.empty()) return make_error("the key-value pool ends within a record");
  return make_missing("the host has not given its name in the key-value pool");
}

}  // namespace muster
