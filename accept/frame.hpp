// SPDX-License-Identifier: Apache-2.0
// The line in which a step sends its answer from a node: "muster1 NODE LENGTH SHA256 BASE64". It
// can be found among other output, such as a shell's greeting, and truncation or damage is
// detected.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster::accept {

inline constexpr std::string_view kFrameWord = "muster1";

// Ends with a newline. `node` must not contain blanks, and the content must not be empty.
[[nodiscard]] std::string frame(std::string_view node, std::string_view content);

// Returns the content of the last framed line of `node` in a program's output. The error is
// `missing` if the output does not contain a framed line.
[[nodiscard]] Result<std::string> unframe(std::string_view node, std::string_view output);

}  // namespace muster::accept
