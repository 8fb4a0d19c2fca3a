// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/golden.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <variant>

namespace muster::e2e {
namespace {

constexpr std::string_view kHeading = "== ";

std::string text_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return "none";
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

bool rewriting() { return std::getenv("MUSTER_REWRITE_GOLDEN") != nullptr; }

}  // namespace

GoldenFile::GoldenFile(std::string_view name)
    : file_(std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/nodes/golden" / name) {
  std::ifstream file(file_);
  std::string* entry = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kHeading)) {
      entry = &entries_[line.substr(kHeading.size())];
    } else if (entry != nullptr) {
      entry->append(line).append("\n");
    }
  }
}

void GoldenFile::expect(const std::string& name, const std::string& text) {
  auto& entry = entries_[name];
  if (entry == text) return;
  if (!rewriting()) {
    EXPECT_EQ(text, entry) << file_ << ": " << name
                           << " differs; MUSTER_REWRITE_GOLDEN=1 writes it anew";
    return;
  }
  entry = text;
  write();
}

void GoldenFile::expect_only(const std::vector<std::string>& names) const {
  for (const auto& [name, text] : entries_) {
    EXPECT_TRUE(std::ranges::find(names, name) != names.end())
        << file_ << " has the entry " << name << ", which no test compares";
  }
}

void GoldenFile::write() const {
  std::ostringstream text;
  for (const auto& [name, entry] : entries_) text << kHeading << name << '\n' << entry;
  std::ofstream(file_) << text.str();
}

std::string golden_text(const Report& report, bool all) {
  std::string text;
  for (const auto& each : report.findings) {
    if (!all && (each.outcome == Outcome::pass || each.outcome == Outcome::skip)) continue;
    text +=
        fmt::format("{} {} {}: {}", to_string(each.outcome), each.check, each.device, each.message);
    if (each.observed != Value() || each.limit != Value()) {
      text += fmt::format(" [{}, limit {}{}{}]", text_of(each.observed), text_of(each.limit),
                          each.unit.empty() ? "" : " ", each.unit);
    }
    if (each.remedy != Remedy::none) text += fmt::format(" -> {}", to_string(each.remedy));
    if (!each.code.empty()) text += fmt::format(" {}", each.code);
    text += '\n';
  }
  return text;
}

}  // namespace muster::e2e
