// SPDX-License-Identifier: Apache-2.0
#include "bench/command/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

// One of nccl-tests' options, which all have a value.
struct Foreign {
  char letter;
  std::string_view name;     // the long form
  std::string_view option;   // ours that takes the value; empty for one that is as in `taken`
  std::string_view taken;    // the only value that means what is done anyhow
  std::string_view instead;  // for any other value
};

constexpr std::string_view kOneGpu =
    "a process has one GPU: --local N starts N of them on a node, or mpirun, srun, torchrun do";
constexpr std::string_view kNotHere = "there is nothing like it here";

constexpr std::array kForeign{
    Foreign{'b', "--minbytes", "--min", "", ""},
    Foreign{'e', "--maxbytes", "--max", "", ""},
    Foreign{'f', "--stepfactor", "--factor", "", ""},
    Foreign{'n', "--iters", "--iterations", "", ""},
    Foreign{'w', "--warmup_iters", "--warm-up", "", ""},
    Foreign{'o', "", "--op", "", ""},
    Foreign{'d', "--datatype", "--type", "", ""},
    Foreign{'r', "", "--root", "", ""},
    Foreign{'i', "--stepbytes", "", "", "--factor gives the steps, or --sizes the sizes"},
    Foreign{'g', "--ngpus", "", "1", kOneGpu},
    Foreign{'t', "--nthreads", "", "1", kOneGpu},
    Foreign{'m', "--agg_iters", "", "1", "--pipelined starts operations back to back"},
    Foreign{'c', "--check", "", "1", "every element is verified, in every run"},
    Foreign{'a', "--average", "", "1", "all ranks' times are in a report with --format json"},
    Foreign{'z', "--blocking", "", "1", "each operation is waited for, or with --pipelined none"},
    Foreign{'T', "--timeout", "", "0", "--operation-deadline says how long one may take"},
    Foreign{'N', "--run_cycles", "", "1", kNotHere},
    Foreign{'p', "--parallel_init", "", "0", kNotHere},
    Foreign{'y', "--stream_null", "", "0", kNotHere},
    Foreign{'C', "--report_cputime", "", "0", kNotHere},
    Foreign{'R', "--local_register", "", "0", kNotHere},
    Foreign{'G', "--cudagraph", "", "0", ""}};

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

Result<void> take(const Asked& asked, const std::string& value, std::vector<std::string>& words) {
  const auto& option = *asked.option;
  if (!option.option.empty()) {
    words.emplace_back(option.option);
    words.push_back(value);
    return {};
  }
  if (value == option.taken) return {};
  if (option.letter == 'G') {
    words.emplace_back("--graph");
    return {};
  }
  return make_error(
      fmt::format("{} {}, of nccl-tests: {}", asked.shown, printable(value, 40), option.instead));
}

}  // namespace

Result<std::vector<std::string>> from_nccl_tests(std::span<const char* const> arguments) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto asked = foreign(arguments[i]);
    if (asked.option == nullptr) {
      words.emplace_back(arguments[i]);
      continue;
    }
    if (!asked.value && i + 1 < arguments.size()) asked.value = arguments[++i];
    if (!asked.value) return make_error(fmt::format("{} needs a value", asked.shown));
    if (auto taken = take(asked, *asked.value, words); !taken) return tl::unexpected(taken.error());
  }
  return words;
}

}  // namespace muster::bench
