// SPDX-License-Identifier: Apache-2.0
// One file after the other, weakest first, is laid over a profile.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/binder.hpp"
#include "lib/profile/profile.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {

class Layers {
 public:
  explicit Layers(Profile& profile) : profile_(profile), binder_(profile) {}

  // A whole profile's file. `schema`, `name` and `extends` are the caller's.
  // Only defaults.yaml may declare checks that have no limits, by giving them a
  // block.
  [[nodiscard]] Result<void> add_file(const Yaml& document, const std::string& file, bool defaults);

  // The site's `overrides`: groups, bench and contexts.
  [[nodiscard]] Result<void> add_overrides(const Yaml& overrides, const std::string& file);

  // KEY=VALUE of the command line.
  [[nodiscard]] Result<void> add_setting(std::string_view setting);

  // Whether all top-level keys of a whole profile's file are known; nothing is
  // laid over anything.
  [[nodiscard]] Result<void> check_keys(const Yaml& document, const std::string& file);

  // The block `recognise` alone.
  [[nodiscard]] Result<void> add_recognise(const Yaml& recognise, const std::string& file);

 private:
  [[nodiscard]] Result<void> add(const Yaml& document, Place place, bool whole_file);
  [[nodiscard]] Result<void> add_group(const Yaml& node, Place place, Slot owned);
  [[nodiscard]] std::vector<std::string> declared_in(std::string_view group) const;

  Profile& profile_;
  Binder binder_;
  bool declares_ = false;           // the file at hand may declare checks
  std::set<std::string> declared_;  // ids of checks without limits
};

}  // namespace muster
