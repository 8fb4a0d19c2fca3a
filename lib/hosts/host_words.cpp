// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster {
namespace {

constexpr std::size_t kLargest = 64UL * 1024 * 1024;

Result<std::string> read_lists(int descriptor) {
  std::string text;
  const int code = read_all(descriptor, text, kLargest);
  if (code != 0) return make_error(errno_text(code));
  if (text.size() > kLargest) return make_error(fmt::format("more than {} bytes", kLargest));
  return text;
}

// Parses line by line, so that errors name the line.
Result<std::vector<std::string>> hosts_in(std::string_view text) {
  std::vector<std::string> hosts;
  std::size_t number = 0;
  for (auto line : split_lines(text)) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    auto names = expand_hostlist(line, kMostHosts - hosts.size());
    if (!names) return make_error(fmt::format("line {}, {}", number, names.error().message));
    hosts.insert(hosts.end(), names->begin(), names->end());
  }
  if (hosts.empty()) return make_error("no hosts");
  return hosts;
}

Result<std::vector<std::string>> hosts_of_word(const std::string& word) {
  const bool is_input = word == "-";
  if (!is_input && !word.starts_with('@')) return expand_hostlist(word);
  const auto file = word.substr(1);
  const auto name = is_input ? std::string("standard input") : printable(file);
  const Descriptor opened(is_input ? ::dup(STDIN_FILENO)
                                   : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.is_open()) {
    return make_error(fmt::format("{}: {}", name, errno_text(errno)));
  }
  auto hosts = read_lists(opened.get()).and_then(hosts_in);
  if (!hosts) return make_error(fmt::format("{}: {}", name, hosts.error().message));
  return hosts;
}

}  // namespace

Result<std::vector<std::string>> hosts_of_words(const std::vector<std::string>& words) {
  std::vector<std::string> hosts;
  for (const auto& word : words) {
    auto more = hosts_of_word(word);
    if (!more) return more;
    hosts.insert(hosts.end(), more->begin(), more->end());
  }
  return hosts;
}

}  // namespace muster
