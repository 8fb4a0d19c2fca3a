// SPDX-License-Identifier: Apache-2.0
#include "accept/sim_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "accept/sim.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"

namespace muster::accept {
namespace sim {
namespace {

struct FaultForm {
  std::string_view name;
  FaultKind kind;
  std::string_view arguments;
  std::string_view about;
};

using Kind = FaultKind;
constexpr std::array kForms{
    FaultForm{"missing_gpu", Kind::missing_gpu, "NODE:GPU", "is not on the bus"},
    FaultForm{"row_remap", Kind::row_remap, "NODE:GPU", "has no spare row of memory left"},
    FaultForm{"busy", Kind::busy, "NODE:GPU", "is in use by a program"},
    FaultForm{"driver", Kind::driver, "NODE", "has an older GPU driver than the others"},
    FaultForm{"serial", Kind::serial, "NODE:NODE", "has a GPU with the serial of one in the other"},
    FaultForm{"host", Kind::host, "NODE", "is on a different physical host from the one ordered"},
    FaultForm{"skew", Kind::skew, "NODE:SECONDS",
              "has a clock that is ahead, or behind if below 0"},
    FaultForm{"hot", Kind::hot, "NODE:GPU", "gets too hot under load"},
    FaultForm{"tired", Kind::tired, "NODE:GPU:FACTOR", "is slower after the soak"},
    FaultForm{"xid", Kind::xid, "NODE:XID:HOURS", "reports it after this many hours under load"},
    FaultForm{"intermittent", Kind::intermittent, "NODE:HOURS",
              "reports an XID once in this many hours under load, on average"},
    FaultForm{"crash", Kind::crash, "NODE:HOURS", "is lost after this many hours under load"},
    FaultForm{"dies", Kind::dies, "NODE:STAGE", "is lost in its first attempt at the stage"},
    FaultForm{"returns", Kind::returns, "NODE:MINUTES", "is back this long after each loss"},
    FaultForm{"silent", Kind::silent, "NODE", "never answers"},
    FaultForm{"greets", Kind::greets, "NODE", "has a shell that prints more than the answer"},
    FaultForm{"cut", Kind::cut, "NODE", "sends half of its first answer in each stage"},
    FaultForm{"limit", Kind::limit, "FACTOR", "slows down the products of all GPUs"}};

struct Range {
  std::string_view argument;
  double least, most;
  bool whole = false;
};

constexpr std::array kRanges{Range{"GPU", 0, 0, true},      Range{"XID", 1, 999, true},
                             Range{"HOURS", 0.001, 10'000}, Range{"MINUTES", 0, 100'000},
                             Range{"SECONDS", -1e9, 1e9},   Range{"FACTOR", 0.01, 1}};

tl::unexpected<Error> word_error(std::string_view word, std::string_view what) {
  return make_error("--sim: {}: {}", printable(word), printable(what));
}

class WordParser {
 public:
  explicit WordParser(const Order& order) : order_(order) {
    words_.faults.resize(order.nodes.size());
  }

  [[nodiscard]] Result<FleetWords> parse(std::string_view text) {
    const auto named = bench::profile_of_sim(text);
    const auto& planned = order_.plan.profile;
    const std::string usual = planned.empty() ? "nd96isr_h100_v5" : planned;
    TRY_ASSIGN(words_.profile, load_profile({}, named.empty() ? usual : named));
    auto hardware = bench::sim_cluster_of(words_.profile);
    gpus_ = hardware.on_host ? 0 : hardware.gpus;
    hardware.nodes = static_cast<int>(order_.nodes.size());
    hardware.noise = hardware.run_noise = {0.2};
    if (!trim(text).empty()) {
      for (const auto word : split(text, ',')) TRY(read_word(trim(word)));
    }
    const auto of_bench = fmt::format("{}", fmt::join(passed_on_, ","));
    TRY_ASSIGN(words_.cluster, bench::parse_sim(of_bench, hardware));
    return std::move(words_);
  }

 private:
  [[nodiscard]] Result<void> read_word(std::string_view word) {
    constexpr std::string_view kFault = "fault=";
    constexpr std::string_view kFailures = "failures=";
    if (word.starts_with("nodes=")) return word_error(word, "the order lists the nodes");
    if (word.starts_with(kFault)) return read_fault(word, word.substr(kFault.size()));
    if (!word.starts_with(kFailures)) {
      passed_on_.emplace_back(word);
      return {};
    }
    const auto number = parse_number(word.substr(kFailures.size()));
    if (!number || *number < 0) return word_error(word, "expected a number of at least 0");
    words_.failures = *number;
    return {};
  }

  [[nodiscard]] Result<void> read_fault(std::string_view word, std::string_view fault) {
    const auto parts = split(fault, ':');
    const auto* const form = std::ranges::find(kForms, parts.front(), &FaultForm::name);
    if (form != kForms.end()) return read_own(*form, word, parts);
    if (!bench::is_sim_fault(parts.front())) return word_error(word, unknown(parts.front()));
    std::vector<std::string> plain{std::string(parts.front())};
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const auto node = place(parts[i]);
      plain.push_back(node ? fmt::format("{}", *node) : std::string(parts[i]));
    }
    passed_on_.push_back(fmt::format("fault={}", fmt::join(plain, ":")));
    return {};
  }

  [[nodiscard]] Result<void> read_own(const FaultForm& form, std::string_view word,
                                      const std::vector<std::string_view>& parts) {
    const auto arguments = split(form.arguments, ':');
    if (parts.size() != arguments.size() + 1) {
      return word_error(word, fmt::format("expected {}:{}", form.name, form.arguments));
    }
    std::vector<double> numbers;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto number = number_of(arguments[i], parts[i + 1]);
      if (!number) return word_error(word, number.error().message);
      numbers.push_back(*number);
    }
    if (form.kind == Kind::limit) {
      words_.products = numbers.front();
      return {};
    }
    if (form.kind == Kind::serial && numbers[0] == numbers[1]) {
      return word_error(word, "expected two different nodes");
    }
    numbers.resize(3);
    const auto node = static_cast<std::size_t>(numbers[0]);
    words_.faults[node].push_back({.kind = form.kind, .first = numbers[1], .second = numbers[2]});
    return {};
  }

  [[nodiscard]] Result<double> number_of(std::string_view argument, std::string_view text) const {
    if (argument == "NODE") {
      const auto index = parse_unsigned(text);
      if (index && *index < order_.nodes.size()) return static_cast<double>(*index);
      if (const auto node = place(text)) return static_cast<double>(*node);
      return make_error("unknown node \"{}\", expected a name or 0 to {}", text,
                        order_.nodes.size() - 1);
    }
    if (argument == "STAGE") {
      const auto* const word = std::ranges::find(kStageWords, text);
      if (word != kStageWords.end()) return static_cast<double>(word - kStageWords.begin());
      return make_error("unknown stage \"{}\", expected {}", text, fmt::join(kStageWords, ", "));
    }
    const auto* const range = std::ranges::find(kRanges, argument, &Range::argument);
    const auto number = parse_number(text);
    const double most = argument == "GPU" ? gpus_ - 1 : range->most;
    const bool fits = number && *number >= range->least && *number <= most &&
                      (!range->whole || parse_unsigned(text));
    if (fits) return *number;
    return make_error("invalid {} \"{}\", expected {} to {}", argument, text, range->least, most);
  }

  [[nodiscard]] std::optional<std::size_t> place(std::string_view name) const {
    const auto found = std::ranges::find(order_.nodes, name, &OrderedNode::name);
    if (found == order_.nodes.end()) return std::nullopt;
    return static_cast<std::size_t>(found - order_.nodes.begin());
  }

  [[nodiscard]] static std::string unknown(std::string_view name) {
    std::vector<std::string> known;
    for (const auto& form : kForms) known.emplace_back(form.name);
    const auto near = nearest(name, known);
    return fmt::format("unknown fault; valid faults: {}, and those of muster-bench --sim{}",
                       fmt::join(known, ", "),
                       near.empty() ? "" : fmt::format("; did you mean {}?", near));
  }

  const Order& order_;
  FleetWords words_;
  int gpus_ = 0;                        // of a node
  std::vector<std::string> passed_on_;  // words of muster-bench
};

}  // namespace

const NodeFault* FleetWords::fault(std::size_t node, FaultKind kind) const {
  const auto& all = faults[node];
  const auto found = std::ranges::find(all, kind, &NodeFault::kind);
  return found == all.end() ? nullptr : &*found;
}

bool FleetWords::is_good(std::size_t node) const { return faults[node].empty(); }

Result<FleetWords> parse_words(const Order& order, std::string_view words) {
  return WordParser(order).parse(words);
}

}  // namespace sim

std::string sim_fleet_help() {
  std::string text = fmt::format(
      "the fleet that --by sim simulates: failures=N (of good nodes, per 1,000 days under load), "
      "and any number of fault=FAULT, where NODE is a name or an index in the order, from 0:");
  for (const auto& form : sim::kForms) {
    text += fmt::format(" {}:{} ({}),", form.name, form.arguments, form.about);
  }
  return fmt::format("{} and all settings of muster-bench --sim except nodes=", text);
}

}  // namespace muster::accept
