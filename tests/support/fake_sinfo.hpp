// SPDX-License-Identifier: Apache-2.0
// A replacement for sinfo in shell scripts: `fake_sinfo "$@"` reads lines
// "node|partition|state|user|time|reason", with the node's memory after a tab, and prints them in
// the format of -O.
#pragma once

#include <string_view>

namespace muster {

inline constexpr std::string_view kFakeSinfo = R"(fake_sinfo() {
  for word; do case $word in NodeList:*) nonce=${word##*|}; nonce=${nonce%.} ;; esac; done
  /usr/bin/awk -v s="|$nonce|" -v e="|$nonce." '{
    line = $0; memory = ""; out = ""
    tab = index(line, "\t")
    if (tab) { memory = substr(line, tab + 1); line = substr(line, 1, tab - 1) }
    for (i = 0; i < 5; i++) {
      bar = index(line, "|")
      if (!bar) { print $0; next }
      out = out substr(line, 1, bar - 1) s
      line = substr(line, bar + 1)
    }
    print out memory s line e
  }'
}
)";

}  // namespace muster
