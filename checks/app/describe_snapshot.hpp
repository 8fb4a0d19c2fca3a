// SPDX-License-Identifier: Apache-2.0
// The fields of a snapshot as Markdown, from the same lists that its JSON is made of.
#pragma once

#include <string>

namespace muster::app {

[[nodiscard]] std::string describe_snapshot();

}  // namespace muster::app
