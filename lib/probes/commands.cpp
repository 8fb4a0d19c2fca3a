// SPDX-License-Identifier: Apache-2.0
// Commands that lines of NHC's configuration name, run where the site allows them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/result.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"
#include "lib/process/child.hpp"
#include "lib/process/program.hpp"

namespace muster {
namespace {

constexpr std::string_view kFolders = "/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::size_t kMostOutput = 1024UL * 1024;
constexpr auto kReserve = std::chrono::milliseconds(200);  // for the answers to come back

// Where a shell with only the system's own folders would find it; empty for nowhere.
std::string find_program(const std::string& name) {
  if (name.starts_with('/')) return name;
  if (name.find('/') != std::string::npos) return {};
  for (const auto folder : split(kFolders, ':')) {
    auto path = fmt::format("{}/{}", folder, name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

// What another user could have put there is not run as root. Empty where it may be run.
std::string why_not_safe(const std::string& program) {
  struct stat status {};

  if (::stat(program.c_str(), &status) != 0) {
    return fmt::format("{}: {}", program, errno_text(errno));
  }
  const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (::geteuid() == 0 && (status.st_uid != 0 || others_write)) {
    return fmt::format("{} can be written by others than root", program);
  }
  return {};
}

void refuse(CommandFact& fact, const Fact<int>& why) {
  fact.status = why;
  fact.output = why.is_absent() ? Fact<std::string>::absent(why.why())
                                : Fact<std::string>::unreadable(why.why());
}

// The reason why it may not be run; nothing where it may, and `fact` knows its program.
std::optional<Fact<int>> obstacle(const Root& root, const std::vector<std::string>& allowed,
                                  CommandFact& fact) {
  if (root.foreign()) return Fact<int>::absent("commands are not run below a foreign root");
  auto program = fact.words.empty() ? std::string() : find_program(fact.words.front());
  if (program.empty()) {
    return Fact<int>::unreadable(fmt::format(
        "there is no {} in {}",
        fact.words.empty() ? std::string("command") : printable(fact.words.front(), 80), kFolders));
  }
  auto words = fact.words;
  words.front() = program;
  const auto line = fmt::format("{}", fmt::join(words, " "));
  const bool may = std::ranges::any_of(
      allowed, [&](const std::string& each) { return matches_glob(each, line); });
  if (!may) {
    return Fact<int>::absent(fmt::format(
        "the site does not allow it: \"{}\" matches nothing in nhc.commands of muster.yaml",
        printable(line, 120)));
  }
  if (const auto why = why_not_safe(program); !why.empty()) return Fact<int>::unreadable(why);
  fact.program = std::move(program);
  return std::nullopt;
}

// In a child of its own.
CommandFact run(CommandFact fact, const TimeLimit& own, Clock::time_point deadline) {
  auto ended = run_program({.program = fact.program,
                            .arguments = {fact.words.begin() + 1, fact.words.end()},
                            .environment = {{"PATH", std::string(kFolders)}, {"LC_ALL", "C"}},
                            .limit = own.until(deadline),
                            .most_output = kMostOutput});
  if (ended) {
    fact.status = ended->status;
    auto output = printable_lines(ended->out, kMostOutput);
    if (output.ends_with('\n')) output.pop_back();
    fact.output = std::move(output);
    return fact;
  }
  fact.timed_out = Clock::now() >= own.deadline();
  refuse(fact, Fact<int>::unreadable(ended.error().message));
  return fact;
}

std::string encode(CommandFact fact) {
  Environment environment;
  environment.commands.push_back(std::move(fact));
  return section_to_json(observed(std::move(environment)));
}

CommandFact decode_answer(const ChildAnswer& answer, CommandFact fact) {
  auto read = parse_section<Environment>(answer.bytes);
  if (answer.end == ChildAnswer::End::answered && read && read->facts.commands.size() == 1) {
    fact = std::move(read->facts.commands.front());
    return fact;
  }
  refuse(fact, Fact<int>::unreadable(answer.reason.empty() ? "no valid answer" : answer.reason));
  return fact;
}

}  // namespace

std::vector<CommandFact> run_commands(const Root& root, const WantedCommands& wanted,
                                      Clock::time_point deadline) {
  std::vector<CommandFact> facts;
  Children children;
  const auto last = deadline == Clock::time_point::max() ? deadline : deadline - kReserve;
  for (const auto& command : wanted.commands) {
    auto& fact = facts.emplace_back();
    fact.words = command.words;
    if (const auto why = obstacle(root, wanted.allowed, fact)) {
      refuse(fact, *why);
      continue;
    }
    const TimeLimit own(command.deadline);
    const auto until = std::min(last, own.deadline() + kReserve);
    children.start(fmt::format("{}", facts.size() - 1), until,
                   [=] { return encode(run(fact, own, last - kReserve / 2)); });
  }
  for (auto next = children.next(); !next.first.empty(); next = children.next()) {
    const auto index = parse_unsigned(next.first);
    if (index && *index < facts.size()) facts[*index] = decode_answer(next.second, facts[*index]);
  }
  return facts;
}

}  // namespace muster
