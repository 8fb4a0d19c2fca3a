// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/identity.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "lib/base/json.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

// HV_KVP_EXCHANGE_MAX_KEY_SIZE and _VALUE_SIZE of the kernel's hyperv.h: a record is a key and a
// value, padded with zeros.
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

using nlohmann::json;

// The clouds' keys for the size: Azure's `vmSize` is in ds.meta_data.imds.compute, AWS's keys are
// in ds.meta_data and ds.dynamic.instance-identity.document, Google's `machineType` is in
// ds.meta_data or its `instance`.
constexpr std::array<std::string_view, 6> kNames{"vmSize",       "instance-type", "instance_type",
                                                 "instanceType", "machineType",   "machine-type"};
constexpr int kDeepestBlock = 8;  // the keys are at most four levels deep
constexpr std::size_t kLongestSize = 100;

// "a3-highgpu-8g" for Google's "projects/123/machineTypes/a3-highgpu-8g"; empty if the text is not
// a size ("redacted for non-root user").
std::string_view size_in(std::string_view text) {
  text = trim(text.substr(text.rfind('/') + 1));
  const bool plain = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  return plain && text.size() <= kLongestSize ? text : std::string_view{};
}

std::string find_size(const json& block, std::string_view name, int depth) {
  if (!block.is_object() || depth > kDeepestBlock) return {};
  for (const auto& [key, value] : block.items()) {
    if (key != name || !value.is_string()) continue;
    if (const auto size = size_in(value.get_ref<const std::string&>()); !size.empty()) {
      return std::string(size);
    }
  }
  for (const auto& [key, value] : block.items()) {
    if (auto size = find_size(value, name, depth + 1); !size.empty()) return size;
  }
  return {};
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

Result<std::string> parse_instance_size(std::string_view text) {
  const auto document = parse_json(text);
  if (!document || !document->is_object()) {
    return make_error("cloud-init's instance data cannot be understood as JSON");
  }
  const auto source = document->find("ds");
  if (source != document->end()) {
    for (const auto name : kNames) {
      if (auto size = find_size(*source, name, 0); !size.empty()) return size;
    }
  }
  return make_missing("cloud-init's instance data does not tell the instance's size");
}

}  // namespace muster
