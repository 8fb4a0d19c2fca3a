// SPDX-License-Identifier: Apache-2.0
// A snapshot and its sections as JSON.
#include <string>

#include "lib/node/json/encode.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {

using json::Encoder;

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

std::string state_to_json(const Earlier& earlier) {
  Encoder encoder;
  encoder.object([&] {
    encoder.member("schema", kStateSchema);
    for_each_field<Earlier>([&](const auto& field) {
      if (is_kept_in_state(field.name)) encoder.member(field.name, earlier.*field.member);
    });
  });
  return encoder.take();
}

template <class T>
std::string section_to_json(const Section<T>& section) {
  Encoder encoder;
  encoder.write(section);
  return encoder.take();
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define MUSTER_SECTION(T) template std::string section_to_json<T>(const Section<T>&);
// NOLINTEND(bugprone-macro-parentheses)
MUSTER_SECTIONS(MUSTER_SECTION)
#undef MUSTER_SECTION

}  // namespace muster
