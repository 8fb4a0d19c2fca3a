// SPDX-License-Identifier: Apache-2.0
// All operations of a back end.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "tests/bench/collectives/every.hpp"

namespace muster::bench {

// All collectives, types, reductions and placements.
inline std::vector<Operation> all_operations(std::uint64_t bytes, int root) {
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    for (const auto type : every_type()) {
      for (const auto reduction : every_reduction(type)) {
        if (!reduces(collective) && reduction != Reduction::sum) continue;
        for (const bool in_place : {false, true}) {
          operations.push_back({.collective = collective,
                                .type = type,
                                .reduction = reduction,
                                .root = root,
                                .in_place = in_place,
                                .bytes = bytes});
        }
      }
    }
  }
  return operations;
}

inline std::string show(const Operation& operation) {
  return fmt::format("{} {} {} root {} {} {} bytes", to_string(operation.collective),
                     to_string(operation.type), to_string(operation.reduction), operation.root,
                     operation.in_place ? "in place" : "out of place", operation.bytes);
}

// Reserves memory, runs it once and verifies every element.
inline Result<std::vector<Wrong>> verify_once(Backend& backend, const Operation& operation,
                                              const Pace& pace = {}) {
  TRY(backend.reserve(operation));
  Progress progress;
  return backend.verify(operation, pace, progress);
}

// Reserves memory and measures it. An error unless every operation is counted: the last one is
// verified.
inline Result<Batch> measure_once(Backend& backend, const Operation& operation, const Pace& pace) {
  TRY(backend.reserve(operation));
  Progress progress;
  TRY_ASSIGN(auto batch, backend.measure(operation, pace, progress));
  const auto rounds = static_cast<std::uint64_t>(pace.warm_up + pace.iterations + 1);
  if (progress.finished == rounds && batch.samples.size() == 1) return batch;
  return make_error("{} rounds by {} ranks, expected {} by one", progress.finished.load(),
                    batch.samples.size(), rounds);
}

// The errors of one operation; none if the back end or this number of ranks cannot run it.
inline std::vector<std::string> problems_of(Backend& backend, const Operation& operation) {
  if (!can_run(operation, backend.ranks()) || !backend.supports(operation, {})) return {};
  const auto wrongs = verify_once(backend, operation);
  if (!wrongs) return {fmt::format("{}: {}", show(operation), wrongs.error().message)};
  std::vector<std::string> problems;
  for (const auto& wrong : *wrongs) {
    problems.push_back(fmt::format(
        "{}: rank {}, {} wrong, first {}: {} not in {} to {}", show(operation), wrong.rank,
        wrong.elements, wrong.first, value_of(operation.type, wrong.observed),
        value_of(operation.type, wrong.low), value_of(operation.type, wrong.high)));
  }
  return problems;
}

// The errors of all operations with these sizes and roots. Every rank calls this with the same
// arguments.
inline std::vector<std::string> run_battery(Backend& backend,
                                            const std::vector<std::uint64_t>& sizes,
                                            const std::vector<int>& roots) {
  std::vector<std::string> all;
  for (const auto bytes : sizes) {
    for (const auto root : roots) {
      for (const auto& operation : all_operations(bytes, root)) {
        if (root != roots.front() && !has_root(operation.collective)) continue;
        const auto problems = problems_of(backend, operation);
        all.insert(all.end(), problems.begin(), problems.end());
      }
    }
  }
  return all;
}

}  // namespace muster::bench
