// SPDX-License-Identifier: Apache-2.0
#include "bench/run/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/group/bytes.hpp"

namespace muster::bench {
namespace {

std::string name_of(const Split& split, int key, const std::vector<int>& ranks,
                    const std::vector<std::string>& hosts) {
  switch (split.by) {
    case Split::By::node:
      return hosts.at(static_cast<std::size_t>(key));
    case Split::By::rail:
      return fmt::format("rail{}", key);
    case Split::By::count:
      break;
  }
  return fmt::format("ranks {}-{}", ranks.front(), ranks.back());
}

}  // namespace

Result<std::vector<RankPart>> parts_of(const Split& split, const std::vector<RankPlace>& places,
                                       const std::vector<std::string>& hosts) {
  std::map<int, std::vector<int>> by_key;
  for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
    const auto& place = places[static_cast<std::size_t>(rank)];
    const int key = split.by == Split::By::node   ? place.node
                    : split.by == Split::By::rail ? place.local
                                                  : rank / split.count;
    by_key[key].push_back(rank);
  }
  std::vector<RankPart> parts;
  for (auto& [key, ranks] : by_key) {
    if (ranks.size() < 2) {
      return make_error(fmt::format(
          "--split: rank {} would be alone, and one rank has no bandwidth", ranks.front()));
    }
    auto name = name_of(split, key, ranks, hosts);
    parts.push_back({.name = std::move(name), .ranks = std::move(ranks)});
  }
  if (parts.size() < 2) {
    return make_error(fmt::format("--split: all {} ranks would be together", places.size()));
  }
  return parts;
}

std::size_t part_with(const std::vector<RankPart>& parts, int rank) {
  const auto found = std::ranges::find_if(parts, [rank](const RankPart& part) {
    return std::ranges::find(part.ranks, rank) != part.ranks.end();
  });
  return static_cast<std::size_t>(found - parts.begin());
}

Exchange exchange_within(Group& group, const std::vector<RankPart>& parts) {
  const auto& mine = parts.at(part_with(parts, group.rank()));
  // Everybody learns what all have said, and takes what is of its own part.
  const auto all = [&group](std::string_view text) -> Result<std::vector<std::string>> {
    TRY_ASSIGN(const auto told, group.gather(text));
    Writer writer;
    for (const auto& each : told) writer.text(each);
    TRY_ASSIGN(const auto bytes, group.broadcast(writer.take()));
    std::vector<std::string> texts(static_cast<std::size_t>(group.size()));
    Reader reader(bytes);
    for (auto& each : texts) reader.text(each);
    return texts;
  };
  return {
      .gather = [all, &group, &mine](std::string_view text) -> Result<std::vector<std::string>> {
        TRY_ASSIGN(const auto told, all(text));
        std::vector<std::string> own;
        if (group.rank() != mine.ranks.front()) return own;
        for (const int rank : mine.ranks) {
          own.push_back(told.at(static_cast<std::size_t>(rank)));
        }
        return own;
      },
      .broadcast = [all, &mine](std::string_view text) -> Result<std::string> {
        TRY_ASSIGN(auto told, all(text));
        return told.at(static_cast<std::size_t>(mine.ranks.front()));
      }};
}

}  // namespace muster::bench
