// SPDX-License-Identifier: Apache-2.0
// The keys of muster.report/1 and muster.measurement/1, in their order: what writes JSON and what
// reads it both go by these lists. Inside lib/report only.
#pragma once

#include <concepts>
#include <type_traits>

#include "lib/report/report.hpp"

namespace muster {

enum class Presence {
  required,
  may_be_missing,  // in what another version wrote
  unless_empty,    // written only where there is something to say
  on_request,      // written only with RenderOptions::every_iteration
};

// T, or const T.
template <class Given, class T>
concept Is = std::same_as<std::remove_const_t<Given>, T>;

// Each calls visit(key, member, presence) for the members of an object.
template <Is<CheckResult> T, class Visit>
void each_key(T& check, Visit& visit) {
  visit("id", check.id);
  visit("outcome", check.outcome);
}

template <Is<Finding> T, class Visit>
void each_key(T& finding, Visit& visit) {
  visit("check", finding.check);
  visit("device", finding.device);
  visit("outcome", finding.outcome);
  visit("message", finding.message);
  visit("observed", finding.observed, Presence::may_be_missing);
  visit("limit", finding.limit, Presence::may_be_missing);
  visit("unit", finding.unit, Presence::may_be_missing);
  visit("remedy", finding.remedy);
  visit("code", finding.code, Presence::may_be_missing);
  visit("category", finding.category, Presence::may_be_missing);
}

template <Is<ProbeResult> T, class Visit>
void each_key(T& probe, Visit& visit) {
  visit("name", probe.name);
  visit("status", probe.status);
  visit("duration_ms", probe.duration_ms);
  visit("reason", probe.reason, Presence::unless_empty);
}

template <Is<MeasurementConditions> T, class Visit>
void each_key(T& conditions, Visit& visit) {
  visit("collective", conditions.collective);
  visit("type", conditions.type);
  visit("reduction", conditions.reduction);
  visit("placement", conditions.placement);
  visit("size_bytes", conditions.size_bytes);
  visit("ranks", conditions.ranks);
  visit("nodes", conditions.nodes);
  visit("backend", conditions.backend);
  visit("library", conditions.library);
  visit("algorithm", conditions.algorithm);
  visit("iterations", conditions.iterations);
  visit("test", conditions.test, Presence::unless_empty);
  visit("device", conditions.device, Presence::unless_empty);
}

template <Is<MeasurementStatistics> T, class Visit>
void each_key(T& statistics, Visit& visit) {
  visit("median_us", statistics.median_us);
  visit("median_low_us", statistics.median_low_us, Presence::may_be_missing);
  visit("median_high_us", statistics.median_high_us, Presence::may_be_missing);
  visit("p5_us", statistics.p5_us);
  visit("p95_us", statistics.p95_us);
  visit("min_us", statistics.min_us);
  visit("mean_us", statistics.mean_us);
}

template <Is<MeasurementRepeats> T, class Visit>
void each_key(T& repeats, Visit& visit) {
  visit("count", repeats.count);
  visit("min", repeats.min);
  visit("median", repeats.median);
  visit("max", repeats.max);
  visit("deviation", repeats.deviation);
  visit("median_low", repeats.median_low, Presence::may_be_missing);
  visit("median_high", repeats.median_high, Presence::may_be_missing);
}

template <Is<Measurement> T, class Visit>
void each_key(T& measurement, Visit& visit) {
  visit.schema(kMeasurementSchema);
  visit("quantity", measurement.quantity);
  visit("value", measurement.value);
  visit("unit", measurement.unit);
  visit("conditions", measurement.conditions);
  visit("statistics", measurement.statistics, Presence::unless_empty);
  visit("repeats", measurement.repeats, Presence::unless_empty);
  visit("wrong_elements", measurement.wrong_elements, Presence::may_be_missing);
  visit("iterations_us", measurement.iterations_us, Presence::on_request);
}

template <Is<NotObserved> T, class Visit>
void each_key(T& gap, Visit& visit) {
  visit("what", gap.what);
  visit("reason", gap.reason);
  visit("required", gap.required);
}

template <Is<Coverage> T, class Visit>
void each_key(T& coverage, Visit& visit) {
  visit("judged", coverage.judged);
  visit("selected", coverage.selected);
  visit("not_observed", coverage.not_observed);
}

template <Is<Report> T, class Visit>
void each_key(T& report, Visit& visit) {
  visit.schema(kReportSchema);
  visit("node", report.node);
  visit("profile", report.profile);
  visit("profile_evidence", report.profile_evidence, Presence::may_be_missing);
  visit("context", report.context);
  visit("started", report.started);
  visit("duration_ms", report.duration_ms);
  visit("verdict", report.verdict);
  visit("coverage", report.coverage, Presence::may_be_missing);
  visit("physical_host", report.physical_host, Presence::may_be_missing);
  visit("nodes", report.nodes, Presence::unless_empty);
  visit("accused", report.accused, Presence::unless_empty);
  visit("muster", report.muster, Presence::may_be_missing);
  visit("snapshot", report.snapshot, Presence::may_be_missing);
  visit("checks", report.checks);
  visit("findings", report.findings);
  visit("probes", report.probes);
  visit("measurements", report.measurements, Presence::unless_empty);
  visit("ways", report.ways, Presence::unless_empty);
  visit("warnings", report.warnings, Presence::unless_empty);
}

}  // namespace muster
