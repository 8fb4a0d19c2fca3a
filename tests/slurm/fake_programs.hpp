// SPDX-License-Identifier: Apache-2.0
// Scripts that replace Slurm's programs, and record their arguments.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "slurm/cluster/programs.hpp"
#include "tests/support/fake_sinfo.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::slurm {

struct FakePrograms {
  TempDir dir;

  FakePrograms() { dir.write("slurm.conf", ""); }

  // In `body`, $D is the folder. The script first records its arguments and its environment.
  void script(std::string_view name, std::string_view body) const {
    dir.write_program(name, fmt::format(R"(#!/bin/sh
D={}
printf '[%s]' {} "$@" >>"$D/calls"
echo >>"$D/calls"
{}
/usr/bin/tr '\0' '\n' </proc/$$/environ | /usr/bin/sort >"$D/environment"
{}
)",
                                        path(), name, kFakeSinfo, body));
  }

  [[nodiscard]] std::string read(std::string_view name) const { return dir.read(name); }

  [[nodiscard]] std::string path() const { return dir.path().string(); }

  [[nodiscard]] Rules rules() const {
    Rules rules;
    rules.programs = fmt::format("relative::{0}/none:{0}", path());
    rules.conf = fmt::format("{}/slurm.conf", path());
    return rules;
  }

  [[nodiscard]] static Installation installation(const Rules& rules,
                                                 const Variables& variables = {}) {
    auto found = find_installation(rules, variables);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Installation{});
  }

  // For one call, and for all.
  [[nodiscard]] static CallLimits limits(Clock::duration one = std::chrono::seconds(20),
                                         Clock::duration all = std::chrono::seconds(60)) {
    return {.deadline = one, .end = Clock::now() + all};
  }
};

}  // namespace muster::slurm
