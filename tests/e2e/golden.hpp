// SPDX-License-Identifier: Apache-2.0
// Texts that tests compare with a file in tests/nodes/golden, one named entry each. With
// MUSTER_REWRITE_GOLDEN set they write the file instead.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/report.hpp"

namespace muster::e2e {

class GoldenFile {
 public:
  explicit GoldenFile(std::string_view name);

  // Expects the entry `name` to be `text`, or stores it.
  void expect(const std::string& name, const std::string& text);
  // Expects that every entry of the file is in `names`.
  void expect_only(const std::vector<std::string>& names) const;

 private:
  void write() const;

  std::filesystem::path file_;
  std::map<std::string, std::string> entries_;
};

// "fail ib.rate mlx5_ib5: 200 Gb/s, expected 400 Gb/s [observed 200, limit 400 Gb/s] -> reseat". Of
// a pass or skip only if `all`.
[[nodiscard]] std::string golden_text(const Report& report, bool all);

}  // namespace muster::e2e
