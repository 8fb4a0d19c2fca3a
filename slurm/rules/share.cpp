// SPDX-License-Identifier: Apache-2.0
#include "slurm/rules/share.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

constexpr double kWhole = 100;
constexpr std::size_t kLongestShare = 200;  // of a text, and so of what is nested in it

std::size_t share_of(double percent, std::size_t size) {
  // A percentage such as 0.29 % of 10000 is a little less than 29 in binary.
  constexpr double kRounding = 1e-9;
  return static_cast<std::size_t>(static_cast<double>(size) * percent / kWhole + kRounding);
}

class Reader {
 public:
  Reader(std::string_view text, std::size_t size) : text_(text), rest_(text), size_(size) {}

  Result<std::size_t> read() {
    if (text_.size() > kLongestShare) return refuse();
    auto nodes = term();
    if (nodes && !trim(rest_).empty()) return refuse();
    return nodes;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> refuse() const {
    return make_error(
        fmt::format("is \"{}\"; write a share as 10%, a number as 20 nodes, or both as min(10%, 20 "
                    "nodes)",
                    printable(text_, 60)));
  }

  bool take(std::string_view word) {
    rest_ = rest_.substr(std::min(rest_.find_first_not_of(' '), rest_.size()));
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  Result<std::size_t> term() {  // NOLINT(misc-no-recursion): the text is short
    if (take("min(")) return several(true);
    if (take("max(")) return several(false);
    return one();
  }

  Result<std::size_t> several(bool smallest) {  // NOLINT(misc-no-recursion)
    auto chosen = term();
    while (chosen && take(",")) {
      const auto next = term();
      if (!next) return next;
      chosen = smallest ? std::min(*chosen, *next) : std::max(*chosen, *next);
    }
    if (chosen && !take(")")) return refuse();
    return chosen;
  }

  Result<std::size_t> one() {
    static_cast<void>(take(""));
    const auto end = std::min(rest_.find_first_not_of("0123456789."), rest_.size());
    const auto digits = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (take("%")) {
      const auto percent = parse_number(digits);
      if (!percent) return refuse();
      if (*percent > kWhole) return make_error("is more than all nodes");
      return share_of(*percent, size_);
    }
    const auto nodes = parse_unsigned(digits);
    if (!nodes || !(take("nodes") || take("node"))) return refuse();
    return static_cast<std::size_t>(*nodes);
  }

  std::string_view text_, rest_;
  std::size_t size_;
};

}  // namespace

Result<std::size_t> count_nodes(std::string_view share, std::size_t size) {
  return Reader(share, size).read();
}

}  // namespace muster::slurm
