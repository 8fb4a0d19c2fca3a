// SPDX-License-Identifier: Apache-2.0
// Scripts that replace Slurm's programs, and record their arguments.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "tests/support/fake_sinfo.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::slurm {

struct FakePrograms {
  TempDir dir;

  // `body` has the folder as $D; before it, what the program was given is written down.
  void script(std::string_view name, std::string_view body) const {
    dir.write(name, fmt::format(R"(#!/bin/sh
D={}
printf '[%s]' {} "$@" >>"$D/calls"
echo >>"$D/calls"
{}
/usr/bin/tr '\0' '\n' </proc/$$/environ | /usr/bin/sort >"$D/environment"
{}
)",
                                path(), name, kFakeSinfo, body));
    std::filesystem::permissions(dir.path() / name, std::filesystem::perms::owner_all);
  }

  [[nodiscard]] std::string read(std::string_view name) const { return dir.read(name); }

  [[nodiscard]] std::string path() const { return dir.path().string(); }
};

}  // namespace muster::slurm
