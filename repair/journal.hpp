// SPDX-License-Identifier: Apache-2.0
// The journal of repairs and claims: one line of JSON per change of state, appended to
// journal.jsonl in the site's repair folder and never changed. Next to it, each node has a folder
// with its evidence and reports.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/repair/record.hpp"

namespace muster::repair {

class RepairJournal {
 public:
  // Creates the folder (mode 0700) and locks it until the journal is destroyed, so that one process
  // decides at a time. Waits for up to 30 s. An error if others may write to the folder.
  [[nodiscard]] static Result<RepairJournal> open(const std::filesystem::path& folder);

  // Reads a journal without a lock. A folder that does not exist has no records.
  [[nodiscard]] static Result<std::vector<RepairRecord>> read(const std::filesystem::path& folder);

  // Returns the records, oldest first. A damaged line is an error that names it, because its
  // operation may still be running.
  [[nodiscard]] const std::vector<RepairRecord>& records() const { return records_; }

  // Returns once the line is on the disk.
  [[nodiscard]] Result<void> add(RepairRecord record);

 private:
  RepairJournal(std::filesystem::path folder, Descriptor lock, std::vector<RepairRecord> records)
      : folder_(std::move(folder)), lock_(std::move(lock)), records_(std::move(records)) {}

  std::filesystem::path folder_;
  Descriptor lock_;
  std::vector<RepairRecord> records_;
};

}  // namespace muster::repair
