// SPDX-License-Identifier: Apache-2.0
// A snapshot and its sections from JSON.
#include <fmt/format.h>

#include <string>

#include "lib/base/text.hpp"
#include "lib/node/json/decode.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {
namespace {

using json::Decoder;

// `take` is given a decoder, the document and the value to fill.
template <class T, class Take>
Result<T> parse(std::string_view text, const Take& take) {
  Decoder decoder;
  Result<T> value;
  decoder.document(text, [&](const json::Element& document) { take(decoder, document, *value); });
  if (!decoder.error().empty()) return make_error(decoder.error());
  return value;
}

void read_schema(Decoder& decoder, json::Members& members, std::string_view expected) {
  std::string schema;
  decoder.member(members, "schema", schema);
  if (schema == expected) return;
  decoder.refuse(printable(
      fmt::format(R"(/schema: expected "{}", got "{}")", expected, printable(schema, 60))));
}

void read_snapshot(Decoder& decoder, const json::Element& document, Snapshot& snapshot) {
  decoder.object(document, [&](json::Members& members) {
    read_schema(decoder, members, kSnapshotSchema);
    decoder.member(members, "taken", snapshot.taken);
    for_each_section(snapshot, [&](Probe probe, auto& section) {
      decoder.member(members, to_string(probe), section);
    });
    decoder.member(members, "earlier", snapshot.earlier);
    snapshot.xids = find_xids(*snapshot.kernel_log);
  });
}

void read_state_file(Decoder& decoder, const json::Element& document, Earlier& state) {
  decoder.object(document, [&](json::Members& members) {
    read_schema(decoder, members, kStateSchema);
    for_each_field<Earlier>([&](const auto& field) {
      if (is_kept_in_state(field.name)) decoder.member(members, field.name, state.*field.member);
    });
  });
}

}  // namespace

Result<Snapshot> parse_snapshot(std::string_view text) {
  return parse<Snapshot>(text, read_snapshot);
}

Result<Earlier> parse_state(std::string_view text) { return parse<Earlier>(text, read_state_file); }

template <class T>
Result<Section<T>> parse_section(std::string_view text) {
  return parse<Section<T>>(text, [](Decoder& decoder, const json::Element& document,
                                    Section<T>& section) { decoder.read(document, section); });
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define MUSTER_SECTION(T) template Result<Section<T>> parse_section<T>(std::string_view);
// NOLINTEND(bugprone-macro-parentheses)
MUSTER_SECTIONS(MUSTER_SECTION)
#undef MUSTER_SECTION

}  // namespace muster
