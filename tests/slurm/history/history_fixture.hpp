// SPDX-License-Identifier: Apache-2.0
// A history in a folder of its own, and what a test writes into it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "slurm/history/history.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::slurm {

inline constexpr Time kStart{std::chrono::seconds(1'800'000'000)};

inline OwnDrain drain_at(Time at) {
  return {.reason = "muster: gpu.ecc_remapped_rows gpu3: row remapping failed; replace the part",
          .at = at,
          .confirmed = false,
          .boot_id = "boot-1",
          .identity = "GPU-1,GPU-2",
          .check = "gpu.ecc_remapped_rows",
          .remedy = Remedy::reseat_or_replace,
          .clean_runs = 0,
          .boots_since = {}};
}

inline Event event_of(std::string node, std::string kind, Time at = kStart) {
  return {.at = at, .node = std::move(node), .kind = std::move(kind), .message = "a sentence"};
}

inline SweepRun sweep_of(std::string node) {
  return {.kind = "pair",
          .partition = "main",
          .nodes = {std::move(node), "other"},
          .token = "pair-1",
          .job = "4711",
          .submitted = kStart};
}

class HistoryTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return dir.path() / "lib/muster/history.db"; }

  [[nodiscard]] History open() const {
    auto opened = History::open(file());
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }

  [[nodiscard]] static std::vector<Event> events(const History& history,
                                                 const EventFilter& filter = {}) {
    auto found = history.events(filter);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::vector<Event>{});
  }

  [[nodiscard]] static std::vector<std::string> kinds(const std::vector<Event>& events) {
    std::vector<std::string> found;
    found.reserve(events.size());
    for (const auto& event : events) found.push_back(event.kind);
    return found;
  }

  [[nodiscard]] static unsigned mode(const std::filesystem::path& path) {
    struct stat status {};

    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777U;
  }

  TempDir dir;
};

}  // namespace muster::slurm
