// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/mounts_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "lib/base/text.hpp"
#include "lib/process/child.hpp"

namespace muster {
namespace {

constexpr std::size_t kAtOnce = 64;  // children side by side once something hangs
constexpr int kMaxBatches = 4;

// One line for each answer: five numbers, or "missing" or "error" and the reason.
std::string encode(const Result<Space>& answer) {
  if (answer) {
    return fmt::format("{} {} {} {} {}\n",
                       answer->total_bytes,
                       answer->available_bytes,
                       answer->used_bytes,
                       answer->inodes_total,
                       answer->inodes_free);
  }
  return fmt::format(
      "{} {}\n", answer.error().missing ? "missing" : "error", printable(answer.error().message));
}

std::optional<Fact<Space>> decode_space(std::string_view line) {
  const auto words = split_words(line);
  if (words.empty()) return std::nullopt;
  const std::string why(trim(line.substr(words[0].size())));
  if (words[0] == "missing") return Fact<Space>::absent(why);
  if (words[0] == "error") return Fact<Space>::unreadable(why);
  std::array<std::uint64_t, 5> numbers{};
  if (words.size() != numbers.size()) return std::nullopt;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parse_unsigned(words[i]);
    if (!number) return std::nullopt;
    numbers.at(i) = *number;
  }
  return Fact<Space>(Space{.total_bytes = numbers[0],
                           .available_bytes = numbers[1],
                           .used_bytes = numbers[2],
                           .inodes_total = numbers[3],
                           .inodes_free = numbers[4]});
}

SpaceAnswer single_answer(const ChildAnswer& answer) {
  if (answer.end == ChildAnswer::End::timeout) {
    return {.hung = true,
            .space = Fact<Space>::unreadable(fmt::format("statfs: {}", answer.reason))};
  }
  if (answer.end == ChildAnswer::End::died) {
    return {.space = Fact<Space>::unreadable(fmt::format("statfs: {}", answer.reason))};
  }
  auto space = decode_space(answer.bytes);
  if (!space) return {.space = Fact<Space>::unreadable("statfs: no valid answer from the child")};
  return {.space = *std::move(space)};
}

// The usual case: everything answers, and one child is enough. Empty when something did not.
std::vector<SpaceAnswer> ask_in_one_child(const std::vector<std::string>& points,
                                          std::chrono::milliseconds deadline,
                                          const AskSpace& ask) {
  Children children;
  children.start("all", Clock::now() + deadline, [&] {
    std::string lines;
    for (const auto& point : points) lines.append(encode(ask(point)));
    return lines;
  });
  const auto answer = children.next().second;
  if (answer.end != ChildAnswer::End::answered) return {};
  std::vector<SpaceAnswer> result;
  for (const auto line : split_lines(answer.bytes)) {
    auto space = decode_space(line);
    if (!space) return {};
    result.push_back({.space = *std::move(space)});
  }
  if (result.size() != points.size()) return {};
  return result;
}

struct Asking {
  const AskSpace& ask;
  const AnnounceSpace& announce;
};

// A child for each point, so that every point has the whole deadline for itself.
void ask_one_by_one(std::span<const std::string> points,
                    std::chrono::milliseconds deadline,
                    const Asking& asking,
                    std::span<SpaceAnswer> result) {
  Children children;
  for (std::size_t i = 0; i < points.size(); ++i) {
    children.start(fmt::format("{}", i), Clock::now() + deadline, [&, i] {
      if (asking.announce) asking.announce(points[i]);
      return encode(asking.ask(points[i]));
    });
  }
  for (auto next = children.next(); !next.first.empty(); next = children.next()) {
    const auto index = parse_unsigned(next.first);
    if (index && *index < result.size()) result[*index] = single_answer(next.second);
  }
}

}  // namespace

std::vector<SpaceAnswer> ask_spaces(const std::vector<std::string>& points,
                                    std::chrono::milliseconds deadline,
                                    const AskSpace& ask,
                                    const AnnounceSpace& announce) {
  if (points.empty()) return {};
  auto result = ask_in_one_child(points, deadline, ask);
  if (!result.empty()) return result;

  const SpaceAnswer not_asked{
      .space = Fact<Space>::unreadable("not asked: too many other mounts did not answer")};
  result.assign(points.size(), not_asked);
  const std::span<const std::string> all(points);
  const std::span<SpaceAnswer> answers(result);
  std::size_t from = 0;
  for (int batch = 0; batch < kMaxBatches && from < all.size(); ++batch) {
    const auto count = std::min(kAtOnce, all.size() - from);
    ask_one_by_one(
        all.subspan(from, count), deadline, {ask, announce}, answers.subspan(from, count));
    from += count;
  }
  return result;
}

}  // namespace muster
