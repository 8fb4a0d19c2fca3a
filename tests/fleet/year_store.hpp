// SPDX-License-Identifier: Apache-2.0
// A store of a simulated year.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "fleet/importer.hpp"
#include "fleet/intervals.hpp"
#include "fleet/readings.hpp"
#include "fleet/store.hpp"
#include "tests/fleet/year.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::fleet {

class YearStore {
 public:
  // Imports all nodes of the year, or only these.
  explicit YearStore(const YearOptions& options, std::vector<int> only = {})
      : store_(*Store::open_to_write(temp_.path() / "fleet.db")) {
    const Year year(options);
    if (only.empty()) {
      only.resize(static_cast<std::size_t>(options.nodes));
      std::iota(only.begin(), only.end(), 0);
    }
    Importer importer(database(), "");
    const auto imported = in_transaction(database(), [&]() -> Result<void> {
      for (int day = 0; day < options.days; ++day) {
        for (const int node : only) {
          NamedDocument document{.name = "year", .run = {}, .text = year.report(node, day)};
          auto records = parse_document(document.text, [](const Snapshot& /*none*/) {
            return Result<std::string>(make_error("no snapshots"));
          });
          TRY(importer.add({std::move(document), std::move(records)}));
        }
      }
      return {};
    });
    EXPECT_TRUE(imported) << (imported ? "" : imported.error().message);
    EXPECT_TRUE(renew_intervals(database()));
    nodes = *read_nodes(database(), "");
  }

  [[nodiscard]] Database& database() { return store_.database(); }

  Nodes nodes;

 private:
  TempDir temp_;
  Store store_;
};

}  // namespace muster::fleet
