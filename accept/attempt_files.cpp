// SPDX-License-Identifier: Apache-2.0
#include "accept/attempt_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "lib/base/digest.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"

namespace muster::accept {
namespace {

namespace fs = std::filesystem;

const Root& host() {
  static const Root kHost;
  return kHost;
}

// Reads an attempt but verifies only the checksum of its answer: the answers of 10,000 nodes take
// long to parse.
template <class A>
Result<A> read_result(const fs::path& file) {
  TRY_ASSIGN(auto text, read_text(file));
  std::string sum_of_answer;
  const auto begin = text.find(kAnswerBegin);
  if (begin != std::string::npos && text.ends_with(kAnswerEnd)) {
    const auto answer = std::string_view(text).substr(begin + kAnswerBegin.size());
    sum_of_answer = sha256_of(answer.substr(0, answer.size() - kAnswerEnd.size()));
    text.replace(begin, std::string::npos, kAnswerEnd);
  }
  A attempt;
  std::string sum;
  TRY(read_json_text(text, [&](const JsonReader& json) {
    json.read(attempt);
    json.member("answer_sha256", sum);
  }));
  if (sum != sum_of_answer) return make_error("the answer does not match its checksum");
  return attempt;
}

std::optional<AttemptName> parse_name(std::string_view name) {
  const auto parts = split(name, '.');
  if (parts.size() != 3) return std::nullopt;
  const auto stage = parse_word<Stage>(parts[0]);
  const auto number = parse_signed(parts[1]);
  const bool started = parts[2] == kStartedEnd.substr(1);
  if (!stage || !number || !(started || parts[2] == kResultEnd.substr(1))) return std::nullopt;
  return AttemptName{*stage, *number, started};
}

// The sorted names put a result before the .started file of its attempt.
template <class A>
AttemptFiles<A> read_attempt_files(const fs::path& folder) {
  TRY_ASSIGN(const auto names, names_in(folder));
  std::vector<AttemptFile<A>> files;
  for (const auto& name : names) {
    const auto parsed = parse_name(name);
    if (!parsed) continue;
    files.push_back({*parsed, parsed->started ? A{} : read_result<A>(folder / name)});
  }
  return files;
}

}  // namespace

std::string name_of(const Attempt& attempt) {
  return fmt::format("nodes/{}/{}.{}", attempt.node, to_string(attempt.stage), attempt.number);
}

std::string name_of(const GroupAttempt& attempt) {
  return fmt::format("group/{}.{}", to_string(attempt.stage), attempt.number);
}

Result<std::string> read_text(const fs::path& file) {
  constexpr std::size_t kMaxBytes = 256UL * 1024 * 1024;
  return host().read(file.string(), kMaxBytes);
}

Result<std::vector<std::string>> names_in(const fs::path& folder) {
  auto names = host().list(folder.string());
  if (!names && names.error().missing) return std::vector<std::string>();
  return names;
}

AttemptFiles<GroupAttempt> read_group_files(const fs::path& folder) {
  return read_attempt_files<GroupAttempt>(folder);
}

// Reads with several threads, because most of the time is spent opening files.
std::vector<AttemptFiles<Attempt>> read_node_files(const fs::path& folder,
                                                   const std::vector<OrderedNode>& nodes) {
  constexpr unsigned kMostThreads = 8;
  std::vector<AttemptFiles<Attempt>> files(nodes.size());
  std::atomic<std::size_t> next = 0;
  const auto read = [&] {
    for (std::size_t i = next++; i < nodes.size(); i = next++) {
      files[i] = read_attempt_files<Attempt>(folder / nodes[i].name);
    }
  };
  std::vector<std::jthread> others(
      std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads) - 1);
  for (auto& other : others) other = std::jthread(read);
  read();
  others.clear();
  return files;
}

}  // namespace muster::accept
