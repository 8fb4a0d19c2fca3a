// SPDX-License-Identifier: Apache-2.0
// A folder of shipped profiles and a site's folder, made from a few lines of YAML each.
#pragma once

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/profile/load.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {

inline void PrintTo(const Origin& o, std::ostream* out) {
  *out << fmt::format(R"({}:{} source "{}" as_of "{}")", o.file, o.line, o.source, o.as_of);
}

class ProfileFiles {
 public:
  ProfileFiles() { defaults("schema: muster.profile/1\n"); }
  void defaults(std::string_view text) const { dir_.write("profiles/defaults.yaml", text); }

  // profiles/<name>.yaml; `body` begins on line 2.
  void shipped(std::string_view name, std::string_view body) const {
    dir_.write(fmt::format("profiles/{}.yaml", name), fmt::format("{}{}", kSchema, body));
  }

  void site_profile(std::string_view name, std::string_view body) const {
    dir_.write(fmt::format("etc/profiles/{}.yaml", name), fmt::format("{}{}", kSchema, body));
  }

  void site(std::string_view text) const { dir_.write("etc/muster.yaml", text); }

  [[nodiscard]] std::string path(std::string_view relative) const {
    return (dir_.path() / relative).string();
  }

  [[nodiscard]] const TempDir& dir() const { return dir_; }

  [[nodiscard]] ProfileSources sources(std::vector<std::string> settings = {}) const {
    return {.shipped = dir_.path() / "profiles",
            .site = dir_.path() / "etc",
            .settings = std::move(settings)};
  }

  // The profile's error, empty when it loads.
  [[nodiscard]] std::string error_of(std::string_view name,
                                     std::vector<std::string> settings = {}) const {
    const auto loaded = load_profile(sources(std::move(settings)), name);
    return loaded ? std::string() : loaded.error().message;
  }

  // The error of a profile that consists of `body`.
  [[nodiscard]] std::string error_in(std::string_view body) const {
    shipped("x", body);
    return error_of("x");
  }

 private:
  static constexpr std::string_view kSchema = "schema: muster.profile/1\n";

  TempDir dir_;
};

}  // namespace muster
