// SPDX-License-Identifier: Apache-2.0
// Documents show the output of `muster-bench`, and the man page names every option.
#include <fmt/format.h>

#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "lib/base/text.hpp"
#include "tests/support/documents.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

// The output of a shell command with the program in its path.
std::string output_of(const std::string& command) {
  return output_of_script(fmt::format("PATH={}:$PATH\nunset ${{!NCCL_*}}\nexec 2>&1\n{}\n",
                                      MUSTER_BENCH_FOLDER, command));
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

std::set<std::string> offered(std::string_view words) {
  return completions("muster-bench", R"("generic Any" "trainer Ours")", words);
}

using Words = std::set<std::string>;

class BenchDocsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BenchDocsTest, MatchTheProgramsOutput) {
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
  const auto page = generated_file("muster-bench.1");
  for (const auto& option : command_text().options) {
    for (const auto name : split(option.name, ',')) {
      const auto escaped = std::regex_replace(std::string(name), std::regex("-"), "\\-");
      EXPECT_THAT(page, HasSubstr(escaped)) << name;
    }
    EXPECT_THAT(page, HasSubstr(std::string(option.argument))) << option.name;
  }
}

TEST(BenchManPageTest, NamesEveryCollective) {
  const auto page = generated_file("muster-bench.1");
  for (std::size_t i = 0; i < kCollectives; ++i) {
    EXPECT_THAT(page, HasSubstr(std::string(to_string(static_cast<Collective>(i)))));
  }
}

TEST(BenchCompletionTest, OffersEveryOption) {
  EXPECT_EQ(offered("muster-bench all_reduce -"), option_names(command_text()));
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
