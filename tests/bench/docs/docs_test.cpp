// SPDX-License-Identifier: Apache-2.0
// Documents show the output of `muster-bench`, and the man page names every option.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
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

// A generated document.
std::string made_file(std::string_view name) {
  return text_of(fmt::format("{}/{}", MUSTER_DOCUMENTS, name));
}

// The output of a shell command, with the program in its path.
std::string output_of(const std::string& command) {
  const auto script = fmt::format("PATH={}:$PATH\nunset ${{!NCCL_*}}\nexec 2>&1\n{}\n",
                                  MUSTER_BENCH_FOLDER, command);
  const std::string quoted = std::regex_replace(script, std::regex("'"), "'\\''");
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      ::popen(fmt::format("bash --norc -c '{}'", quoted).c_str(), "r"), ::pclose);
  std::string text;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    text.push_back(static_cast<char>(c));
  }
  return text;
}

// A command in a document, with its output.
struct Sample {
  std::string command;
  std::string printed;
};

// Only runs on a simulated cluster can be repeated anywhere.
std::vector<Sample> samples_of(const std::string& document) {
  const std::regex block("```\n\\$ (muster-bench [^\n]*--backend sim[^\n]*)\n");
  std::vector<Sample> samples;
  for (std::sregex_iterator found(document.begin(), document.end(), block), end; found != end;
       ++found) {
    const auto begin = static_cast<std::size_t>(found->position() + found->length());
    samples.push_back({(*found)[1], document.substr(begin, document.find("```", begin) - begin)});
  }
  return samples;
}

// Durations differ from run to run.
std::string without_durations(const std::string& text) {
  return std::regex_replace(text, std::regex(" in [0-9.]+ ms"), " in N ms");
}

std::set<std::string> option_names() {
  std::set<std::string> names;
  for (const auto& option : command_text().options) {
    for (const auto name : split(option.name, ',')) names.emplace(name);
  }
  return names;
}

// The offers of the completion for the last of `words`.
std::set<std::string> offered(std::string_view words) {
  const auto output =
      output_of(fmt::format("source {}/muster-bench.bash; "
                            "muster() {{ printf \"%s\\n\" \"generic Any\" \"trainer Ours\"; }}; "
                            "COMP_WORDS=({}); "
                            "COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); "
                            "_muster_bench; printf \"%s\\n\" \"${{COMPREPLY[@]}}\"",
                            MUSTER_DOCUMENTS, words));
  std::set<std::string> offers;
  for (const auto line : split_lines(output)) offers.emplace(line);
  return offers;
}

using Words = std::set<std::string>;

class BenchDocsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BenchDocsTest, ShowWhatTheProgramPrints) {
  const auto samples = samples_of(source_file(GetParam()));
  EXPECT_FALSE(samples.empty());
  for (const auto& sample : samples) {
    EXPECT_EQ(without_durations(sample.printed), without_durations(output_of(sample.command)))
        << sample.command;
  }
}

INSTANTIATE_TEST_SUITE_P(Documents, BenchDocsTest,
                         ::testing::Values("README.md", "docs/benchmark.md"));

TEST(BenchManPageTest, NamesEveryOptionWithItsArgument) {
  const auto page = made_file("muster-bench.1");
  for (const auto& option : command_text().options) {
    for (const auto name : split(option.name, ',')) {
      const auto escaped = std::regex_replace(std::string(name), std::regex("-"), "\\-");
      EXPECT_THAT(page, HasSubstr(escaped)) << name;
    }
    EXPECT_THAT(page, HasSubstr(std::string(option.argument))) << option.name;
  }
}

TEST(BenchManPageTest, NamesEveryCollective) {
  const auto page = made_file("muster-bench.1");
  for (std::size_t i = 0; i < kCollectives; ++i) {
    EXPECT_THAT(page, HasSubstr(std::string(to_string(static_cast<Collective>(i)))));
  }
}

TEST(BenchCompletionTest, OffersEveryOption) {
  EXPECT_EQ(offered("muster-bench all_reduce -"), option_names());
}

TEST(BenchCompletionTest, OffersTheCollectives) {
  Words collectives;
  for (std::size_t i = 0; i < kCollectives; ++i) {
    collectives.emplace(to_string(static_cast<Collective>(i)));
  }
  collectives.emplace("node");
  collectives.emplace("locate");
  collectives.emplace("train_step");
  EXPECT_EQ(offered("muster-bench \"\""), collectives);
  EXPECT_EQ(offered("muster-bench --pipelined \"\""), collectives);
}

TEST(BenchCompletionTest, OffersTheWordsOfEachChoice) {
  for (const auto& option : command_text().options) {
    if (option.argument.find('|') == std::string_view::npos) continue;
    if (option.name == "--profile") continue;
    Words choices;
    for (const auto word : split(option.argument, '|')) choices.emplace(word);
    EXPECT_EQ(offered(fmt::format("muster-bench all_reduce {} \"\"", option.name)), choices)
        << option.name;
  }
}

TEST(BenchCompletionTest, OffersTransportsAfterTheLastComma) {
  EXPECT_EQ(offered("muster-bench all_reduce --require-transport ib,g"), Words{"ib,gdr"});
}

TEST(BenchCompletionTest, OffersTheProfilesThatMusterLists) {
  EXPECT_EQ(offered("muster-bench all_reduce --profile t"), Words{"trainer"});
}

TEST(BenchCompletionTest, TreatsAnEqualsSignAsABlank) {
  EXPECT_EQ(offered("muster-bench all_reduce --backend = t"), Words{"tcp"});
  EXPECT_EQ(offered("muster-bench all_reduce --set a.b ="), Words{""});
}

TEST(BenchCompletionTest, OffersNothingForANumber) {
  EXPECT_EQ(offered("muster-bench all_reduce --iterations \"\""), Words{""});
}

}  // namespace
}  // namespace muster::bench
