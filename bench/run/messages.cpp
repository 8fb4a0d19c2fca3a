// SPDX-License-Identifier: Apache-2.0
#include "bench/run/messages.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace muster::bench {
namespace {

using Json = nlohmann::json;

Json json_of(const Member& member) {
  return {{"rank", member.rank},
          {"host", member.host},
          {"pid", member.pid},
          {"device", member.device},
          {"device_id", member.device_id},
          {"pci_address", member.pci_address}};
}

Member member_from(const Json& json) {
  return {.rank = json.at("rank"),
          .host = json.at("host"),
          .pid = json.at("pid"),
          .device = json.at("device"),
          .device_id = json.at("device_id"),
          .pci_address = json.at("pci_address")};
}

Json json_of(const Wrong& wrong) {
  return {{"rank", wrong.rank},
          {"elements", wrong.elements},
          {"first", wrong.first},
          {"observed", wrong.observed},
          {"low", wrong.low},
          {"high", wrong.high}};
}

Wrong wrong_from(const Json& json) {
  return {.rank = json.at("rank"),
          .elements = json.at("elements"),
          .first = json.at("first"),
          .observed = json.at("observed"),
          .low = json.at("low"),
          .high = json.at("high")};
}

Json json_of(const std::vector<Rendezvous>& doors) {
  Json list = Json::array();
  for (const auto& each : doors) list.push_back({{"host", each.host}, {"port", each.port}});
  return list;
}

std::vector<Rendezvous> doors_from(const Json& json) {
  std::vector<Rendezvous> doors;
  for (const auto& each : json) doors.push_back({.host = each.at("host"), .port = each.at("port")});
  return doors;
}

// The texts of one version of this program on another node: whatever does not fit is that node's.
template <class T, class Make>
Result<T> parse(std::string_view text, int rank, const Make& make) {
  try {
    return make(Json::parse(text));
  } catch (const Json::exception& error) {
    return make_error(
        fmt::format("rank {} runs another version of muster-bench: its answer cannot be read ({})",
                    rank,
                    error.what()));
  }
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_wire(const Introduction& introduction) {
  return dump({{"host", introduction.host},
               {"pid", introduction.pid},
               {"backend", introduction.backend},
               {"profile", introduction.profile},
               {"asked", introduction.asked},
               {"doors", json_of(introduction.doors)}});
}

std::string to_wire(const Agreement& agreement) {
  return dump({{"complaint", agreement.complaint},
               {"hosts", agreement.hosts},
               {"local_ranks", agreement.local_ranks},
               {"deputy", agreement.deputy},
               {"doors", json_of(agreement.doors)}});
}

std::string to_wire(const std::vector<Member>& members) {
  Json list = Json::array();
  for (const auto& member : members) list.push_back(json_of(member));
  return dump(list);
}

std::string to_wire(const Told& told) {
  Json samples = Json::array();
  for (const auto& each : told.samples) {
    samples.push_back({{"rank", each.rank}, {"seconds", each.seconds}});
  }
  Json wrong = Json::array();
  for (const auto& each : told.wrong) wrong.push_back(json_of(each));
  return dump({{"samples", std::move(samples)}, {"wrong", std::move(wrong)}});
}

Result<Introduction> parse_introduction(std::string_view text, int rank) {
  return parse<Introduction>(text, rank, [](const Json& json) {
    return Introduction{.host = json.at("host"),
                        .pid = json.at("pid"),
                        .backend = json.at("backend"),
                        .profile = json.at("profile"),
                        .asked = json.at("asked"),
                        .doors = doors_from(json.at("doors"))};
  });
}

Result<Agreement> parse_agreement(std::string_view text) {
  return parse<Agreement>(text, 0, [](const Json& json) {
    return Agreement{.complaint = json.at("complaint"),
                     .hosts = json.at("hosts").get<std::vector<std::string>>(),
                     .local_ranks = json.at("local_ranks").get<std::vector<int>>(),
                     .deputy = json.at("deputy"),
                     .doors = doors_from(json.at("doors"))};
  });
}

Result<std::vector<Member>> parse_members(std::string_view text, int rank) {
  return parse<std::vector<Member>>(text, rank, [](const Json& json) {
    std::vector<Member> members;
    for (const auto& each : json) members.push_back(member_from(each));
    return members;
  });
}

Result<Told> parse_told(std::string_view text, int rank) {
  return parse<Told>(text, rank, [](const Json& json) {
    Told told;
    for (const auto& each : json.at("samples")) {
      told.samples.push_back({.rank = each.at("rank"), .seconds = each.at("seconds")});
    }
    for (const auto& each : json.at("wrong")) told.wrong.push_back(wrong_from(each));
    return told;
  });
}

}  // namespace muster::bench
