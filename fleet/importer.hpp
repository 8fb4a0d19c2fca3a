// SPDX-License-Identifier: Apache-2.0
// Writes documents into the store. Their order does not matter, and a document that the store has
// is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fleet/document.hpp"
#include "fleet/intervals.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

// A document before it is imported.
struct NamedDocument {
  std::string name;  // the file, and the line if it has several
  std::string run;   // the id of the acceptance that its file belongs to
  std::string text;
};

struct ParsedDocument {
  NamedDocument document;
  Result<std::vector<Record>> records;
};

struct ImportCounts {
  std::uint64_t documents = 0;
  std::uint64_t reports = 0;    // new reports
  std::uint64_t events = 0;     // new events
  std::uint64_t snapshots = 0;  // new snapshots
  std::uint64_t known = 0;      // records that the store already had
  std::uint64_t refused = 0;
  std::vector<std::string> complaints;  // about the first refused ones
};

class Importer {
 public:
  // `cluster` is that of all nodes.
  Importer(Database& database, std::string cluster)
      : database_(database), cluster_(std::move(cluster)) {}

  // Within a transaction of the caller. An error is one of the store, not of the document.
  [[nodiscard]] Result<void> add(const ParsedDocument& parsed);

  [[nodiscard]] Result<std::int64_t> node_id(std::string_view name) {
    return node_of(name).map([](const KnownNode* node) { return node->id; });
  }

  [[nodiscard]] const ImportCounts& counts() const { return counts_; }

 private:
  struct KnownNode {
    std::int64_t id = 0;
    std::optional<std::int64_t> last;  // report in the intervals
    Touched touched = Touched::no;
    std::string boot;  // of the last report that has one
    std::int64_t boot_id = 0;
  };

  using Ids = std::unordered_map<std::int64_t, std::int64_t>;  // by sum

  [[nodiscard]] Result<void> add_record(const Nothing& record, const NamedDocument& document);
  [[nodiscard]] Result<void> add_record(const NodeReport& report, const NamedDocument& document);
  [[nodiscard]] Result<void> add_record(const RunRecord& run, const NamedDocument& document);
  [[nodiscard]] Result<void> add_record(const EventRecord& event, const NamedDocument& document);
  [[nodiscard]] Result<void> add_record(const SnapshotRecord& snapshot,
                                        const NamedDocument& document);
  [[nodiscard]] Result<void> refuse(const NamedDocument& document, std::string_view why);

  [[nodiscard]] Result<std::int64_t> setup_id(const NodeReport& report);
  [[nodiscard]] Result<std::int64_t> layout_id(const Layout& layout);
  // Returns the node, which is added if it is new.
  [[nodiscard]] Result<KnownNode*> node_of(std::string_view name);
  [[nodiscard]] Result<std::optional<std::int64_t>> boot_id(KnownNode& node,
                                                            const std::string& boot);
  [[nodiscard]] Result<std::optional<std::int64_t>> fitting_id(const Fitting& fitting);
  [[nodiscard]] Result<std::optional<std::int64_t>> run_id(const std::string& name);
  [[nodiscard]] Result<void> touch(KnownNode& node, std::int64_t at);
  // Returns the id of a dictionary entry, which `insert` adds if it is new.
  template <class Insert>
  [[nodiscard]] Result<std::int64_t> entry_id(Ids& known, std::int64_t sum, std::string_view select,
                                              const Insert& insert);

  Database& database_;
  std::string cluster_;
  ImportCounts counts_;
  std::unordered_map<std::string, KnownNode> nodes_;
  std::unordered_map<std::string, std::int64_t> runs_;
  Ids scopes_, setups_, fittings_, layouts_;
};

}  // namespace muster::fleet
