// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/pattern.hpp"

#include <utility>

#include "bench/collectives/definition.hpp"
#include "bench/collectives/inputs.hpp"

namespace muster::bench {
namespace {

std::uint64_t unsigned_of(int number) { return static_cast<std::uint64_t>(number); }

// The whole vector, reduced. It is the same for every size, and asked for at each: the last one is
// kept.
Segment reduced(const Operation& operation, int ranks) {
  struct Kept {
    Type type = Type::f32;
    Reduction reduction = Reduction::sum;
    int ranks = 0;
    Segment segment;
  };

  thread_local Kept kept;
  if (kept.type == operation.type && kept.reduction == operation.reduction && kept.ranks == ranks) {
    return kept.segment;
  }
  const auto inputs = inputs_of(operation, unsigned_of(ranks));
  Segment segment;
  for (std::uint64_t element = 0; element < inputs->period(); ++element) {
    const auto [low, high] = inputs->result(element);
    segment.low.push_back(low);
    segment.high.push_back(high);
  }
  kept = {operation.type, operation.reduction, ranks, segment};
  return segment;
}

// What `from` put in, from one of its elements on.
Segment moved(const Operation& operation, int from, int ranks, std::uint64_t from_element) {
  auto input = input_of(operation, from, ranks);
  Segment segment{.shift = from_element % input.bits.size(), .low = std::move(input.bits)};
  segment.high = segment.low;
  return segment;
}

}  // namespace

Fill input_of(const Operation& operation, int rank, int ranks) {
  const auto inputs = inputs_of(operation, unsigned_of(ranks));
  Fill fill;
  for (std::uint64_t element = 0; element < inputs->period(); ++element) {
    fill.bits.push_back(inputs->input(element, unsigned_of(rank)));
  }
  return fill;
}

std::vector<Segment> expected_of(const Operation& operation, int rank, int ranks) {
  const auto shape = shape_of(operation, rank, ranks);
  if (shape.receive == 0) return {};
  const auto& received = definition_of(operation.collective).received;
  const auto begin = received.own_part ? unsigned_of(rank) * shape.count : 0;
  std::vector<Segment> segments;
  switch (received.what) {
    case Received::What::reduction:
      segments.push_back(reduced(operation, ranks));
      segments.front().shift = begin % segments.front().low.size();
      break;
    case Received::What::one_rank: {
      const int from = received.from({.rank = rank, .ranks = ranks, .root = operation.root});
      segments.push_back(moved(operation, from, ranks, begin));
      break;
    }
    case Received::What::every_rank:
      for (int from = 0; from < ranks; ++from) {
        segments.push_back(moved(operation, from, ranks, begin));
        segments.back().first = unsigned_of(from) * shape.count;
      }
      break;
  }
  for (auto& segment : segments) {
    segment.count = segments.size() == 1 ? shape.receive : shape.count;
  }
  return segments;
}

}  // namespace muster::bench
