// SPDX-License-Identifier: Apache-2.0
#include "fleet/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "fleet/store.hpp"
#include "fleet/values.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/digest.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/node/parts.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/report/report.hpp"

namespace muster::fleet {
namespace {

// The keys of muster.report/1 that the store keeps.
struct StoredReport {
  MUSTER_DESCRIBED(StoredReport);
  MUSTER_FIELD(std::optional<std::string>, node, "");
  MUSTER_REQUIRED(std::string, profile, "");
  MUSTER_REQUIRED(std::string, context, "");
  MUSTER_FIELD(std::string, benchmark, "");
  MUSTER_REQUIRED(std::string, started, "");
  MUSTER_REQUIRED(Verdict, verdict, "") = Verdict::unknown;
  MUSTER_FIELD(std::string, physical_host, "");
  MUSTER_FIELD(std::string, boot_id, "");
  MUSTER_FIELD(std::vector<Part>, parts, "");
  MUSTER_FIELD(ByName<std::string>, stack, "");
  MUSTER_FIELD(std::vector<std::string>, nodes, "");
  MUSTER_FIELD(std::vector<std::string>, accused, "");
  MUSTER_FIELD(std::string, muster, "");
  MUSTER_REQUIRED(std::vector<CheckResult>, checks, "");
  MUSTER_REQUIRED(std::vector<Finding>, findings, "");
  MUSTER_FIELD(ValuesBuilder, values, "");
  MUSTER_FIELD(std::vector<Measurement>, measurements, "");
  MUSTER_FIELD(std::vector<Reading>, readings, "");
};

// Those of muster.step/1, in an attempt of an acceptance.
struct StoredAnswer {
  MUSTER_DESCRIBED(StoredAnswer);
  MUSTER_REQUIRED(std::string, host, "");
  MUSTER_FIELD(std::string, boot_id, "");
  MUSTER_FIELD(std::string, muster, "");
  MUSTER_FIELD(std::int64_t, at, "") = 0;
  MUSTER_FIELD(std::string, physical_host, "");
  MUSTER_FIELD(std::string, profile, "");
  MUSTER_FIELD(std::vector<Part>, parts, "");
  MUSTER_FIELD(ByName<std::string>, stack, "");
  MUSTER_FIELD(std::vector<StoredReport>, reports, "");
};

// Those of muster.acceptance/1.
struct StoredOrder {
  struct Node {
    MUSTER_DESCRIBED(Node);
    MUSTER_REQUIRED(std::string, name, "");
  };

  MUSTER_DESCRIBED(StoredOrder);
  MUSTER_REQUIRED(std::string, id, "");
  MUSTER_REQUIRED(std::int64_t, created, "") = 0;
  MUSTER_REQUIRED(std::vector<Node>, nodes, "");
};

struct StoredEvent {
  MUSTER_DESCRIBED(StoredEvent);
  MUSTER_REQUIRED(std::string, at, "");
  MUSTER_REQUIRED(std::string, node, "");
  MUSTER_REQUIRED(std::string, kind, "");
  MUSTER_FIELD(std::string, context, "");
  MUSTER_FIELD(std::string, job, "");
  MUSTER_FIELD(std::string, check, "");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::string, message, "");
  MUSTER_FIELD(std::string, reason, "");
  MUSTER_FIELD(std::string, boot_id, "");
};

// Those of muster.repair/1.
struct StoredAction {
  MUSTER_DESCRIBED(StoredAction);
  MUSTER_REQUIRED(std::string, id, "");
  MUSTER_REQUIRED(std::string, at, "");
  MUSTER_REQUIRED(std::string, node, "");
  MUSTER_REQUIRED(std::string, rung, "");
  MUSTER_REQUIRED(std::string, state, "");
  MUSTER_REQUIRED(std::string, incident, "");
  MUSTER_FIELD(std::string, check, "");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::string, boot_id, "");
};

// A node whose clock is wrong would be up for decades, or be the present of the whole fleet.
Result<std::int64_t> time_of(std::string_view text) {
  constexpr std::int64_t kEarliest = 1'577'836'800;  // 2020
  constexpr std::int64_t kFarthest_s = 400L * 86'400;
  if (const auto parsed = parse_utc(text)) {
    const auto time = parsed->time_since_epoch().count();
    const auto now = wall_time().time_since_epoch().count();
    if (time >= kEarliest && time <= now + kFarthest_s) return time;
    return make_error("/started: {}: the clock of the node was wrong", printable(text, 40));
  }
  return make_error(fmt::format("/started: invalid time \"{}\", expected 2026-11-20T12:00:00Z",
                                printable(text, 40)));
}

Result<std::string> node_name(std::string_view text) {
  if (!trim(text).empty()) return printable_name(text);
  return make_error("/node: empty, expected the name of a node");
}

std::string conditions_of(const MeasurementConditions& on) {
  auto same = on;
  same.test.clear();
  same.device.clear();
  return to_json_line(same);
}

Result<Values> values_of(const StoredReport& report) {
  auto values = report.values;
  for (const auto& each : report.readings) {
    if (each.metric.ends_with("_info")) continue;
    auto quantity = each.metric;
    std::string_view device = "node";
    for (const auto& [label, text] : each.labels) {
      if (label == "device") {
        device = text;
      } else {
        quantity += fmt::format(" {}", text);
      }
    }
    values.add(quantity, device, "", each.value);
  }
  for (const auto& each : report.measurements) {
    const auto& on = each.conditions;
    const auto quantity =
        fmt::format("{} {}", on.test.empty() ? on.collective : on.test, each.quantity);
    values.add(quantity, on.device, each.unit, each.value, conditions_of(on));
  }
  return values.take();
}

// The ids of the checks that came to a judgement.
std::string scope_of(const StoredReport& report) {
  std::string scope;
  JsonWriter json(scope, kLongestName);
  std::vector<std::string> judged;
  for (const auto& check : report.checks) {
    const bool is_judged = check.outcome != Outcome::unknown && check.outcome != Outcome::skip;
    if (is_judged) judged.push_back(check.id);
  }
  json.write(judged);
  return scope;
}

std::string found_in(const StoredReport& report,
                     const std::function<std::optional<std::string>(const Finding&)>& device_of) {
  std::vector<FoundFinding> found;
  for (const auto& each : report.findings) {
    if (each.outcome == Outcome::pass || each.outcome == Outcome::skip) continue;
    const auto device = device_of(each);
    if (!device) continue;
    found.push_back({.check = each.check,
                     .device = *device,
                     .outcome = each.outcome,
                     .code = each.code,
                     .remedy = each.remedy,
                     .message = printable(each.message, kLongestMessage),
                     .observed = each.observed,
                     .limit = each.limit,
                     .unit = each.unit});
  }
  std::string text;
  if (!found.empty()) JsonWriter(text, kLongestName).write(found);
  return text;
}

Fitting fitting_of(std::vector<Part> parts, const std::string& physical_host) {
  std::erase_if(parts, [](const Part& part) { return part.serial.empty() || part.kind.empty(); });
  if (!physical_host.empty()) {
    parts.push_back({.kind = "host", .device = "node", .serial = physical_host});
  }
  std::string text;
  for (const auto& part : parts) {
    for_each_field<Part>([&](const auto& field) { append_with_size(text, part.*field.member); });
  }
  return {.parts = std::move(parts), .sum = sum_of(text)};
}

std::string stack_text(const ByName<std::string>& stack) {
  std::string text;
  if (!stack.empty()) JsonWriter(text, kLongestName).write(stack);
  return text;
}

void finish(NodeReport& report) {
  report.setup = sum_of(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", report.context, report.benchmark,
                                    report.profile, report.physical_host, report.muster,
                                    report.stack, report.scope.sum));
}

Result<NodeReport> node_report(StoredReport from) {
  NodeReport report;
  TRY_ASSIGN(report.node, node_name(from.node.value_or("")));
  TRY_ASSIGN(report.at, time_of(from.started));
  report.boot_id = printable_name(from.boot_id);
  report.verdict = to_string(from.verdict);
  report.context = printable_name(from.context);
  report.benchmark = printable_name(from.benchmark);
  report.profile = printable_name(from.profile);
  report.physical_host = printable_name(from.physical_host);
  report.muster = printable_name(from.muster);
  report.stack = stack_text(from.stack);
  report.scope = make_entry(scope_of(from));
  report.fitting = fitting_of(std::move(from.parts), report.physical_host);
  TRY_ASSIGN(report.values, values_of(from));
  report.found = found_in(from, [](const Finding& finding) { return finding.device; });
  finish(report);
  return report;
}

// The device of a finding of a job if it is on this node: "gpu3" of "gpu-0007/gpu3 0000:8a:00.0".
std::optional<std::string> device_on(const std::string& node, const Finding& finding) {
  const std::string_view device = finding.device;
  if (device == node) return "node";
  if (!device.starts_with(node) || device.size() <= node.size() || device[node.size()] != '/') {
    return std::nullopt;
  }
  const auto rest = device.substr(node.size() + 1);
  return std::string(rest.substr(0, rest.find(' ')));
}

// A job says nothing about the nodes that it does not accuse.
Result<std::vector<Record>> job_records(const StoredReport& job, std::int64_t sum) {
  std::vector<Record> records;
  RunRecord run{.kind = printable_name(job.benchmark.empty() ? "job" : job.benchmark),
                .name = fmt::format("{:016x}", static_cast<std::uint64_t>(sum)),
                .verdict = std::string(to_string(job.verdict)),
                .nodes = {}};
  TRY_ASSIGN(run.at, time_of(job.started));
  JsonWriter(run.nodes, kLongestName).write(job.nodes);
  TRY_ASSIGN(run.values, values_of(job));
  records.emplace_back(std::move(run));
  for (const auto& accused : job.accused) {
    StoredReport about = job;
    about.node = accused;
    about.verdict = Verdict::unhealthy;
    about.parts.clear();
    about.values = {};
    about.measurements.clear();
    about.readings.clear();
    std::erase_if(about.checks,
                  [](const CheckResult& check) { return check.outcome != Outcome::fail; });
    TRY_ASSIGN(auto report, node_report(std::move(about)));
    report.found =
        found_in(job, [&](const Finding& finding) { return device_on(accused, finding); });
    report.sum = sum;
    records.emplace_back(std::move(report));
  }
  return records;
}

Result<std::vector<Record>> records_of(StoredReport report, std::int64_t sum) {
  if (!report.node) return job_records(report, sum);
  TRY_ASSIGN(auto about, node_report(std::move(report)));
  about.sum = sum;
  std::vector<Record> records;
  records.emplace_back(std::move(about));
  return records;
}

// The answer of a node to a step of an acceptance: its inventory, and its reports.
Result<std::vector<Record>> records_of(const StoredAnswer& answer, std::int64_t sum) {
  std::vector<Record> records;
  const auto add = [&](StoredReport report) -> Result<void> {
    if (!report.node) report.node = answer.host;
    if (report.boot_id.empty()) report.boot_id = answer.boot_id;
    if (report.physical_host.empty()) report.physical_host = answer.physical_host;
    if (report.parts.empty()) report.parts = answer.parts;
    if (report.stack.empty()) report.stack = answer.stack;
    TRY_ASSIGN(auto about, node_report(std::move(report)));
    about.sum = sum + static_cast<std::int64_t>(records.size());
    records.emplace_back(std::move(about));
    return {};
  };
  for (const auto& report : answer.reports) TRY(add(report));
  if (!answer.reports.empty() || answer.at <= 0) return records;
  TRY(add({.node = answer.host,
           .profile = answer.profile,
           .context = "accept",
           .started = utc(answer.at),
           .muster = answer.muster}));
  std::get<NodeReport>(records.back()).verdict.clear();
  return records;
}

Result<std::vector<Record>> one(Record record) {
  std::vector<Record> records;
  records.push_back(std::move(record));
  return records;
}

Result<std::vector<Record>> records_of(const StoredOrder& order, std::int64_t /*sum*/) {
  RunRecord run{.kind = "accept", .name = printable_name(order.id), .verdict = "", .nodes = {}};
  run.at = order.created;
  std::vector<std::string> nodes;
  for (const auto& node : order.nodes) nodes.push_back(node.name);
  JsonWriter(run.nodes, kLongestName).write(nodes);
  return one(std::move(run));
}

Result<std::vector<Record>> records_of(const StoredEvent& event, std::int64_t sum) {
  EventRecord record{.sum = sum,
                     .kind = printable_name(event.kind),
                     .context = printable_name(event.context),
                     .job = printable_name(event.job),
                     .check = printable_name(event.check),
                     .device = printable_name(event.device),
                     .message = printable(event.message, kLongestMessage),
                     .reason = printable(event.reason, kLongestMessage),
                     .boot_id = printable_name(event.boot_id)};
  TRY_ASSIGN(record.node, node_name(event.node));
  TRY_ASSIGN(record.at, time_of(event.at));
  return one(std::move(record));
}

// A line of the repair journal is kept as an event of the kind "action": its rung is the context,
// its state the message, and its incident the reason.
Result<std::vector<Record>> records_of(const StoredAction& action, std::int64_t sum) {
  return records_of(StoredEvent{.at = action.at,
                                .node = action.node,
                                .kind = std::string(kActionKind),
                                .context = action.rung,
                                .job = action.id,
                                .check = action.check,
                                .device = action.device,
                                .message = action.state,
                                .reason = action.incident,
                                .boot_id = action.boot_id},
                    sum);
}

template <class T>
Result<std::vector<Record>> read_as(const JsonReader& json, std::int64_t sum) {
  T document;
  json.read(document);
  if (json.failed()) return std::vector<Record>();
  return records_of(std::move(document), sum);
}

Result<std::vector<Record>> read_attempt(const JsonReader& json, std::int64_t sum) {
  std::optional<StoredAnswer> answer;
  json.member("answer", answer);
  if (!answer || json.failed()) return one(Nothing{});
  return records_of(*answer, sum);
}

// The led node's answer has the report of the job.
Result<std::vector<Record>> read_group_attempt(const JsonReader& json, std::int64_t sum) {
  std::optional<StoredAnswer> answer;
  json.member("answer", answer);
  std::vector<Record> records;
  if (!answer || json.failed()) return records;
  for (const auto& report : answer->reports) {
    if (report.node) continue;
    TRY_ASSIGN(auto more, records_of(report, sum + static_cast<std::int64_t>(records.size())));
    std::ranges::move(more, std::back_inserter(records));
  }
  return records;
}

Result<std::vector<Record>> read_nothing(const JsonReader& /*json*/, std::int64_t /*sum*/) {
  return one(Nothing{});
}

struct Schema {
  std::string_view name;
  int version;
  Result<std::vector<Record>> (*read)(const JsonReader& json, std::int64_t sum);
};

constexpr std::string_view kSnapshotName = "muster.snapshot";
constexpr std::array kSchemas{
    Schema{"muster.report", 1, read_as<StoredReport>},
    Schema{"muster.event", 1, read_as<StoredEvent>},
    Schema{"muster.repair", 1, read_as<StoredAction>},
    Schema{"muster.attempt", 1, read_attempt},
    Schema{"muster.group_attempt", 1, read_group_attempt},
    Schema{"muster.acceptance", 1, read_as<StoredOrder>},
    Schema{kSnapshotName, 1, nullptr},
    // Other files in the folder of an acceptance.
    Schema{"muster.accept", 1, read_nothing},
    Schema{"muster.decision", 1, read_nothing},
    Schema{"muster.started", 1, read_nothing},
};

Result<Schema> schema_of(const JsonReader& json) {
  std::string named;
  json.member("schema", named);
  const auto slash = named.find('/');
  const auto found =
      std::ranges::find(kSchemas, std::string_view(named).substr(0, slash), &Schema::name);
  if (named.empty()) return make_error("not a document of muster: no \"schema\"");
  if (found == kSchemas.end() || slash == std::string::npos) {
    return make_error(fmt::format("unknown schema \"{}\", expected one such as muster.report/1",
                                  printable(named, 60)));
  }
  const auto version = parse_unsigned(std::string_view(named).substr(slash + 1));
  if (version && *version == static_cast<std::uint64_t>(found->version)) return *found;
  return make_error(fmt::format("{}: of another muster, expected {}/{}", printable(named, 60),
                                found->name, found->version));
}

Result<std::vector<Record>> read_report_text(std::string_view text, std::int64_t sum) {
  Result<std::vector<Record>> records;
  TRY(read_json_text(text,
                     [&](const JsonReader& json) { records = read_as<StoredReport>(json, sum); }));
  return records;
}

Result<std::vector<Record>> read_snapshot(std::string_view text, std::int64_t sum,
                                          const JudgeSnapshot& judge) {
  TRY_ASSIGN(const auto snapshot, parse_snapshot(text));
  TRY_ASSIGN(const auto json, judge(snapshot));
  TRY_ASSIGN(auto records, read_report_text(json, sum));
  return one(SnapshotRecord{.report = std::get<NodeReport>(std::move(records.front())),
                            .document = compressed(text)});
}

}  // namespace

void append_with_size(std::string& all, std::string_view text) {
  const std::uint64_t size = text.size();
  all.append(reinterpret_cast<const char*>(&size), sizeof size);
  all += text;
}

std::int64_t sum_of(std::string_view text) {
  const auto digest = sha256_bytes(text);
  std::int64_t sum = 0;
  std::memcpy(&sum, digest.data(), sizeof sum);
  return sum;
}

Entry make_entry(std::string text) {
  Entry entry{.text = std::move(text)};
  if (!entry.text.empty()) entry.sum = sum_of(entry.text);
  return entry;
}

Result<std::vector<Record>> parse_document(std::string_view text, const JudgeSnapshot& judge) {
  const auto sum = sum_of(text);
  Result<std::vector<Record>> records;
  bool is_snapshot = false;
  TRY(read_json_text(text, [&](const JsonReader& json) {
    if (!json.expect_object()) return;
    const auto schema = schema_of(json);
    if (!schema) {
      records = tl::unexpected(schema.error());
      return;
    }
    is_snapshot = schema->read == nullptr;
    if (!is_snapshot) records = schema->read(json, sum);
  }));
  if (is_snapshot) return read_snapshot(text, sum, judge);
  return records;
}

}  // namespace muster::fleet
