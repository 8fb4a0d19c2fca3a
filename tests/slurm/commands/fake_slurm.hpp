// SPDX-License-Identifier: Apache-2.0
// Programs in place of Slurm's, which keep one line of sinfo in a file, and a site that names them.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/fake_sinfo.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {

class FakeSlurm {
 public:
  // Node n7 is idle, on a host of that name.
  explicit FakeSlurm(const TempDir& dir) : dir_(dir) {
    dir_.write("slurm.conf", "");
    dir_.write("node", "n7|main|idle|Unknown|Unknown|none\n");
    dir_.write("names", "n7|n7\n");
    memory("");
    program("sinfo",
            "case \"$*\" in *'%N|%n'*) cat \"$D/names\" ;; *) paste \"$D/node\" \"$D/memory\" | "
            "fake_sinfo \"$@\" ;; esac");
    program("scontrol", R"(node=${2#nodename=} line=
for word; do case $word in
  state=drain) line="drained|root|$(date +%s)|" ;;
  reason=*) line=$line${word#reason=} ;;
  state=resume) line="idle|Unknown|Unknown|none" ;;
  Extra=*) printf '%s\n' "${word#Extra=}" >"$D/memory" ;;
esac; done
[ -z "$line" ] || echo "$node|main|$line" >"$D/node")");
  }

  // The block `slurm` of the site below `root`, but for its programs.
  void site(std::string_view rules) const {
    dir_.write("root/etc/muster/muster.yaml",
               fmt::format("schema: muster.site/1\nslurm:\n  programs: {}/bin\n{}",
                           dir_.path().string(), rules));
  }

  void nodes(std::string_view lines) const { dir_.write("node", lines); }

  void memory(std::string_view text) const { dir_.write("memory", fmt::format("{}\n", text)); }

  // NodeName|NodeHostname
  void names(std::string_view lines) const { dir_.write("names", lines); }

  // sinfo's line about the node.
  [[nodiscard]] std::string node() const {
    std::ifstream file(dir_.path() / "node");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void program(std::string_view name, std::string_view body) const {
    const auto path = fmt::format("bin/{}", name);
    dir_.write(path,
               fmt::format("#!/bin/sh\nD={}\n{}{}\n", dir_.path().string(), kFakeSinfo, body));
    std::filesystem::permissions(dir_.path() / path, std::filesystem::perms(0755));
  }

 private:
  const TempDir& dir_;
};

}  // namespace muster::app
