// SPDX-License-Identifier: Apache-2.0
#include "tests/fleet/dump.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::fleet {
namespace {

constexpr std::array<std::string_view, 15> kTables{
    "SELECT 'node', cluster, name, first, last, reports, verdict, profile, touched FROM node",
    "SELECT 'boot', node.name, boot_id, boot.first, boot.last, physical_host, boot.profile, stack "
    "FROM boot JOIN node ON node.id = boot.node",
    "SELECT 'part', kind, serial, model FROM part",
    "SELECT 'report', node.name, report.at, report.sum, boot_id, setup.sum, fitting.sum, run.name, "
    "report.verdict, found FROM report JOIN node ON node.id = report.node "
    "LEFT JOIN boot ON boot.id = report.boot JOIN setup ON setup.id = setup "
    "LEFT JOIN fitting ON fitting.id = fitting LEFT JOIN run ON run.id = report.run",
    "SELECT 'setup', setup.sum, context, benchmark, profile, physical_host, muster, stack, checks "
    "FROM setup JOIN scope ON scope.id = scope",
    "SELECT 'reading', node.name, at, reading.sum, layout.sum, hex(vals) FROM reading "
    "JOIN node ON node.id = reading.node JOIN layout ON layout.id = layout",
    "SELECT 'position', layout.sum, place, quantity, device, unit, conditions FROM position "
    "JOIN layout ON layout.id = layout",
    "SELECT 'snapshot', node.name, at, week, snapshot.verdict, sum, hex(document) FROM snapshot "
    "JOIN node ON node.id = node",
    "SELECT 'run', kind, name, at, verdict, nodes, layout.sum, hex(vals) FROM run "
    "LEFT JOIN layout ON layout.id = layout",
    "SELECT 'event', node.name, at, sum, kind, message FROM event JOIN node ON node.id = node",
    "SELECT 'seat', kind, serial, node.name, slot, device, started, seat.last, ended FROM seat "
    "JOIN part ON part.id = part JOIN node ON node.id = node",
    "SELECT 'finding', node.name, serial, check_id, device, outcome, code, remedy, message, "
    "observed, limit_value, unit, started, finding.last, ended, finding.reports FROM finding "
    "JOIN node ON node.id = node LEFT JOIN part ON part.id = part",
    "SELECT 'incident', node.name, cause, device, serial, boot_id, started, ended, hours, message "
    "FROM incident JOIN node ON node.id = incident.node LEFT JOIN part ON part.id = part "
    "LEFT JOIN boot ON boot.id = boot",
    "SELECT 'fitted', node.name, started, fitting.sum FROM fitted "
    "JOIN node ON node.id = fitted.node JOIN fitting ON fitting.id = fitting",
    "SELECT 'uptime', node.name, started, ended, boot_id FROM uptime "
    "JOIN node ON node.id = uptime.node LEFT JOIN boot ON boot.id = boot",
};

}  // namespace

std::string dump(Database& database) {
  std::vector<std::string> rows;
  for (const auto table : kTables) {
    const auto read = database.each(table, [&](const Row& row) {
      std::string text;
      for (int i = 0; i < row.size(); ++i) text += fmt::format("{}|", row.text(i));
      rows.push_back(std::move(text));
    });
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
  }
  std::ranges::sort(rows);
  return fmt::format("{}\n", fmt::join(rows, "\n"));
}

}  // namespace muster::fleet
