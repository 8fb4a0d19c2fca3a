// SPDX-License-Identifier: Apache-2.0
// Joins the documents of several nodes into one.
#include <fmt/format.h>

#include <map>

#include "lib/base/text.hpp"
#include "lib/report/format.hpp"

namespace muster {
namespace {

// Puts what is between two tags, the same in all documents, into the first document.
std::string join_bodies(const std::vector<std::string>& documents, std::string_view begin,
                        std::string_view end, std::string_view between) {
  std::string joined;
  std::string_view rest;
  for (const std::string_view document : documents) {
    const auto from = document.find(begin) + begin.size();
    const auto to = document.rfind(end);
    joined += joined.empty() ? document.substr(0, from) : between;
    joined += document.substr(from, to - from);
    rest = document.substr(to);
  }
  return joined.append(rest);
}

struct Family {
  std::string head;                            // its help and type
  std::map<std::string, std::string> samples;  // lines, by name and labels
};

}  // namespace

std::string join_junit(const std::vector<std::string>& documents) {
  return join_bodies(documents, "<testsuites>\n", "</testsuites>", "");
}

std::string join_html(const std::vector<std::string>& documents) {
  constexpr std::string_view kTitle = "<title>";
  auto joined = join_bodies(documents, "<body>\n", "</body>", "<hr>\n");
  if (documents.size() < 2) return joined;
  const auto title = joined.find(kTitle) + kTitle.size();
  return joined.replace(title, joined.find("</title>") - title,
                        fmt::format("muster: {} nodes", documents.size()));
}

// The samples of a metric must be consecutive, and each series must occur once. Of two documents
// about one node, the last one counts.
std::string join_prometheus(const std::vector<std::string>& documents) {
  std::map<std::string, Family> families;
  for (const auto& document : documents) {
    Family* family = nullptr;
    for (const auto line : split_lines(document)) {
      if (!line.starts_with('#')) {
        family->samples[std::string(line.substr(0, line.rfind(' ')))] = line;
        continue;
      }
      family = &families[std::string(split_words(line).at(2))];
      if (family->head.find(line) == std::string::npos) family->head += fmt::format("{}\n", line);
    }
  }
  std::string joined;
  for (const auto& [name, family] : families) {
    joined += family.head;
    for (const auto& [series, line] : family.samples) joined += fmt::format("{}\n", line);
  }
  return joined;
}

}  // namespace muster
