// SPDX-License-Identifier: Apache-2.0
// A section from JSON: the template that decode_devices.cpp and decode_system.cpp make functions
// of, a part of the sections each, since all of them at once take the compiler long.
#pragma once

#include "lib/node/json/decode.hpp"

namespace muster::json {

template <class T>
bool Decoder::read(const Element& json, Section<T>& section) {
  section.reason.clear();
  return object(json, [&](Members& members) {
    if (!read_status(members, section.status, section.reason, section.duration_ms)) return;
    if (section.ok()) member(members, "facts", section.facts);
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define MUSTER_DECODE(T) template bool Decoder::read(const Element&, Section<T>&);
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace muster::json
