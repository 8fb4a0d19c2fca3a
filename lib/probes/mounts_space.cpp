// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/mounts_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/process/child.hpp"

namespace muster {
namespace {

constexpr std::size_t kAtOnce = 64;  // concurrent children once something hangs
constexpr int kMaxBatches = 4;

// The answers as a section of mounts with nothing but their space.
std::string ask_all_of(std::span<const std::string> points, const AskSpace& ask) {
  Mounts asked;
  for (const auto& point : points) {
    auto answer = ask(point);
    if (!answer) answer.error().message = printable(answer.error().message);
    asked.mounts.emplace_back().space = std::move(answer);
  }
  return section_to_json(observed(std::move(asked)));
}

// One answer for each point; empty if `bytes` are invalid.
std::vector<SpaceAnswer> decode_answers(std::string_view bytes, std::size_t points) {
  std::vector<SpaceAnswer> answers;
  auto read = parse_section<Mounts>(bytes);
  if (!read || read->facts.mounts.size() != points) return answers;
  for (auto& mount : read->facts.mounts) answers.push_back({.space = std::move(mount.space)});
  return answers;
}

SpaceAnswer single_answer(const ChildAnswer& answer) {
  if (answer.end == ChildAnswer::End::timeout) {
    return {.hung = true, .space = make_error(fmt::format("statfs: {}", answer.reason))};
  }
  if (answer.end == ChildAnswer::End::died) {
    return {.space = make_error(fmt::format("statfs: {}", answer.reason))};
  }
  auto answers = decode_answers(answer.bytes, 1);
  if (!answers.empty()) return answers.front();
  return {.space = make_error("statfs: no valid answer from the child")};
}

// The usual case: everything answers, and one child is enough. Else empty.
std::vector<SpaceAnswer> ask_in_one_child(const std::vector<std::string>& points,
                                          std::chrono::milliseconds deadline, const AskSpace& ask) {
  const auto answer = ask_child("all", deadline, [&] { return ask_all_of(points, ask); });
  return answer ? decode_answers(*answer, points.size()) : std::vector<SpaceAnswer>();
}

struct Asking {
  const AskSpace& ask;
  const AnnounceSpace& announce;
};

// Starts a child for each point, so that every point has the whole deadline.
void ask_one_by_one(std::span<const std::string> points, std::chrono::milliseconds deadline,
                    const Asking& asking, std::span<SpaceAnswer> result) {
  Children children;
  for (std::size_t i = 0; i < points.size(); ++i) {
    children.start(fmt::format("{}", i), deadline, [&, i] {
      if (asking.announce) asking.announce(points[i]);
      return ask_all_of(points.subspan(i, 1), asking.ask);
    });
  }
  for (auto next = children.next(); !next.first.empty(); next = children.next()) {
    const auto index = parse_unsigned(next.first);
    if (index && *index < result.size()) result[*index] = single_answer(next.second);
  }
}

}  // namespace

Space space_of(const struct statfs& status) {
  const auto unit =
      static_cast<std::uint64_t>(status.f_frsize > 0 ? status.f_frsize : status.f_bsize);
  return {.total_bytes = status.f_blocks * unit,
          .available_bytes = status.f_bavail * unit,
          .used_bytes = (status.f_blocks - std::min(status.f_bfree, status.f_blocks)) * unit,
          .inodes_total = status.f_files,
          .inodes_free = status.f_ffree};
}

std::vector<SpaceAnswer> ask_spaces(const std::vector<std::string>& points,
                                    std::chrono::milliseconds deadline, const AskSpace& ask,
                                    const AnnounceSpace& announce) {
  if (points.empty()) return {};
  auto result = ask_in_one_child(points, deadline, ask);
  if (!result.empty()) return result;

  const SpaceAnswer not_asked{.space =
                                  make_error("not asked: too many other mounts did not answer")};
  result.assign(points.size(), not_asked);
  const std::span<const std::string> all(points);
  const std::span<SpaceAnswer> answers(result);
  std::size_t from = 0;
  for (int batch = 0; batch < kMaxBatches && from < all.size(); ++batch) {
    const auto count = std::min(kAtOnce, all.size() - from);
    ask_one_by_one(all.subspan(from, count), deadline, {ask, announce},
                   answers.subspan(from, count));
    from += count;
  }
  return result;
}

}  // namespace muster
