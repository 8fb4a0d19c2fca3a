// SPDX-License-Identifier: Apache-2.0
// A snapshot and its sections as JSON, both ways.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/node/decode.hpp"
#include "lib/node/encode.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {
namespace {

using json::Decoder;
using json::Json;

// Bytes that are not UTF-8 (a kernel log holds what users like) become U+FFFD.
std::string dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> parse(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& failure) {
    return make_error(printable(failure.what(), 200));
  }
}

}  // namespace

std::string to_json(const Snapshot& snapshot) {
  Json document = Json::object();
  document.push_back({"schema", std::string(kSnapshotSchema)});
  document.push_back({"taken", snapshot.taken});
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    document.push_back({std::string(to_string(probe)), json::encode(section)});
  });
  document.push_back({"earlier", json::encode(snapshot.earlier)});
  return dump(document);
}

Result<Snapshot> parse_snapshot(std::string_view text) {
  const auto document = parse(text);
  if (!document) return tl::unexpected(document.error());
  Decoder decoder;
  std::string schema;
  decoder.member(*document, "schema", schema);
  if (decoder.error().empty() && schema != kSnapshotSchema) {
    return make_error(fmt::format(
        "/schema: expected \"{}\", got \"{}\"", kSnapshotSchema, printable(schema, 60)));
  }
  Snapshot snapshot;
  decoder.member(*document, "taken", snapshot.taken);
  for_each_section(snapshot, [&](Probe probe, auto& section) {
    decoder.member(*document, to_string(probe), section);
  });
  decoder.member(*document, "earlier", snapshot.earlier);
  if (!decoder.error().empty()) return make_error(decoder.error());
  return snapshot;
}

template <class T>
std::string section_to_json(const Section<T>& section) {
  return dump(json::encode(section));
}

template <class T>
Result<Section<T>> parse_section(std::string_view text) {
  const auto document = parse(text);
  if (!document) return tl::unexpected(document.error());
  Decoder decoder;
  Section<T> section;
  decoder.read(*document, section);
  if (!decoder.error().empty()) return make_error(decoder.error());
  return section;
}

#define MUSTER_SECTION(T)                                     \
  template std::string section_to_json<T>(const Section<T>&); \
  template Result<Section<T>> parse_section<T>(std::string_view);
MUSTER_SECTION(Identity)
MUSTER_SECTION(Cpu)
MUSTER_SECTION(Memory)
MUSTER_SECTION(Mounts)
MUSTER_SECTION(Disks)
MUSTER_SECTION(Processes)
MUSTER_SECTION(Kernel)
MUSTER_SECTION(KernelLog)
MUSTER_SECTION(Services)
MUSTER_SECTION(Network)
MUSTER_SECTION(Pci)
MUSTER_SECTION(Infiniband)
MUSTER_SECTION(Verbs)
MUSTER_SECTION(Topology)
MUSTER_SECTION(Environment)
MUSTER_SECTION(Earlier)
#undef MUSTER_SECTION

}  // namespace muster
