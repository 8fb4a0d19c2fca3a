// SPDX-License-Identifier: Apache-2.0
// Applies files and settings to a profile, weakest first, and checks the result.
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

  // Adds a profile's file. The caller reads `schema`, `name` and `extends`. Only the defaults may
  // declare checks without limits, by giving them a block.
  [[nodiscard]] Result<void> add_file(const Yaml& document, const std::string& file, bool defaults);

  // Adds the site's `overrides`: groups, bench and contexts.
  [[nodiscard]] Result<void> add_overrides(const Yaml& overrides, const std::string& file);

  // Adds KEY=VALUE of the command line.
  [[nodiscard]] Result<void> add_setting(std::string_view setting);

  // Adds the block `recognise` alone.
  [[nodiscard]] Result<void> add_recognise(const Yaml& recognise, const std::string& file);

  // Checks that all top-level keys of a profile's file are known, and adds nothing.
  [[nodiscard]] Result<void> check_keys(const Yaml& document, const std::string& file) const;

  // Checks the relations between values, after all layers. The error names the file and line of the
  // value at fault.
  [[nodiscard]] Result<void> check_rules() const;

 private:
  [[nodiscard]] Result<void> add(const Yaml& document, Place place, bool whole_file);

  [[nodiscard]] Result<void> add_group(const Yaml& node, Place place, const BoundField& group);
  [[nodiscard]] std::vector<std::string> declared_in(std::string_view group) const;

  Profile& profile_;
  Binder binder_;
  bool declares_ = false;           // this file may declare checks
  std::set<std::string> declared_;  // ids of checks without limits
};

}  // namespace muster
