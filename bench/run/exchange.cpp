// SPDX-License-Identifier: Apache-2.0
#include "bench/run/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "bench/run/messages.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {

Result<std::vector<Member>> gather_members(Group& group, const Backend& backend) {
  const auto texts = group.gather(to_wire(backend.members()));
  if (!texts) return tl::unexpected(texts.error());
  std::vector<Member> members;
  for (std::size_t rank = 0; rank < texts->size(); ++rank) {
    auto parsed = parse_members((*texts)[rank], static_cast<int>(rank));
    if (!parsed) return tl::unexpected(parsed.error());
    std::ranges::move(*parsed, std::back_inserter(members));
  }
  return members;
}

Result<int> broadcast_number(Group& group, int number) {
  const auto word = group.broadcast(std::to_string(number));
  if (!word) return tl::unexpected(word.error());
  const auto told = parse_signed(*word);
  if (!told) return tl::unexpected(told.error());
  return static_cast<int>(*told);
}

Result<std::vector<std::uint64_t>> broadcast_sizes(Group& group,
                                                   const std::vector<std::uint64_t>& sizes) {
  const auto told = group.broadcast(fmt::format("{}", fmt::join(sizes, " ")));
  if (!told) return tl::unexpected(told.error());
  std::vector<std::uint64_t> all;
  for (const auto word : split_words(*told)) {
    const auto size = parse_unsigned(word);
    if (!size) return tl::unexpected(size.error());
    all.push_back(*size);
  }
  return all;
}

}  // namespace muster::bench
