// SPDX-License-Identifier: Apache-2.0
// Reads muster.report/1 back. The text may come from anywhere: every type is asked for before it
// is used, and the first thing that is wrong is named by its place.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "lib/base/json.hpp"
#include "lib/base/text.hpp"
#include "lib/report/keys.hpp"

namespace muster {
namespace {

using Json = nlohmann::json;

std::optional<Verdict> parse_verdict(std::string_view word) {
  for (const auto verdict : {Verdict::healthy, Verdict::unhealthy, Verdict::unknown}) {
    if (word == to_string(verdict)) return verdict;
  }
  return std::nullopt;
}

// Reads the members of one object; what cannot be read is left as it was. All readers of a document
// share the first complaint.
class Reader {
 public:
  Reader(const Json& object, std::string place, std::string& complaint)
      : object_(object), place_(std::move(place)), complaint_(complaint) {}

  void schema(std::string_view expected) {
    std::string seen;
    (*this)("schema", seen);
    if (seen != expected) complain("schema", fmt::format("expected \"{}\"", expected));
  }

  template <class T>
  void operator()(const char* key, T& target, Presence presence = Presence::required) {
    if (const auto found = object_.find(key); found != object_.end()) {
      read(key, *found, target);
    } else if (presence == Presence::required) {
      complain(key, "is missing");
    }
  }

 private:
  void complain(std::string_view key, std::string_view what) {
    if (complaint_.empty()) complaint_ = fmt::format("{}/{}: {}", place_, key, what);
  }

  void read(const char* key, const Json& json, std::string& target) {
    if (!json.is_string()) return complain(key, "expected a string");
    target = json.get<std::string>();
  }

  void read(const char* key, const Json& json, bool& target) {
    if (!json.is_boolean()) return complain(key, "expected true or false");
    target = json.get<bool>();
  }

  void read(const char* key, const Json& json, double& target) {
    if (!json.is_number()) return complain(key, "expected a number");
    target = json.get<double>();
  }

  void read(const char* key, const Json& json, std::int64_t& target) {
    if (!json.is_number_integer()) return complain(key, "expected a whole number");
    target = json.get<std::int64_t>();
  }

  void read(const char* key, const Json& json, Outcome& target) {
    read_word(key, json, parse_outcome, "is no outcome", target);
  }

  void read(const char* key, const Json& json, Remedy& target) {
    read_word(key, json, parse_remedy, "is no remedy", target);
  }

  void read(const char* key, const Json& json, Verdict& target) {
    read_word(key, json, parse_verdict, "is no verdict", target);
  }

  template <class Word, class Parse>
  void read_word(const char* key, const Json& json, Parse parse, std::string_view complaint,
                 Word& target) {
    std::string word;
    read(key, json, word);
    if (const auto parsed = parse(word)) {
      target = *parsed;
    } else {
      complain(key, complaint);
    }
  }

  void read(const char* key, const Json& json, Value& target) {
    if (json.is_null()) return;
    if (json.is_boolean()) {
      target = json.get<bool>();
    } else if (json.is_number_integer()) {
      target = json.get<std::int64_t>();
    } else if (json.is_number()) {
      target = json.get<double>();
    } else if (json.is_string()) {
      target = json.get<std::string>();
    } else {
      complain(key, "expected a plain value");
    }
  }

  template <class T>
  void read(const char* key, const Json& json, std::optional<T>& target) {
    if (!json.is_null()) read(key, json, target.emplace());
  }

  template <class T>
  void read(const char* key, const Json& json, std::vector<T>& target) {
    if (!json.is_array()) return complain(key, "expected a list");
    for (const auto& each : json) {
      if constexpr (std::is_same_v<T, std::string>) {
        if (!each.is_string()) return complain(key, "expected strings");
        target.push_back(each.get<std::string>());
      } else if constexpr (std::is_same_v<T, double>) {
        if (!each.is_number()) return complain(key, "expected numbers");
        target.push_back(each.get<double>());
      } else {
        const auto index = target.size();
        read(fmt::format("{}/{}", key, index).c_str(), each, target.emplace_back());
      }
    }
  }

  template <class T>
  void read(const char* key, const Json& json, T& target) {
    if (!json.is_object()) return complain(key, "expected an object");
    Reader inside(json, fmt::format("{}/{}", place_, key), complaint_);
    each_key(target, inside);
  }

  const Json& object_;
  std::string place_;
  std::string& complaint_;
};

}  // namespace

Result<Report> parse_report(std::string_view json) {
  const auto document = parse_json(json);
  if (!document) return make_error("a report: not valid JSON");
  if (!document->is_object()) return make_error("a report: expected an object");
  Report report;
  std::string complaint;
  Reader reader(*document, "", complaint);
  each_key(report, reader);
  if (!complaint.empty()) return make_error(complaint);
  return report;
}

}  // namespace muster
