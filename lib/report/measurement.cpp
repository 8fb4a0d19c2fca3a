// SPDX-License-Identifier: Apache-2.0
#include "lib/report/measurement.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/report/measurement_json.hpp"

namespace muster {
namespace {

using Written = nlohmann::ordered_json;
using Read = nlohmann::json;

constexpr std::size_t kMaxText = 4096;

std::string text(std::string_view raw) { return printable(raw, kMaxText); }

// JSON has no infinity and no NaN.
Written number(double value) { return std::isfinite(value) ? Written(value) : Written(nullptr); }

Written number(const std::optional<double>& value) {
  return value ? number(*value) : Written(nullptr);
}

// Reads members of one object and remembers the first complaint.
class Members {
 public:
  Members(const Read& object, std::string place, std::string& complaint)
      : object_(object), place_(std::move(place)), complaint_(complaint) {}

  void read(const char* key, std::string& target) {
    const auto* value = find(key);
    if (value == nullptr) return;
    if (!value->is_string()) return complain(key, "expected a string");
    target = value->get<std::string>();
  }

  void read(const char* key, double& target) {
    const auto* value = find(key);
    if (value == nullptr) return;
    if (!value->is_number()) return complain(key, "expected a number");
    target = value->get<double>();
  }

  void read(const char* key, std::int64_t& target) {
    const auto* value = find(key);
    if (value == nullptr) return;
    if (!value->is_number_integer()) return complain(key, "expected a whole number");
    target = value->get<std::int64_t>();
  }

  // What may be null.
  template <class T>
  void read(const char* key, std::optional<T>& target) {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return;
    read(key, target.emplace());
  }

  void read(const char* key, std::vector<double>& target) {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    if (!found->is_array()) return complain(key, "expected a list");
    for (const auto& each : *found) {
      if (!each.is_number()) return complain(key, "expected numbers");
      target.push_back(each.get<double>());
    }
  }

  const Read* object(const char* key) {
    const auto* value = find(key);
    if (value == nullptr || value->is_object()) return value;
    complain(key, "expected an object");
    return nullptr;
  }

 private:
  const Read* find(const char* key) {
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    complain(key, "is missing");
    return nullptr;
  }

  void complain(const char* key, std::string_view what) {
    if (complaint_.empty()) complaint_ = fmt::format("{}/{}: {}", place_, key, what);
  }

  const Read& object_;
  std::string place_;
  std::string& complaint_;
};

// Both directions name the same members.
template <class Visit, class Conditions>
void each_condition(Conditions& conditions, const Visit& visit) {
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
}

template <class Visit, class Statistics>
void each_statistic(Statistics& statistics, const Visit& visit) {
  visit("median_us", statistics.median_us);
  visit("median_low_us", statistics.median_low_us);
  visit("median_high_us", statistics.median_high_us);
  visit("p5_us", statistics.p5_us);
  visit("p95_us", statistics.p95_us);
  visit("min_us", statistics.min_us);
  visit("mean_us", statistics.mean_us);
}

struct Write {
  Written& object;

  void operator()(const char* key, const std::string& value) const { object[key] = text(value); }

  void operator()(const char* key, std::int64_t value) const { object[key] = value; }

  void operator()(const char* key, double value) const { object[key] = number(value); }

  void operator()(const char* key, const std::optional<double>& value) const {
    object[key] = number(value);
  }
};

}  // namespace

Written to_object(const Measurement& measurement, bool every_iteration) {
  Written conditions;
  each_condition(measurement.conditions, Write{conditions});
  Written statistics;
  each_statistic(measurement.statistics, Write{statistics});
  Written object{{"schema", kMeasurementSchema},
                 {"quantity", text(measurement.quantity)},
                 {"value", number(measurement.value)},
                 {"unit", text(measurement.unit)},
                 {"conditions", conditions},
                 {"statistics", statistics}};
  object["wrong_elements"] =
      measurement.wrong_elements ? Written(*measurement.wrong_elements) : Written(nullptr);
  if (every_iteration) {
    auto list = Written::array();
    for (const double each : measurement.iterations_us) list.push_back(number(each));
    object["iterations_us"] = std::move(list);
  }
  return object;
}

Result<Measurement> read_measurement(const Read& object) {
  std::string complaint;
  Measurement measurement;
  std::string schema;
  Members members(object, "", complaint);
  members.read("schema", schema);
  if (complaint.empty() && schema != kMeasurementSchema) {
    complaint = fmt::format("/schema: expected \"{}\"", kMeasurementSchema);
  }
  members.read("quantity", measurement.quantity);
  members.read("value", measurement.value);
  members.read("unit", measurement.unit);
  if (const auto* inside = members.object("conditions")) {
    Members block(*inside, "/conditions", complaint);
    each_condition(measurement.conditions,
                   [&](const char* key, auto& target) { block.read(key, target); });
  }
  if (const auto* inside = members.object("statistics")) {
    Members block(*inside, "/statistics", complaint);
    each_statistic(measurement.statistics,
                   [&](const char* key, auto& target) { block.read(key, target); });
  }
  members.read("wrong_elements", measurement.wrong_elements);
  members.read("iterations_us", measurement.iterations_us);
  if (!complaint.empty()) return make_error(complaint);
  return measurement;
}

}  // namespace muster
