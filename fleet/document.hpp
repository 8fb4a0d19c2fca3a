// SPDX-License-Identifier: Apache-2.0
// One imported document, reduced to what the store keeps. Parsing needs no store, so that it can be
// done by several threads. All texts are printable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"
#include "lib/node/parts.hpp"
#include "lib/report/finding.hpp"

namespace muster {
struct Snapshot;
}

namespace muster::fleet {

// A text of a dictionary, and the first 8 bytes of its SHA-256.
struct Entry {
  std::string text;
  std::int64_t sum = 0;  // 0 if the text is empty
};

[[nodiscard]] std::int64_t sum_of(std::string_view text);
// Appends a text, with its size, to texts that are hashed together, so that their boundaries count.
void append_with_size(std::string& all, std::string_view text);
[[nodiscard]] Entry make_entry(std::string text);

// A finding in report.found.
struct FoundFinding {
  MUSTER_DESCRIBED(FoundFinding);
  MUSTER_REQUIRED(std::string, check, "");
  MUSTER_REQUIRED(std::string, device, "");
  MUSTER_REQUIRED(Outcome, outcome, "fail, warn or unknown") = Outcome::unknown;
  MUSTER_UNLESS_EMPTY(std::string, code, "") = {};
  MUSTER_FIELD(Remedy, remedy, "") = Remedy::none;
  MUSTER_FIELD(std::string, message, "") = {};
  MUSTER_FIELD(Value, observed, "") = {};
  MUSTER_FIELD(Value, limit, "") = {};
  MUSTER_UNLESS_EMPTY(std::string, unit, "") = {};
};

// A value's place in the layout of a report.
struct Position {
  std::string quantity, device, unit, conditions;

  bool operator==(const Position&) const = default;
};

struct Layout {
  std::int64_t sum = 0;  // of all positions
  std::vector<Position> positions;
};

struct Values {
  std::shared_ptr<const Layout> layout;  // null without values
  std::string bytes;                     // float32, little-endian
};

// The parts of a node; none if its report lists none.
struct Fitting {
  std::vector<Part> parts;
  std::int64_t sum = 0;
};

// A report about one node.
struct NodeReport {
  std::string node;
  std::int64_t at = 0;
  std::int64_t sum = 0;
  std::string boot_id;
  std::string verdict;  // empty if it only lists parts
  std::string context, benchmark, profile, physical_host, muster, stack;
  std::int64_t setup = 0;  // the sum of these and of the scope
  Entry scope;             // the checks that it judged, JSON
  Fitting fitting;
  Values values;
  std::string found;  // JSON; empty if there is nothing
};

// An acceptance, or a job of muster-bench on several nodes.
struct RunRecord {
  std::string kind, name, verdict, nodes;
  std::int64_t at = 0;
  Values values;
};

// The kind of an event that is a line of the repair journal.
inline constexpr std::string_view kActionKind = "action";

struct EventRecord {
  std::string node;
  std::int64_t at = 0;
  std::int64_t sum = 0;
  std::string kind, context, job, check, device, message, reason, boot_id;
};

// A snapshot: its report, and the snapshot itself, compressed.
struct SnapshotRecord {
  NodeReport report;
  std::string document;
};

// A document without anything for the store, such as a decision of an acceptance.
struct Nothing {};

using Record = std::variant<Nothing, NodeReport, RunRecord, EventRecord, SnapshotRecord>;

// Judges a snapshot and returns the report as JSON.
using JudgeSnapshot = std::function<Result<std::string>(const Snapshot&)>;

// A document may have several records: an attempt of an acceptance has the reports of its node. An
// error says whether the document is damaged, foreign, or of a newer muster.
[[nodiscard]] Result<std::vector<Record>> parse_document(std::string_view text,
                                                         const JudgeSnapshot& judge);

}  // namespace muster::fleet
