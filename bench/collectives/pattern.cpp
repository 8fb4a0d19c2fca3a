// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/pattern.hpp"

#include <utility>

#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

std::uint64_t unsigned_of(int number) { return static_cast<std::uint64_t>(number); }

// The reduction of a whole vector. It is the same for all sizes, so the last one is cached.
Segment reduced(const Operation& operation, int ranks) {
  struct CachedSegment {
    Type type = Type::f32;
    Reduction reduction = Reduction::sum;
    int ranks = 0;
    Segment segment;
  };

  thread_local CachedSegment kept;
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

// The input of rank `from`, beginning at an element.
Segment moved(const Operation& operation, int from, int ranks, std::uint64_t from_element) {
  auto input = input_of(operation, from, ranks);
  Segment segment{.shift = from_element % input.bits.size(), .low = std::move(input.bits)};
  segment.high = segment.low;
  return segment;
}

// The parts that a rank received from each.
std::vector<Segment> from_each(const Operation& operation, int rank, int ranks,
                               const Shape& shape) {
  const auto& definition = definition_of(operation.collective);
  std::vector<Segment> segments;
  for (int from = 0; from < ranks; ++from) {
    auto sent = part_at(definition.received.own_part ? rank : 0);
    auto received = part_at(from);
    if (definition.unequal) {
      sent = sent_to(rank, from, ranks);
      received = received_from(from, rank, ranks);
    }
    auto& segment = segments.emplace_back(moved(operation, from, ranks, sent.first * shape.count));
    segment.first = received.first * shape.count;
    segment.count = received.count * shape.count;
  }
  return segments;
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

Fill poison_of(const Segment& segment, std::size_t width) {
  const auto mask = ~std::uint64_t{0} >> (64 - 8 * width);
  Fill fill{.bits = {}, .shift = segment.shift};
  for (std::size_t i = 0; i < segment.low.size(); ++i) {
    const auto inverse = ~segment.low[i] & mask;
    const bool wrong = inverse < segment.low[i] || inverse > segment.high[i];
    fill.bits.push_back(wrong ? inverse : (segment.high[i] + 1) & mask);
  }
  return fill;
}

std::vector<Segment> expected_of(const Operation& operation, int rank, int ranks) {
  const auto shape = shape_of(operation, rank, ranks);
  if (shape.receive == 0) return {};
  const auto& received = definition_of(operation.collective).received;
  if (received.what == Received::What::every_rank) return from_each(operation, rank, ranks, shape);
  const auto begin = received.own_part ? unsigned_of(rank) * shape.count : 0;
  Segment segment;
  if (received.what == Received::What::reduction) {
    segment = reduced(operation, ranks);
    segment.shift = begin % segment.low.size();
  } else {
    const int from = received.from({.rank = rank, .ranks = ranks, .root = operation.root});
    segment = moved(operation, from, ranks, begin);
  }
  segment.count = shape.receive;
  return {segment};
}

}  // namespace muster::bench
