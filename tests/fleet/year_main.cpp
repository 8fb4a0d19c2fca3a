// SPDX-License-Identifier: Apache-2.0
// Prints a simulated year of reports, one per line, by day: `fleet_year NODES DAYS [SEED]`.
#include <fmt/format.h>

#include <cstdlib>

#include "tests/fleet/year.hpp"

int main(int count, char** words) {
  const auto number = [&](int place, int usual) {
    return count > place ? std::atoi(words[place]) : usual;
  };
  const int nodes = number(1, 1000);
  const muster::fleet::Year year({.nodes = nodes,
                                  .days = number(2, 365),
                                  .seed = static_cast<std::uint64_t>(number(3, 1)),
                                  .planted = nodes >= 100});
  for (int day = 0; day < number(2, 365); ++day) {
    for (int node = 0; node < nodes; ++node) fmt::print("{}\n", year.report(node, day));
  }
  return 0;
}
