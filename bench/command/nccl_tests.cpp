// SPDX-License-Identifier: Apache-2.0
// Translates the command lines of nccl-tests.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "bench/command/bench_command.hpp"
#include "bench/launch/local.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

// How the value of an option is translated.
enum class Translate {
  value,        // the value of our option
  count,        // GPUs or threads of a process: the ranks on this node are their product
  flag,         // 0: nothing, else our flag
  strict_flag,  // 0: nothing, 1: our flag
  blocking,     // 0: back to back, else each operation is waited for
  ignored,      // always on here, or without effect
  only,         // the only accepted value
  instead,      // unsupported: what to use instead
};

// An option of nccl-tests. All of them have a value.
struct ForeignOption {
  char letter;
  std::string_view name;  // the long form
  Translate translate;
  std::string_view option;  // ours; the only accepted value; or the advice
};

constexpr std::array kForeign{
    ForeignOption{'b', "--minbytes", Translate::value, "--min"},
    ForeignOption{'e', "--maxbytes", Translate::value, "--max"},
    ForeignOption{'f', "--stepfactor", Translate::value, "--factor"},
    ForeignOption{'i', "--stepbytes", Translate::value, "--step"},
    ForeignOption{'n', "--iters", Translate::value, "--iterations"},
    ForeignOption{'w', "--warmup_iters", Translate::value, "--warm-up"},
    ForeignOption{'o', "", Translate::value, "--op"},
    ForeignOption{'d', "--datatype", Translate::value, "--type"},
    ForeignOption{'r', "", Translate::value, "--root"},
    ForeignOption{'g', "--ngpus", Translate::count, ""},
    ForeignOption{'t', "--nthreads", Translate::count, ""},
    ForeignOption{'G', "--cudagraph", Translate::flag, "--graph"},
    ForeignOption{'z', "--blocking", Translate::blocking, ""},
    ForeignOption{'c', "--check", Translate::ignored, ""},    // every element, always
    ForeignOption{'a', "--average", Translate::ignored, ""},  // the JSON report has all of them
    ForeignOption{'p', "--parallel_init", Translate::ignored, ""},  // ranks begin side by side
    ForeignOption{'T', "--timeout", Translate::ignored, ""},        // --operation-deadline
    ForeignOption{'m', "--agg_iters", Translate::value, "--together"},
    ForeignOption{'N', "--run_cycles", Translate::value, "--cycles"},
    ForeignOption{'y', "--stream_null", Translate::only, "0"},
    ForeignOption{'J', "--output_file", Translate::instead, "use --format json --output FILE"},
    ForeignOption{'C', "--report_cputime", Translate::strict_flag, "--cpu-time"},
    ForeignOption{'R', "--local_register", Translate::strict_flag, "--registered"}};

struct ForeignWord {
  const ForeignOption* option = nullptr;
  std::string shown;                 // as written
  std::optional<std::string> value;  // in the same word
};

// Parses "-b", "-b8", "--minbytes", "--minbytes=8"; no option for any other word.
ForeignWord foreign_word(std::string_view word) {
  const auto name = word.substr(0, word.find('='));
  for (const auto& each : kForeign) {
    if (!each.name.empty() && name == each.name) {
      ForeignWord found{.option = &each, .shown = std::string(name)};
      if (name != word) found.value = std::string(word.substr(name.size() + 1));
      return found;
    }
    if (word.size() < 2 || word[0] != '-' || word[1] != each.letter) continue;
    ForeignWord found{.option = &each, .shown = std::string(word.substr(0, 2))};
    if (word.size() > 2) found.value = std::string(word.substr(word[2] == '=' ? 3 : 2));
    return found;
  }
  return {};
}

struct Translation {
  std::vector<std::string> words;
  std::uint64_t ranks = 1;  // of this process
  bool is_foreign = false;
  bool blocking = false;
};

Result<void> translate(const ForeignWord& word, const std::string& value,
                       Translation& translation) {
  const auto& [letter, name, how, option] = *word.option;
  const auto refused = [&](std::string_view why) {
    return make_error("{} {} (of nccl-tests): {}", word.shown, printable(value, 40), why);
  };
  translation.is_foreign = true;
  switch (how) {
    case Translate::value:
      translation.words.emplace_back(option);
      translation.words.push_back(value);
      break;
    case Translate::count: {
      const auto count = parse_unsigned(value);
      if (!count || *count < 1 || *count > kMaxLocalRanks) {
        return refused(fmt::format("expects a whole number from 1 to {}", kMaxLocalRanks));
      }
      translation.ranks *= *count;
      break;
    }
    case Translate::flag:
      if (value != "0") translation.words.emplace_back(option);
      break;
    case Translate::strict_flag:
      if (value != "0" && value != "1") return refused("unsupported");
      if (value == "1") translation.words.emplace_back(option);
      break;
    case Translate::blocking:
      translation.blocking = value != "0";
      break;
    case Translate::ignored:
      break;
    case Translate::instead:
      return refused(fmt::format("unsupported; {}", option));
    case Translate::only:
      if (value != option) return refused("unsupported");
      break;
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> from_nccl_tests(std::span<const char* const> arguments) {
  Translation translation;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    auto found = foreign_word(word);
    if (found.option == nullptr) {
      translation.is_foreign = translation.is_foreign || word.ends_with("_perf");
      translation.words.emplace_back(word);
      continue;
    }
    if (!found.value && i + 1 < arguments.size()) found.value = arguments[++i];
    if (!found.value) return make_error("{} needs a value", found.shown);
    TRY(translate(found, *found.value, translation));
  }
  auto words = std::move(translation.words);
  if (translation.ranks > 1) {
    words.insert(words.end(), {"--local", fmt::format("{}", translation.ranks)});
  }
  // nccl-tests pipelines by default.
  const bool given = std::ranges::find(words, "--pipelined") != words.end();
  if (translation.is_foreign && !translation.blocking && !given) words.emplace_back("--pipelined");
  return words;
}

}  // namespace muster::bench
