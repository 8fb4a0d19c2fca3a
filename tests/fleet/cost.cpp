// SPDX-License-Identifier: Apache-2.0
// Measures the fleet store with a simulated year: import, size, and the time that questions take.
// See docs/performance.md.
//
//   fleet_cost NODES DAYS [FOLDER]      FOLDER is kept; else the store is in memory or in TMPDIR
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "fleet/add.hpp"
#include "fleet/fleet_command.hpp"
#include "fleet/intervals.hpp"
#include "fleet/store.hpp"
#include "tests/fleet/year.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::fleet {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double processor_seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

struct ImportCost {
  double wall_s = 0, processor_s = 0;
  std::uint64_t reports = 0, bytes = 0;
};

// Writes some days to a file and imports them, like a timer.
Result<void> import_days(const fs::path& folder, const Year& year, int nodes, int first, int last,
                         ImportCost& cost) {
  const auto file = folder / "days.jsonl";
  {
    std::ofstream out(file, std::ios::binary);
    for (int day = first; day < last; ++day) {
      for (int node = 0; node < nodes; ++node) out << year.report(node, day) << '\n';
    }
  }
  cost.bytes += fs::file_size(file);
  const auto begin = Clock::now();
  const auto processor = std::clock();
  auto store = Store::open_to_write(folder / "fleet.db");
  if (!store) return make_error(store.error().message);
  Importer importer(store->database(), "");
  DocumentSource source({file.string()});
  TRY(import_documents(store->database(), importer, source,
                       [](const Snapshot& /*snapshot*/) -> Result<std::string> {
                         return make_error("no snapshots here");
                       }));
  cost.wall_s += seconds_since(begin);
  cost.processor_s += processor_seconds_since(processor);
  cost.reports += importer.counts().reports;
  fs::remove(file);
  return {};
}

// Takes the fastest of a few runs, and discards the output.
double time_of(const fs::path& folder, app::FleetCommand command,
               int (*run)(const app::FleetCommand&, const Caller&)) {
  command.store = (folder / "fleet.db").string();
  const Caller caller{.console = {.out = [](std::string_view) { return Result<void>(); },
                                  .note = [](std::string_view) {}}};
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto begin = Clock::now();
    if (run(command, caller) != kExitHealthy) std::abort();
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

int measure(int nodes, int days, const fs::path& folder) {
  const Year year({.nodes = nodes, .days = days, .planted = nodes >= 100});
  ImportCost all, last;
  // Up to 400,000 reports at once, and the last day alone.
  const int step = std::max(1, 400'000 / nodes);
  for (int day = 0; day < days - 1; day += step) {
    const auto done = import_days(folder, year, nodes, day, std::min(day + step, days - 1), all);
    if (!done) {
      fmt::print(stderr, "fleet_cost: {}\n", done.error().message);
      return 1;
    }
  }
  if (!import_days(folder, year, nodes, days - 1, days, last)) return 1;
  const auto size = static_cast<double>(fs::file_size(folder / "fleet.db"));
  const auto reports = static_cast<double>(all.reports + last.reports);
  fmt::print("{} nodes, {} days: {} reports of {:.1f} kB\n", nodes, days,
             all.reports + last.reports,
             static_cast<double>(all.bytes) / static_cast<double>(all.reports) / 1000);
  fmt::print("import: {:.0f} reports/s, {:.1f} us of processor time each\n",
             static_cast<double>(all.reports) / all.wall_s,
             all.processor_s / static_cast<double>(all.reports) * 1e6);
  fmt::print("import of the last day alone: {:.1f} s\n", last.wall_s);
  fmt::print("store: {:.0f} MB, {:.0f} bytes a report, {:.2f} GB for 10,000 nodes x 365 days\n",
             size / 1e6, size / reports, size / reports * 3.65e6 / 1e9);
  fmt::print("show: {:.3f} s\n", time_of(folder, {}, app::run_fleet_show));
  fmt::print("part SERIAL: {:.3f} s\n",
             time_of(folder, {.words = {year.serial(8, 2, 0)}}, app::run_fleet_part));
  fmt::print("part NODE: {:.3f} s\n",
             time_of(folder, {.words = {Year::name(8)}}, app::run_fleet_part));
  fmt::print("odd: {:.3f} s\n", time_of(folder, {}, app::run_fleet_odd));
  fmt::print("drift: {:.3f} s\n", time_of(folder, {}, app::run_fleet_drift));
  fmt::print("causes: {:.3f} s\n", time_of(folder, {}, app::run_fleet_causes));
  fmt::print("causes --by firmware: {:.3f} s\n",
             time_of(folder, {.by = "firmware"}, app::run_fleet_causes));
  fmt::print("whatif, by values: {:.3f} s\n",
             time_of(folder, {.settings = {"gpu.temperature.warn_above=52"}},
                     [](const app::FleetCommand& command, const Caller& caller) {
                       return app::run_fleet_whatif(command, caller, {});
                     }));
  return 0;
}

}  // namespace
}  // namespace muster::fleet

int main(int count, char** words) {
  const int nodes = count > 1 ? std::atoi(words[1]) : 100;
  const int days = count > 2 ? std::atoi(words[2]) : 30;
  if (nodes < 10 || days < 2) return 64;
  const muster::TempDir temporary;
  const auto folder = count > 3 ? std::filesystem::path(words[3]) : temporary.path();
  std::filesystem::create_directories(folder);
  return muster::fleet::measure(nodes, days, folder);
}
