// SPDX-License-Identifier: Apache-2.0
// What most files include, compiled once for all of them. It saves time only: every file includes
// what it uses, and the preset `tidy` builds without this one.
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
