// SPDX-License-Identifier: Apache-2.0
// One GPU and how NVML is asked about it.
#pragma once

#include <cstdint>
#include <span>

#include "lib/probes/gpu/caller.hpp"

namespace muster::nvml {

struct AskedGpu {
  const Functions& functions;
  Caller& call;
  Device handle;

  template <class Raw, class Signature, class... Arguments>
  [[nodiscard]] Fact<Raw> number(const Function<Signature>& function,
                                 Arguments... arguments) const {
    return call.value<Raw>(function, handle, arguments...);
  }

  // All of them in one call; each has its own return code.
  void ask(std::span<FieldValue> fields) const;

  [[nodiscard]] Fact<std::uint64_t> answer(const FieldValue& field) const;
};

}  // namespace muster::nvml
