// SPDX-License-Identifier: Apache-2.0
// Walks through the reports of one node in order of time, and collects its intervals.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fleet/document.hpp"

namespace muster::fleet {

struct SeatedPart {
  std::int64_t part = 0;
  std::string kind, slot, device;

  bool operator==(const SeatedPart&) const = default;
};

// A report as the store has it.
struct ReportRow {
  std::int64_t at = 0;
  std::string verdict;
  std::optional<std::int64_t> boot;
  bool is_check = false;                             // of muster check, not of a benchmark
  const std::set<std::string>* judged = nullptr;     // checks
  const std::vector<SeatedPart>* fitting = nullptr;  // null if it lists no parts
  std::vector<FoundFinding> found;
};

struct SeatInterval {
  SeatedPart seat;
  std::int64_t started = 0, last = 0;
  std::optional<std::int64_t> ended;

  bool operator==(const SeatInterval&) const = default;
};

struct FindingInterval {
  FoundFinding finding;  // of the last report
  std::optional<std::int64_t> part;
  std::int64_t started = 0, last = 0;
  std::optional<std::int64_t> ended;
  std::int64_t reports = 0;
};

struct IncidentInterval {
  std::string cause, device, message;
  std::optional<std::int64_t> part, boot;
  std::int64_t started = 0;
  std::optional<std::int64_t> ended;
  double hours = 0;
};

struct UptimeInterval {
  std::int64_t started = 0, ended = 0;
  std::optional<std::int64_t> boot;
};

class NodeHistory {
 public:
  // Reports must come in order of time.
  void add(const ReportRow& report);
  // Ends what is still open.
  void finish();
  // Continues an earlier walk that left no incident open, by what it left open.
  void resume(std::vector<SeatInterval> seats, std::vector<FindingInterval> findings,
              std::optional<UptimeInterval> uptime);

  std::vector<SeatInterval> seats;
  std::vector<FindingInterval> findings;
  std::vector<IncidentInterval> incidents;
  std::vector<UptimeInterval> uptimes;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string,
                         std::optional<std::int64_t>>;  // check, device, outcome, code, part

  // The first failure of a check on a device since the node was last healthy.
  struct Failure {
    std::string check, device, message;
    std::optional<std::int64_t> part, boot;
    std::int64_t at = 0;
  };

  void add_seats(const ReportRow& report);
  void add_findings(const ReportRow& report);
  [[nodiscard]] static Key key_of(const FindingInterval& interval);
  void add_failures(const ReportRow& report);
  void add_uptime(const ReportRow& report);
  void end_incidents(std::optional<std::int64_t> healthy);
  [[nodiscard]] std::optional<std::int64_t> part_at(const std::string& device) const;

  std::map<std::pair<std::string, std::string>, std::size_t> seat_of_slot_;  // kind, slot: in seats
  std::map<Key, std::size_t> open_findings_;
  std::vector<Failure> failures_;
  std::int64_t last_ = 0;
};

}  // namespace muster::fleet
