// SPDX-License-Identifier: Apache-2.0
#include "lib/node/json/decode_section.hpp"
#include "lib/node/snapshot.hpp"

namespace muster::json {

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define MUSTER_DECODE(T) template bool Decoder::read(const Element&, Section<T>&);
// NOLINTEND(bugprone-macro-parentheses)
MUSTER_SYSTEM_SECTIONS(MUSTER_DECODE)
#undef MUSTER_DECODE

}  // namespace muster::json
