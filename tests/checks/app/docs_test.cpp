// SPDX-License-Identifier: Apache-2.0
// Generated documents are up to date; documents that are written by hand name every option.
#include <fmt/format.h>

#include <regex>
#include <set>

#include "checks/app/commands.hpp"
#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/lib/report/sample_report.hpp"
#include "tests/support/documents.hpp"
#include "tests/support/matchers.hpp"

namespace muster::app {
namespace {

std::set<std::string> offered(std::string_view words) {
  return completions("muster", R"("ib.rate A rate" "ib.state A state" "pci.acs ACS")", words);
}

TEST(DocsTest, ChecksAreUpToDate) {
  TestCaller caller;
  ASSERT_EQ(run_list({.form = ListCommand::Form::markdown}, caller.caller()), 0);
  EXPECT_EQ(source_file("docs/checks.md"), caller.out())
      << "muster list --format markdown >docs/checks.md updates it";
}

TEST(DocsTest, SnapshotIsUpToDate) {
  EXPECT_EQ(source_file("docs/snapshot.md"), describe_snapshot())
      << "muster snapshot --describe >docs/snapshot.md updates it";
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

// Counts change with every new check.
std::string without_counts(const std::string& text) {
  const std::regex counts("[0-9]+ (of [0-9]+ )?(checks|fail|warn|unknown|pass|skip)");
  return std::regex_replace(without_durations(text), counts, "N $2");
}

TEST(DocsTest, ReadmeShowsTheOutputOfTheProgram) {
  constexpr std::string_view kSick = "tests/nodes/simulated/nd96isr_h100_v5_sick.json";
  TestCaller caller;
  (void)run_replay({.snapshots = {fmt::format("{}/{}", MUSTER_SOURCE_DIR, kSick)}},
                   caller.caller());
  auto printed = caller.out();
  const std::string folder = MUSTER_SOURCE_DIR "/";
  const auto named = printed.find(folder);
  ASSERT_NE(named, std::string::npos);
  printed.erase(named, folder.size());
  EXPECT_THAT(without_counts(source_file("README.md")),
              HasSubstr(without_counts(
                  fmt::format("$ muster check --snapshot {}\n{}```\n", kSick, printed))));
}

TEST(ManPageTest, NamesEveryCommandAndOption) {
  const auto page = generated_file("muster.1");
  for (const auto& command : command_texts()) {
    const auto begin = page.find(fmt::format(".SS muster {}", command.name));
    ASSERT_NE(begin, std::string::npos) << command.name;
    const auto section = page.substr(begin, page.find("\n.S", begin + 1) - begin);
    for (const auto& name : option_names(command)) {
      if (name == "-h" || name == "--help") continue;
      std::string escaped;
      for (const char c : name) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_THAT(section, HasSubstr(escaped)) << command.name;
    }
  }
}

TEST(CompletionTest, OffersEveryOptionOfEachCommand) {
  for (const auto& command : command_texts()) {
    EXPECT_EQ(offered(fmt::format("muster {} -", command.name)), option_names(command))
        << command.name;
  }
}

TEST(CompletionTest, OffersWhatMayFollow) {
  std::set<std::string> commands;
  for (const auto& command : command_texts()) commands.emplace(command.name);
  const std::set<std::string> checks{"ib.rate", "ib.state", "pci.acs"};
  const std::set<std::string> nothing{""};
  const std::vector<std::pair<std::string_view, std::set<std::string>>> cases{
      {R"(muster "")", commands},
      {"muster --", {"--help", "--version"}},
      // Names of checks, after the last comma.
      {"muster check --only ib.", {"ib.rate", "ib.state"}},
      {"muster check --skip pci.acs,ib.s", {"pci.acs,ib.state"}},
      {R"(muster explain "")", checks},
      {R"(muster explain --profile x "")", checks},
      // The words of a choice.
      {"muster check --context p", {"periodic", "prolog"}},
      {"muster check --format j", {"json", "junit"}},
      {R"(muster list --format "")", {"json", "markdown", "text"}},
      // An equals sign counts as a blank.
      {"muster check --format = j", {"json", "junit"}},
      {"muster list --format =", {"json", "markdown", "text"}},
      {"muster check --only = ib.rate,pci.", {"ib.rate,pci.acs"}},
      {"muster check --set a.b =", nothing},
      {"muster check --set a.b = 1", nothing},
  };
  for (const auto& [words, expected] : cases) EXPECT_EQ(offered(words), expected) << words;
}

}  // namespace
}  // namespace muster::app
