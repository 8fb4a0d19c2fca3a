// SPDX-License-Identifier: Apache-2.0
// Documents that are made from the code equal what the code makes; documents that are written by
// hand name every option.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>

#include "checks/app/commands.hpp"
#include "checks/app/option_table.hpp"
#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/lib/report/sample_report.hpp"

namespace muster::app {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::string& name) {
  std::ifstream file(name);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string source_file(std::string_view name) {
  return text_of(fmt::format("{}/{}", MUSTER_SOURCE_DIR, name));
}

// One that is made when muster is built.
std::string made_file(std::string_view name) {
  return text_of(fmt::format("{}/{}", MUSTER_DOCUMENTS, name));
}

// What a shell prints, without its last newline.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get()))
    text.push_back(static_cast<char>(c));
  return text;
}

std::set<std::string> names_of(const CommandText& command) {
  std::set<std::string> names;
  for (const auto& option : command.options) {
    for (const auto name : split(option.name, ',')) names.emplace(name);
  }
  return names;
}

// What the completion offers for the last of `words`.
std::set<std::string> offered(const std::string& words) {
  const auto script = fmt::format(
      "bash --norc -c 'source {}/muster.bash; "
      "muster() {{ printf \"%s\\n\" \"ib.rate A rate\" \"ib.state A state\" \"pci.acs ACS\"; }}; "
      "COMP_WORDS=({}); "
      "COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); "
      "_muster; printf \"%s\\n\" \"${{COMPREPLY[@]}}\"'",
      MUSTER_DOCUMENTS, words);
  const auto output = output_of(script);
  std::set<std::string> offers;
  for (const auto line : split_lines(output)) offers.emplace(line);
  return offers;
}

TEST(DocsTest, ChecksAreThoseOfTheCatalogue) {
  TestCaller caller;
  ASSERT_EQ(run_list({.form = ListCommand::Form::markdown}, caller.caller()), 0);
  EXPECT_EQ(source_file("docs/checks.md"), caller.out())
      << "muster list --format markdown >docs/checks.md makes it anew";
}

TEST(DocsTest, SnapshotIsThatOfTheCode) {
  EXPECT_EQ(source_file("docs/snapshot.md"), describe_snapshot())
      << "muster snapshot --describe >docs/snapshot.md makes it anew";
}

TEST(DocsTest, ReportShowsEveryKey) {
  const auto document = source_file("docs/report.md");
  const std::string report = fmt::format("{}{}", to_json(sick_report()),
                                         to_json(measured_report(), {.every_iteration = true}));
  for (const auto word : split_words(report)) {
    if (!word.ends_with("\":")) continue;
    EXPECT_THAT(document, HasSubstr(fmt::format("`{}`", word.substr(1, word.size() - 3))));
  }
}

// How long a run took is nobody's contract.
std::string without_durations(const std::string& text) {
  return std::regex_replace(text, std::regex(" in [0-9.]+ ms"), " in N ms");
}

TEST(DocsTest, ReadmeShowsWhatTheProgramPrints) {
  constexpr std::string_view kSick = "tests/nodes/simulated/nd96isr_h100_v5_sick.json";
  TestCaller caller;
  (void)run_replay({.snapshots = {fmt::format("{}/{}", MUSTER_SOURCE_DIR, kSick)}},
                   caller.caller());
  auto printed = caller.out();
  const std::string folder = MUSTER_SOURCE_DIR "/";
  const auto named = printed.find(folder);
  ASSERT_NE(named, std::string::npos);
  printed.erase(named, folder.size());
  EXPECT_THAT(without_durations(source_file("README.md")),
              HasSubstr(without_durations(
                  fmt::format("$ muster check --snapshot {}\n{}```\n", kSick, printed))));
}

TEST(ManPageTest, NamesEveryCommandAndOption) {
  const auto page = made_file("muster.1");
  for (const auto& command : command_texts()) {
    const auto begin = page.find(fmt::format(".SS muster {}", command.name));
    ASSERT_NE(begin, std::string::npos) << command.name;
    const auto section = page.substr(begin, page.find("\n.S", begin + 1) - begin);
    for (const auto& name : names_of(command)) {
      if (name == "-h" || name == "--help") continue;
      std::string escaped;
      for (const char c : name) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_THAT(section, HasSubstr(escaped)) << command.name;
    }
  }
}

TEST(CompletionTest, OffersEveryOptionOfEachCommand) {
  for (const auto& command : command_texts()) {
    EXPECT_EQ(offered(fmt::format("muster {} -", command.name)), names_of(command)) << command.name;
  }
}

TEST(CompletionTest, OffersTheCommands) {
  std::set<std::string> commands;
  for (const auto& command : command_texts()) commands.emplace(command.name);
  EXPECT_EQ(offered("muster \"\""), commands);
}

TEST(CompletionTest, OffersWhatTakesNoCommand) {
  EXPECT_EQ(offered("muster --"), (std::set<std::string>{"--help", "--version"}));
}

TEST(CompletionTest, OffersTheNamesOfChecksBehindTheLastComma) {
  EXPECT_EQ(offered("muster check --only ib."), (std::set<std::string>{"ib.rate", "ib.state"}));
  EXPECT_EQ(offered("muster check --skip pci.acs,ib.s"),
            (std::set<std::string>{"pci.acs,ib.state"}));
}

TEST(CompletionTest, TakesAnEqualsSignForABlank) {
  EXPECT_EQ(offered("muster check --format = j"), (std::set<std::string>{"json", "junit"}));
  EXPECT_EQ(offered("muster list --format ="), (std::set<std::string>{"json", "markdown", "text"}));
  EXPECT_EQ(offered("muster check --only = ib.rate,pci."),
            (std::set<std::string>{"ib.rate,pci.acs"}));
}

TEST(CompletionTest, OffersNothingWithinASetting) {
  EXPECT_EQ(offered("muster check --set a.b ="), std::set<std::string>{""});
  EXPECT_EQ(offered("muster check --set a.b = 1"), std::set<std::string>{""});
}

TEST(CompletionTest, OffersTheChecksToExplainWhereverTheyStand) {
  const std::set<std::string> checks{"ib.rate", "ib.state", "pci.acs"};
  EXPECT_EQ(offered("muster explain \"\""), checks);
  EXPECT_EQ(offered("muster explain --profile x \"\""), checks);
}

TEST(CompletionTest, OffersTheWordsOfAChoice) {
  EXPECT_EQ(offered("muster check --context p"), (std::set<std::string>{"periodic", "prolog"}));
  EXPECT_EQ(offered("muster check --format j"), (std::set<std::string>{"json", "junit"}));
  EXPECT_EQ(offered("muster list --format \"\""),
            (std::set<std::string>{"json", "markdown", "text"}));
}

}  // namespace
}  // namespace muster::app
