// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/gpu/caller.hpp"

#include <fmt/format.h>

namespace muster::nvml {
namespace {

Fact<std::uint64_t> number_of(const FieldValue& field) {
  switch (field.type) {
    case kNatural:
      return std::uint64_t{field.value.natural};
    case kLong:
    case kCounter:
      return std::uint64_t{field.value.counter};
    case kSignedCounter:
      if (field.value.signed_counter < 0) break;
      return static_cast<std::uint64_t>(field.value.signed_counter);
    case kInteger:
      if (field.value.integer < 0) break;
      return static_cast<std::uint64_t>(field.value.integer);
    case kSmall:
      return std::uint64_t{field.value.small};
    case kDouble:
      if (!(field.value.number >= 0 && field.value.number < 1e18)) break;
      return static_cast<std::uint64_t>(field.value.number);
    default:
      break;
  }
  return make_error(fmt::format("NVML's field {} is not a natural number", field.field));
}

}  // namespace

void QueriedGpu::query(std::span<FieldValue> fields) const {
  const int code = call(functions.fields, handle, static_cast<int>(fields.size()), fields.data());
  if (code == kOk) return;
  for (auto& field : fields) field.code = code;
}

Fact<std::uint64_t> QueriedGpu::answer(const FieldValue& field) const {
  if (field.code == kOk) return number_of(field);
  auto error = call.error(functions.fields, field.code);
  error.message = fmt::format("field {}, {}", field.field, error.message);
  return Fact<std::uint64_t>::failed(error);
}

}  // namespace muster::nvml
