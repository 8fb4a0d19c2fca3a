// SPDX-License-Identifier: Apache-2.0
// Makes the man pages and the completions of both programs from their tables of options:
// `muster_documents SOURCE FOLDER`, when muster is built.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/backends/nccl/requirements.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/locate/locate_command.hpp"
#include "bench/node/node_command.hpp"
#include "bench/node/test.hpp"
#include "bench/train/training_step.hpp"
#include "checks/app/commands.hpp"
#include "lib/base/files.hpp"
#include "lib/command/documents.hpp"

namespace {

using muster::Result;

struct Program {
  std::vector<muster::CommandText> commands;
  std::vector<muster::Offer> offers;
};

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Result<void> make(const std::filesystem::path& source, const std::filesystem::path& folder,
                  const Program& program) {
  const std::string name(program.commands.front().program);
  const auto page =
      muster::man_page(text_of(source / fmt::format("docs/{}.1.in", name)), program.commands);
  if (!page) return tl::unexpected(page.error());
  const auto script = muster::completion(text_of(source / "tools/completion/completion.bash.in"),
                                         program.commands, program.offers);
  auto made = muster::replace_file(folder / fmt::format("{}.1", name), *page, 0666);
  if (!made) return made;
  return muster::replace_file(folder / fmt::format("{}.bash", name), script, 0666);
}

Program the_inspector() {
  return {.commands = muster::app::command_texts(),
          .offers = {{"hostfile:--partition", "@FUNCTION@_words \"$(sinfo -h -o %R 2>/dev/null)\""},
                     {"profiles:show", "@FUNCTION@_words \"$(@FUNCTION@_asked profiles)\""},
                     {"profiles:*", "@FUNCTION@_words 'show export'"},
                     {"check:*", "@FUNCTION@_files"}}};
}

Program the_benchmark() {
  using muster::bench::Requirement;
  std::vector<std::string_view> collectives;
  for (std::size_t i = 0; i < muster::bench::kCollectives; ++i) {
    collectives.push_back(to_string(static_cast<muster::bench::Collective>(i)));
  }
  std::vector<std::string_view> requirements;
  for (int i = 0; i <= static_cast<int>(Requirement::sharp); ++i) {
    requirements.push_back(to_string(static_cast<Requirement>(i)));
  }
  std::vector<std::string_view> first{"node", "locate", "train_step"};
  first.insert(first.end(), collectives.begin(), collectives.end());
  std::vector<std::string_view> tests;
  for (const auto& test : muster::bench::node::node_tests()) tests.push_back(test.name);
  const auto offer_tests = fmt::format("@FUNCTION@_list '{}'", fmt::join(tests, " "));
  return {.commands = {muster::bench::command_text(), muster::bench::node::command_text(),
                       muster::bench::locate::command_text(), muster::bench::train::command_text()},
          .offers = {{":--require-transport",
                      fmt::format("@FUNCTION@_list '{}'", fmt::join(requirements, " "))},
                     {"node:--only", offer_tests},
                     {"node:--skip", offer_tests},
                     {":*", fmt::format("@FUNCTION@_words '{}'", fmt::join(first, " "))}}};
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 64;
  for (const auto& program : {the_inspector(), the_benchmark()}) {
    if (const auto made = make(words[1], words[2], program); !made) {
      fmt::print(stderr, "muster_documents: {}\n", made.error().message);
      return 1;
    }
  }
  return 0;
}
