// SPDX-License-Identifier: Apache-2.0
// The file of the fleet store: one process writes it, any number read it. schema.sql describes it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "fleet/sqlite.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/report/report.hpp"

namespace muster::fleet {

template <class T>
using OrFailure = tl::expected<T, Failure>;

inline constexpr int kStoreVersion = 1;

[[nodiscard]] std::string_view schema_sql();
[[nodiscard]] std::string_view postgres_views();

class Store {
 public:
  // Creates the store if there is none, and locks it until this object is destroyed. If another
  // process writes to it, the error names that process.
  [[nodiscard]] static OrFailure<Store> open_to_write(const std::filesystem::path& file);
  [[nodiscard]] static OrFailure<Store> open_to_read(const std::filesystem::path& file);

  [[nodiscard]] Database& database() { return database_; }

 private:
  Store(Database database, Descriptor lock)
      : lock_(std::move(lock)), database_(std::move(database)) {}

  Descriptor lock_;  // released last
  Database database_;
};

// Calls `work` in a transaction, which is rolled back on an error.
template <class Work>
[[nodiscard]] Result<void> in_transaction(Database& database, const Work& work) {
  TRY(database.execute("BEGIN IMMEDIATE"));
  auto done = work();
  if (done) done = database.execute("COMMIT");
  if (!done) static_cast<void>(database.execute("ROLLBACK"));
  return done;
}

// Convert documents to and from their form in the store: compressed with zlib, after their size.
[[nodiscard]] std::string compressed(std::string_view text);
[[nodiscard]] Result<std::string> decompressed(std::string_view bytes);

}  // namespace muster::fleet
