// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/pattern.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

std::uint64_t unsigned_of(int number) { return static_cast<std::uint64_t>(number); }

// The reduction of a whole vector. It is the same for all sizes, so the last one is cached.
Segment reduced(const Operation& operation, int ranks) {
  thread_local std::tuple<Type, Reduction, int> cached_for;
  thread_local Segment cached;
  const std::tuple wanted(operation.type, operation.reduction, ranks);
  if (cached_for == wanted) return cached;
  const auto inputs = inputs_of(operation, unsigned_of(ranks));
  Segment segment;
  for (std::uint64_t element = 0; element < inputs->period(); ++element) {
    const auto [low, high] = inputs->result(element);
    segment.low.push_back(low);
    segment.high.push_back(high);
  }
  cached_for = wanted;
  cached = segment;
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
  const auto& parts = definition_of(operation.collective).parts;
  const int root = operation.root;
  std::vector<Segment> segments;
  for (int from = 0; from < ranks; ++from) {
    const auto sent = parts.sent({.rank = from, .ranks = ranks, .root = root}, rank);
    const auto received = parts.received({.rank = rank, .ranks = ranks, .root = root}, from);
    auto& segment = segments.emplace_back(moved(operation, from, ranks, sent.first * shape.count));
    segment.first = received.first * shape.count;
    segment.count = received.count * shape.count;
  }
  return segments;
}

// Host memory is filled and verified as fast as by memcpy() and memcmp(): the table of one period
// is repeated in a block that stays in the cache.
constexpr std::size_t kBlock = 4096;  // elements, at least

// The table as elements, repeated. `count` elements will be used.
template <class Word>
std::vector<Word> block_of(const std::vector<std::uint64_t>& table, std::uint64_t count) {
  const auto wanted = std::min<std::uint64_t>(count, kBlock) + table.size();
  const auto copies = wanted / table.size();
  std::vector<Word> block;
  block.reserve(copies * table.size());
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (const auto bits : table) block.push_back(static_cast<Word>(bits));
  }
  return block;
}

// Calls `step(element, place in the block, elements)` for runs that fit into the block.
template <class Step>
void for_each_run(std::uint64_t count, std::size_t place, std::size_t block, Step step) {
  for (std::uint64_t element = 0; element < count;) {
    const auto elements =
        static_cast<std::size_t>(std::min<std::uint64_t>(count - element, block - place));
    step(element, place, elements);
    element += elements;
    place = 0;
  }
}

template <class Word>
void fill_words(Word* buffer, std::uint64_t count, const Fill& fill) {
  const auto block = block_of<Word>(fill.bits, count);
  for_each_run(count, fill.shift % fill.bits.size(), block.size(),
               [&](std::uint64_t element, std::size_t place, std::size_t elements) {
                 std::memcpy(buffer + element, block.data() + place, elements * sizeof(Word));
               });
}

template <class Word>
bool all_within(const Word* observed, const Word* low, const Word* high, std::size_t elements) {
  unsigned outside = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    outside |=
        static_cast<unsigned>(observed[i] < low[i]) | static_cast<unsigned>(observed[i] > high[i]);
  }
  return outside == 0;
}

// Counts the wrong ones of these elements, the first of which has this index.
template <class Word>
void record(const Word* observed, const Word* low, const Word* high, std::size_t elements,
            std::uint64_t index, Wrong& wrong) {
  for (std::size_t i = 0; i < elements; ++i) {
    if (observed[i] >= low[i] && observed[i] <= high[i]) continue;
    if (wrong.elements++ != 0) continue;
    wrong.first = index + i;
    wrong.observed = observed[i];
    wrong.low = low[i];
    wrong.high = high[i];
  }
}

template <class Word>
void verify_segment(const Word* buffer, const Segment& segment, Wrong& wrong) {
  const bool exact = segment.low == segment.high;
  const auto low = block_of<Word>(segment.low, segment.count);
  const auto high = exact ? low : block_of<Word>(segment.high, segment.count);
  const auto verify = [&](std::uint64_t element, std::size_t place, std::size_t elements) {
    const auto index = segment.first + element;
    const Word* const observed = buffer + index;
    const Word* const least = low.data() + place;
    const Word* const most = high.data() + place;
    const bool right = exact ? std::memcmp(observed, least, elements * sizeof(Word)) == 0
                             : all_within(observed, least, most, elements);
    if (!right) record(observed, least, most, elements, index, wrong);
  };
  for_each_run(segment.count, segment.shift % segment.low.size(), low.size(), verify);
}

// Calls `use` with a word of this many bytes.
template <class Use>
void with_word(std::size_t width, Use use) {
  if (width == 1) return use(std::uint8_t{});
  if (width == 2) return use(std::uint16_t{});
  if (width == 4) return use(std::uint32_t{});
  use(std::uint64_t{});
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

void fill_host(void* buffer, std::uint64_t count, std::size_t width, const Fill& fill) {
  with_word(width,
            [&](auto word) { fill_words(static_cast<decltype(word)*>(buffer), count, fill); });
}

void verify_host(const void* buffer, std::size_t width, const std::vector<Segment>& segments,
                 Wrong& wrong) {
  with_word(width, [&](auto word) {
    const auto* const words = static_cast<const decltype(word)*>(buffer);
    for (const auto& segment : segments) verify_segment(words, segment, wrong);
  });
}

}  // namespace muster::bench
