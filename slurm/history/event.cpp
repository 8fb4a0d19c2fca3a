// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/event.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

using Json = nlohmann::ordered_json;

struct TextField {
  const char* key;
  std::string Event::*text;
};

constexpr std::array kTextFields{
    TextField{"node", &Event::node},       TextField{"kind", &Event::kind},
    TextField{"context", &Event::context}, TextField{"job", &Event::job},
    TextField{"check", &Event::check},     TextField{"device", &Event::device},
    TextField{"message", &Event::message}, TextField{"reason", &Event::reason},
    TextField{"boot_id", &Event::boot_id}};

std::string to_text_line(const Json& json) {
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

Json to_json(const Event& event) {
  Json json{{"schema", "muster.event/1"}, {"id", event.id}, {"at", utc(event.at)}};
  for (const auto& [key, text] : kTextFields) json[key] = event.*text;
  return json;
}

}  // namespace

std::string utc(Time time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time.time_since_epoch().count()));
}

std::string summary(const Event& event) {
  return fmt::format("{} {}: {}", event.kind, printable(event.node, 100), printable(event.message));
}

std::string to_line(const Event& event) {
  const auto job = event.job.empty() ? "" : fmt::format(" job {}", printable(event.job, 40));
  return fmt::format("{} {} {} {}{}: {}\n", utc(event.at), event.kind, printable(event.node, 100),
                     event.context, job, printable(event.message));
}

std::string to_json_line(const Event& event) {
  auto json = to_json(event);
  for (const auto* key : {"node", "job", "device"}) {
    json[key] = printable(json[key].get_ref<const std::string&>());
  }
  json["message"] = printable(event.message, 1000);
  return to_text_line(json);
}

std::string to_stored_line(const Event& event) {
  auto json = to_json(event);
  json["seconds"] = event.at.time_since_epoch().count();
  return to_text_line(json);
}

std::optional<Event> parse_stored_line(std::string_view line) {
  const auto json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto id = json.find("id");
  const auto seconds = json.find("seconds");
  if (id == json.end() || !id->is_number_integer()) return std::nullopt;
  if (seconds == json.end() || !seconds->is_number_integer()) return std::nullopt;
  Event event{.id = id->get<std::int64_t>(),
              .at = Time(std::chrono::seconds(seconds->get<std::int64_t>()))};
  for (const auto& [key, text] : kTextFields) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return std::nullopt;
    event.*text = found->get<std::string>();
  }
  return event;
}

}  // namespace muster::slurm
