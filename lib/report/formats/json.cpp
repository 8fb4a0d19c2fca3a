// SPDX-License-Identifier: Apache-2.0
// muster.report/1, for programs. Keys keep the order of the documents; every string is printable,
// so that a consumer that echoes one to a terminal is as safe as a reader of the text form.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "lib/report/keys.hpp"

namespace muster {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Makes one object. Numbers that JSON does not know, infinity and NaN, are written as null.
class Writer {
 public:
  explicit Writer(const RenderOptions& options) : options_(options) {}

  template <class T>
  [[nodiscard]] static OrderedJson object(const T& value, const RenderOptions& options) {
    Writer writer(options);
    each_key(value, writer);
    return std::move(writer.object_);
  }

  void schema(std::string_view name) { object_["schema"] = name; }

  template <class T>
  void operator()(const char* key, const T& value, Presence presence = Presence::required) {
    if (presence == Presence::on_request && !options_.every_iteration) return;
    if constexpr (requires { value.empty(); }) {
      if (presence == Presence::unless_empty && value.empty()) return;
    } else if constexpr (requires { value.has_value(); }) {
      if (presence == Presence::unless_empty && !value.has_value()) return;
    }
    object_[key] = json(value);
  }

  // Microseconds are as fine as a duration is known.
  void operator()(const char* key, double value) {
    const bool milliseconds = std::string_view(key).ends_with("_ms");
    object_[key] = milliseconds ? std::round(value * 1000.0) / 1000.0 : value;
  }

 private:
  [[nodiscard]] OrderedJson json(const std::string& text) const {
    constexpr std::size_t kMaxText = 4096;
    return printable(text, kMaxText);
  }

  [[nodiscard]] OrderedJson json(std::int64_t number) const { return number; }

  [[nodiscard]] OrderedJson json(double number) const { return number; }

  [[nodiscard]] OrderedJson json(bool value) const { return value; }

  [[nodiscard]] OrderedJson json(std::monostate /*none*/) const { return nullptr; }

  [[nodiscard]] OrderedJson json(const Value& value) const {
    return std::visit([this](const auto& each) { return json(each); }, value);
  }

  template <class T>
  [[nodiscard]] OrderedJson json(const std::optional<T>& value) const {
    return value ? json(*value) : OrderedJson(nullptr);
  }

  template <class T>
  [[nodiscard]] OrderedJson json(const std::vector<T>& list) const {
    auto array = OrderedJson::array();
    for (const auto& each : list) {
      if constexpr (std::is_same_v<T, Finding>) {
        if (is_plain_pass(each) && !options_.verbose) continue;
      }
      array.push_back(json(each));
    }
    return array;
  }

  template <class T>
  [[nodiscard]] OrderedJson json(const T& value) const {
    if constexpr (std::is_enum_v<T>) {
      return to_string(value);
    } else {
      return object(value, options_);
    }
  }

  const RenderOptions& options_;
  OrderedJson object_;
};

}  // namespace

std::string to_json(const Report& report, const RenderOptions& options) {
  const auto document = Writer::object(report, options);
  return fmt::format("{}\n", document.dump(options.indent > 0 ? options.indent : -1));
}

}  // namespace muster
