// SPDX-License-Identifier: Apache-2.0
// Command lines as people have them for nccl-tests.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "bench/command/bench_command.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

// What becomes of a value of theirs.
enum class Use {
  option,     // it is the value of an option of ours
  count,      // GPUs or threads of a process: ranks on this node, multiplied
  flag,       // 0: nothing, else a flag of ours
  one_flag,   // 0: nothing, 1: a flag of ours
  waits,      // 0: back to back, else each operation is waited for
  no_matter,  // what is done anyhow, or makes no difference here
  only,       // one value means what is done anyhow, any other is refused
};

// One of nccl-tests' options, which all have a value.
struct Foreign {
  char letter;
  std::string_view name;  // the long form
  Use use;
  std::string_view option;  // ours; or the only value that is taken
};

constexpr std::string_view kNotHere = "there is nothing like it here";

constexpr std::array kForeign{
    Foreign{'b', "--minbytes", Use::option, "--min"},
    Foreign{'e', "--maxbytes", Use::option, "--max"},
    Foreign{'f', "--stepfactor", Use::option, "--factor"},
    Foreign{'i', "--stepbytes", Use::option, "--step"},
    Foreign{'n', "--iters", Use::option, "--iterations"},
    Foreign{'w', "--warmup_iters", Use::option, "--warm-up"},
    Foreign{'o', "", Use::option, "--op"},
    Foreign{'d', "--datatype", Use::option, "--type"},
    Foreign{'r', "", Use::option, "--root"},
    Foreign{'g', "--ngpus", Use::count, ""},
    Foreign{'t', "--nthreads", Use::count, ""},
    Foreign{'G', "--cudagraph", Use::flag, "--graph"},
    Foreign{'z', "--blocking", Use::waits, ""},
    Foreign{'c', "--check", Use::no_matter, ""},          // every element, always
    Foreign{'a', "--average", Use::no_matter, ""},        // the JSON report has all of them
    Foreign{'p', "--parallel_init", Use::no_matter, ""},  // ranks begin side by side
    Foreign{'T', "--timeout", Use::no_matter, ""},        // --operation-deadline
    Foreign{'m', "--agg_iters", Use::option, "--together"},
    Foreign{'N', "--run_cycles", Use::option, "--cycles"},
    Foreign{'y', "--stream_null", Use::only, "0"},
    Foreign{'C', "--report_cputime", Use::one_flag, "--cpu-time"},
    Foreign{'R', "--local_register", Use::one_flag, "--registered"}};

struct Asked {
  const Foreign* option = nullptr;
  std::string shown;                 // as it was written
  std::optional<std::string> value;  // in the same word
};

// "-b", "-b8", "--minbytes", "--minbytes=8"; no option for any other word.
Asked foreign(std::string_view word) {
  const auto name = word.substr(0, word.find('='));
  for (const auto& each : kForeign) {
    if (!each.name.empty() && name == each.name) {
      Asked asked{.option = &each, .shown = std::string(name)};
      if (name != word) asked.value = std::string(word.substr(name.size() + 1));
      return asked;
    }
    if (word.size() < 2 || word[0] != '-' || word[1] != each.letter) continue;
    Asked asked{.option = &each, .shown = std::string(word.substr(0, 2))};
    if (word.size() > 2) asked.value = std::string(word.substr(word[2] == '=' ? 3 : 2));
    return asked;
  }
  return {};
}

// A command line of nccl-tests on its way to ours.
struct Translation {
  std::vector<std::string> words;
  std::uint64_t ranks = 1;  // of this process
  bool is_theirs = false;
  bool waits = false;
};

Result<void> take(const Asked& asked, const std::string& value, Translation& translation) {
  const auto& [letter, name, use, option] = *asked.option;
  const auto refused = [&](std::string_view why) {
    return make_error(
        fmt::format("{} {}, of nccl-tests: {}", asked.shown, printable(value, 40), why));
  };
  translation.is_theirs = true;
  switch (use) {
    case Use::option:
      translation.words.emplace_back(option);
      translation.words.push_back(value);
      break;
    case Use::count: {
      constexpr std::uint64_t kMost = 1024;
      const auto count = parse_unsigned(value);
      if (!count || *count < 1 || *count > kMost)
        return refused("expects a whole number from 1 on");
      translation.ranks *= *count;
      break;
    }
    case Use::flag:
      if (value != "0") translation.words.emplace_back(option);
      break;
    case Use::one_flag:
      if (value != "0" && value != "1") return refused(kNotHere);
      if (value == "1") translation.words.emplace_back(option);
      break;
    case Use::waits:
      translation.waits = value != "0";
      break;
    case Use::no_matter:
      break;
    case Use::only:
      if (value != option) return refused(kNotHere);
      break;
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> from_nccl_tests(std::span<const char* const> arguments) {
  Translation translation;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    auto asked = foreign(word);
    if (asked.option == nullptr) {
      translation.is_theirs = translation.is_theirs || word.ends_with("_perf");
      translation.words.emplace_back(word);
      continue;
    }
    if (!asked.value && i + 1 < arguments.size()) asked.value = arguments[++i];
    if (!asked.value) return make_error(fmt::format("{} needs a value", asked.shown));
    if (auto taken = take(asked, *asked.value, translation); !taken) {
      return tl::unexpected(taken.error());
    }
  }
  auto words = std::move(translation.words);
  if (translation.ranks > 1) {
    words.insert(words.end(), {"--local", fmt::format("{}", translation.ranks)});
  }
  // The pace that its numbers are compared with.
  const bool says = std::ranges::find(words, "--pipelined") != words.end();
  if (translation.is_theirs && !translation.waits && !says) words.emplace_back("--pipelined");
  return words;
}

}  // namespace muster::bench
