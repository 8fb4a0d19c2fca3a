// SPDX-License-Identifier: Apache-2.0
// `muster fleet export sql|jsonl`: exports the store for other databases. muster itself never
// writes to another database.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "fleet/store.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"

namespace muster::app {
namespace {

using fleet::Database;
using fleet::Row;

// Decodes the float32 values of reading.vals.
std::vector<float> values_in(std::string_view bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Writes piece by piece; remembers the first error.
class Output {
 public:
  explicit Output(Destination& destination) : destination_(destination) {}

  void add(std::string_view text) {
    constexpr std::size_t kPiece = 1UL << 20U;
    buffer_ += text;
    if (buffer_.size() > kPiece) flush();
  }

  void flush() {
    if (written_) written_ = destination_.write(buffer_);
    buffer_.clear();
  }

  [[nodiscard]] const Result<void>& written() const { return written_; }

 private:
  Destination& destination_;
  std::string buffer_;
  Result<void> written_;
};

struct Table {
  std::string_view name;
  // Rows of fact tables never change; the rows of other tables are replaced.
  bool is_fact;
  std::string_view time;  // the column that --since applies to; empty: all rows
};

constexpr std::array kTables{
    Table{"node", false, ""},     Table{"scope", true, ""},     Table{"setup", true, ""},
    Table{"fitting", true, ""},   Table{"layout", true, ""},    Table{"position", true, ""},
    Table{"boot", false, ""},     Table{"part", false, ""},     Table{"report", true, "at"},
    Table{"reading", true, "at"}, Table{"run", false, ""},      Table{"event", true, "at"},
    Table{"job", false, ""},      Table{"outage", false, ""},   Table{"seat", false, ""},
    Table{"finding", false, ""},  Table{"incident", false, ""}, Table{"fitted", false, ""},
    Table{"uptime", false, ""},
};

struct Column {
  std::string name, type;
  std::int64_t key = 0;  // its place in the primary key, from 1
};

Result<std::vector<Column>> columns_of(Database& database, std::string_view table) {
  std::vector<Column> columns;
  TRY(database.each(
      "SELECT name, type, pk FROM pragma_table_info(?)",
      [&](const Row& row) {
        const auto type = row.text(1);
        columns.push_back({.name = std::string(row.text(0)),
                           .type = type == "INTEGER" ? "bigint"
                                   : type == "REAL"  ? "double precision"
                                   : type == "BLOB"  ? "real[]"
                                                     : "text",
                           .key = row.whole(2)});
      },
      table));
  return columns;
}

// Formats a value as an SQL literal.
std::string literal(const Row& row, int column, const Column& of) {
  switch (row.type(column)) {
    case Row::Type::null:
      return "NULL";
    case Row::Type::whole:
      return of.type == "text" ? fmt::format("'{}'", row.whole(column))
                               : fmt::format("{}", row.whole(column));
    case Row::Type::number:
      return fmt::format("{}", row.number(column));
    case Row::Type::blob:
      return fmt::format("'{{{}}}'", fmt::join(values_in(row.text(column)), ","));
    case Row::Type::text:
      break;
  }
  std::string text = "'";
  for (const char letter : row.text(column)) {
    if (letter == '\'') text += '\'';
    text += letter;
  }
  text += '\'';
  return text;
}

Result<void> export_table(Database& database, const Table& table, std::int64_t since,
                          Output& output) {
  constexpr int kRowsAtOnce = 200;
  TRY_ASSIGN(auto columns, columns_of(database, table.name));
  std::vector<std::string> declared, names, key;
  for (const auto& each : columns) {
    declared.push_back(fmt::format("\"{}\" {}", each.name, each.type));
    names.push_back(fmt::format("\"{}\"", each.name));
  }
  auto ordered = columns;
  std::erase_if(ordered, [](const Column& each) { return each.key == 0; });
  std::ranges::sort(ordered, {}, &Column::key);
  for (const auto& each : ordered) key.push_back(fmt::format("\"{}\"", each.name));
  output.add(fmt::format("CREATE TABLE IF NOT EXISTS {}({}, PRIMARY KEY({}));\n", table.name,
                         fmt::join(declared, ", "), fmt::join(key, ", ")));
  if (!table.is_fact) output.add(fmt::format("DELETE FROM {};\n", table.name));
  int rows = 0;
  TRY(database.each(
      fmt::format("SELECT {} FROM {} WHERE {} >= ?1", fmt::join(names, ", "), table.name,
                  table.time.empty() ? "?1" : table.time),
      [&](const Row& row) {
        if (rows++ % kRowsAtOnce == 0) {
          output.add(fmt::format("{}INSERT INTO {} VALUES\n",
                                 rows > 1 ? " ON CONFLICT DO NOTHING;\n" : "", table.name));
        } else {
          output.add(",\n");
        }
        std::string text = "(";
        for (int i = 0; i < row.size(); ++i) {
          text += fmt::format("{}{}", i == 0 ? "" : ",",
                              literal(row, i, columns[static_cast<std::size_t>(i)]));
        }
        output.add(text + ")");
      },
      since));
  if (rows > 0) output.add(" ON CONFLICT DO NOTHING;\n");
  return output.written();
}

Result<void> export_sql(Database& database, std::int64_t since, Output& output) {
  output.add(
      "-- For psql --set ON_ERROR_STOP=1, into a database or schema of its own.\n"
      "SET standard_conforming_strings = on;\nSET client_encoding = 'UTF8';\nSET "
      "client_min_messages = warning;\nBEGIN;\n");
  for (const auto& table : kTables) TRY(export_table(database, table, since, output));
  output.add(fleet::postgres_views());
  output.add("COMMIT;\n");
  return output.written();
}

// The kinds of JSON objects. Their columns become keys. Columns with these names are times.
struct Kind {
  std::string_view name;
  std::string_view sql;  // ?1 is the time of --since
};

constexpr std::array kKinds{
    Kind{"report",
         "SELECT at AS time, cluster, node.name AS node, boot_id, context, benchmark, "
         "setup.profile, setup.physical_host, setup.muster, report.verdict FROM report "
         "JOIN node ON node.id = report.node JOIN setup ON setup.id = setup "
         "LEFT JOIN boot ON boot.id = report.boot WHERE at >= ?1"},
    Kind{"event",
         "SELECT at AS time, cluster, name AS node, kind, context, job, check_id, device, message, "
         "reason, boot_id FROM event JOIN node ON node.id = node WHERE at >= ?1"},
    Kind{"finding",
         "SELECT started AS time, cluster, node.name AS node, serial, check_id, device, outcome, "
         "code, remedy, message, observed, limit_value, unit, started, finding.last AS last, "
         "ended, finding.reports AS reports FROM finding JOIN node ON node.id = node "
         "LEFT JOIN part ON part.id = part WHERE finding.last >= ?1"},
    Kind{"incident",
         "SELECT started AS time, cluster, node.name AS node, cause, device, serial, boot_id, "
         "started, ended, hours, message FROM incident JOIN node ON node.id = incident.node "
         "LEFT JOIN part ON part.id = part LEFT JOIN boot ON boot.id = boot "
         "WHERE coalesce(ended, ?1) >= ?1"},
    Kind{"seat",
         "SELECT started AS time, cluster, node.name AS node, part.kind AS part, serial, model, "
         "slot, device, started, seat.last AS last, ended FROM seat JOIN node ON node.id = node "
         "JOIN part ON part.id = part WHERE seat.last >= ?1"},
    Kind{"outage",
         "SELECT started AS time, cluster, name AS node, state, started, ended, who, reason "
         "FROM outage JOIN node ON node.id = node WHERE coalesce(ended, ?1) >= ?1"},
};

void write_member(JsonWriter& json, const Row& row, int column) {
  const auto name = row.name(column);
  const bool is_time = name == "time" || name == "started" || name == "last" || name == "ended";
  const auto key = name == "time" ? std::string_view("TimeGenerated") : name;
  if (row.is_null(column)) return;
  if (is_time) {
    return json.member(key, utc(row.whole(column)));
  }
  if (row.type(column) == Row::Type::whole) return json.member(key, row.whole(column));
  if (row.type(column) == Row::Type::number) return json.member(key, row.number(column));
  json.member(key, row.text(column));
}

Result<void> export_values(Database& database, std::int64_t since, Output& output) {
  std::map<std::int64_t, std::vector<std::string>> layouts;  // the keys of each position
  TRY(database.each(
      "SELECT layout, quantity, device, unit, conditions FROM position ORDER BY layout, place",
      [&](const Row& row) {
        auto keys = write_json_object([&](JsonWriter& json) {
          for (int i = 1; i < row.size(); ++i) {
            if (!row.text(i).empty()) json.member(row.name(i), row.text(i));
          }
        });
        layouts[row.whole(0)].push_back(keys.substr(1, keys.size() - 2));
      }));
  return database.each(
      "SELECT at, cluster, name, layout, vals FROM reading JOIN node ON node.id = node "
      "WHERE at >= ?",
      [&](const Row& row) {
        const auto values = values_in(row.text(4));
        const auto& keys = layouts[row.whole(3)];
        const auto time = utc(row.whole(0));
        for (std::size_t i = 0; i < std::min(values.size(), keys.size()); ++i) {
          auto text = write_json_object([&](JsonWriter& json) {
            json.member("TimeGenerated", time);
            json.member("kind", std::string_view("value"));
            json.member("cluster", row.text(1));
            json.member("node", row.text(2));
          });
          text.pop_back();
          output.add(fmt::format("{},{},\"value\":{}}}\n", text, keys[i], values[i]));
        }
      },
      since);
}

Result<void> export_jsonl(Database& database, std::int64_t since, Output& output) {
  for (const auto& kind : kKinds) {
    TRY(database.each(
        kind.sql,
        [&](const Row& row) {
          output.add(fmt::format("{}\n", write_json_object([&](JsonWriter& json) {
                                   write_member(json, row, 0);
                                   json.member("kind", kind.name);
                                   for (int i = 1; i < row.size(); ++i) write_member(json, row, i);
                                 })));
        },
        since));
  }
  TRY(export_values(database, since, output));
  return output.written();
}

}  // namespace

int run_fleet_export(const FleetCommand& command, const Caller& caller) {
  auto store = fleet::Store::open_to_read(command.store);
  if (!store) return fail(caller, store.error());
  auto destination = Destination::open(caller.console, command.output);
  if (!destination) return fail(caller, undecided(destination.error()).value());
  const auto since = fleet::since_time(command).value_or(std::numeric_limits<std::int64_t>::min());
  Output output(*destination);
  auto done = command.words.front() == "sql" ? export_sql(store->database(), since, output)
                                             : export_jsonl(store->database(), since, output);
  output.flush();
  if (done) done = output.written();
  if (done) done = destination->finish();
  if (!done) return fail(caller, undecided(done.error()).value());
  return kExitHealthy;
}

}  // namespace muster::app
