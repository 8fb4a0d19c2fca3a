// SPDX-License-Identifier: Apache-2.0
// Headers that most files include. This only saves time: every file includes what it uses, and the
// preset `tidy` builds without it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>
