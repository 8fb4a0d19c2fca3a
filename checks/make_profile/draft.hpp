// SPDX-License-Identifier: Apache-2.0
// Collects the lines of a profile made from nodes.
#pragma once

#include <fmt/format.h>

#include <functional>

#include "checks/make_profile/make_profile.hpp"
#include "lib/profile/choice.hpp"

namespace muster::app {

// Returns a text as a quoted YAML string.
[[nodiscard]] std::string yaml_text(std::string_view text);

// A value as YAML; nothing if it is unknown on a node.
using YamlValue = std::optional<std::string>;

// Formats a fact or an optional value.
template <class Maybe>
[[nodiscard]] YamlValue yaml_value(const Maybe& value, std::string_view form = "{}") {
  if (!value) return std::nullopt;
  return fmt::format(fmt::runtime(form), *value);
}

// "[a, b]" and "{a: b}"; nothing for an empty list. The words are not quoted.
[[nodiscard]] YamlValue flow_list(const std::vector<std::string>& words);
[[nodiscard]] YamlValue flow_map(const std::vector<std::string>& entries);

class ProfileDraft {
 public:
  using ValueOf = std::function<YamlValue(const Snapshot& node)>;

  explicit ProfileDraft(const std::vector<Snapshot>& nodes) : nodes_(nodes) {}

  // Sets the key at `path` to the value of more than half of the nodes, with their number in a
  // comment, and records a key without such a value. Keys of one block must be added together.
  void add(std::string_view path, const ValueOf& value_of, bool must_know = true);

  // Like add(), but does not record a key that is unknown on all nodes.
  void add_if_known(std::string_view path, const ValueOf& value_of) { add(path, value_of, false); }

  [[nodiscard]] std::string yaml() const;

  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

 private:
  struct Line {
    std::string path;
    std::string value;
    std::string from;
  };

  const std::vector<Snapshot>& nodes_;
  std::vector<Line> lines_;
  std::vector<std::string> missing_;
};

// Adds the keys about GPUs, HCAs, the bus and the topology. In devices.cpp.
void add_devices(ProfileDraft& draft);

// The compute GPUs on the bus; nothing if the bus was not observed.
[[nodiscard]] std::optional<GpuIds> compute_gpus(const Snapshot& node);

// Whether NVML lists GPUs.
[[nodiscard]] bool has_nvml_gpus(const Snapshot& node);

// "112 cores, 8 x NVIDIA H100 80GB HBM3, 8 x 400 Gb/s InfiniBand".
[[nodiscard]] std::string summary_of(const Snapshot& node);

}  // namespace muster::app
