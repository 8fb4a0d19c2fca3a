// SPDX-License-Identifier: Apache-2.0
// A snapshot and its sections as JSON, both ways.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/node/decode.hpp"
#include "lib/node/encode.hpp"
#include "lib/node/json_trouble.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {
namespace {

using json::Decoder;
using json::Encoder;

// `take` is given a decoder and the document.
template <class T, class Take>
Result<T> parse(std::string_view text, T value, Take&& take) {
  thread_local simdjson::dom::parser parser;  // its buffers serve again
  json::Element document;
  const auto failure = parser.parse(text.data(), text.size()).get(document);
  if (failure != simdjson::SUCCESS) {
    return make_error(json_trouble(text, simdjson::error_message(failure)));
  }
  Decoder decoder;
  take(decoder, document, value);
  if (!decoder.error().empty()) return make_error(printable(decoder.error()));
  return value;
}

void read_schema(Decoder& decoder, json::Members& members, std::string_view expected) {
  std::string schema;
  decoder.member(members, "schema", schema);
  if (schema == expected) return;
  decoder.refuse(
      fmt::format(R"(/schema: expected "{}", got "{}")", expected, printable(schema, 60)));
}

void read_snapshot(Decoder& decoder, const json::Element& document, Snapshot& snapshot) {
  decoder.object(document, [&](json::Members& members) {
    read_schema(decoder, members, kSnapshotSchema);
    decoder.member(members, "taken", snapshot.taken);
    for_each_section(snapshot, [&](Probe probe, auto& section) {
      decoder.member(members, to_string(probe), section);
    });
    decoder.member(members, "earlier", snapshot.earlier);
  });
}

// What a run says of its own reading is no part of the state.
bool is_kept(std::string_view field) { return field != "note" && field != "wall_s"; }

void read_state_file(Decoder& decoder, const json::Element& document, Earlier& state) {
  decoder.object(document, [&](json::Members& members) {
    read_schema(decoder, members, kStateSchema);
    for_each_field<Earlier>([&](const auto& field) {
      if (is_kept(field.name)) decoder.member(members, field.name, state.*field.member);
    });
  });
}

}  // namespace

std::string to_json(const Snapshot& snapshot) {
  Encoder encoder;
  encoder.object([&] {
    encoder.member("schema", kSnapshotSchema);
    encoder.member("taken", snapshot.taken);
    for_each_section(snapshot, [&](Probe probe, const auto& section) {
      encoder.member(to_string(probe), section);
    });
    encoder.member("earlier", snapshot.earlier);
  });
  return encoder.take();
}

Result<Snapshot> parse_snapshot(std::string_view text) {
  return parse(text, Snapshot{}, read_snapshot);
}

std::string state_to_json(const Earlier& earlier) {
  Encoder encoder;
  encoder.object([&] {
    encoder.member("schema", kStateSchema);
    for_each_field<Earlier>([&](const auto& field) {
      if (is_kept(field.name)) encoder.member(field.name, earlier.*field.member);
    });
  });
  return encoder.take();
}

Result<Earlier> parse_state(std::string_view text) {
  return parse(text, Earlier{}, read_state_file);
}

template <class T>
std::string section_to_json(const Section<T>& section) {
  Encoder encoder;
  encoder.write(section);
  return encoder.take();
}

template <class T>
Result<Section<T>> parse_section(std::string_view text) {
  return parse(text, Section<T>{}, [](Decoder& decoder, const auto& document, auto& section) {
    decoder.read(document, section);
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define MUSTER_SECTION(T)                                     \
  template std::string section_to_json<T>(const Section<T>&); \
  template Result<Section<T>> parse_section<T>(std::string_view);
// NOLINTEND(bugprone-macro-parentheses)
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
MUSTER_SECTION(Nvml)
MUSTER_SECTION(Earlier)
#undef MUSTER_SECTION

}  // namespace muster
