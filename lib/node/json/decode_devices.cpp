// SPDX-License-Identifier: Apache-2.0
#include "lib/node/json/decode_section.hpp"
#include "lib/node/snapshot.hpp"

namespace muster::json {

MUSTER_DEVICE_SECTIONS(MUSTER_DECODE)

}  // namespace muster::json
