// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/table.hpp"

#include <algorithm>
#include <utility>

namespace muster::nhc {
namespace {

std::vector<Row> scheduler_rows() {
  constexpr std::string_view kNoMoab = "Moab and TORQUE are not observed";
  return {unjudged("check_moab_sched", kNoMoab),
          unjudged("check_moab_rm", kNoMoab),
          unjudged("check_moab_torque", kNoMoab)};
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (auto* const rows_of : {memory_rows,
                              hardware_rows,
                              mount_rows,
                              space_rows,
                              task_rows,
                              process_rows,
                              file_rows,
                              socket_rows,
                              command_rows,
                              scheduler_rows,
                              azure_rows,
                              benchmark_rows}) {
    for (auto& row : rows_of()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Row judged(
    std::string_view name, Judge judge, ProbeSet needs, std::size_t least, std::size_t most) {
  return {.name = name, .least = least, .most = most, .judge = judge, .needs = needs};
}

Row of_processes(
    std::string_view name, Judge judge, Probe beside, std::size_t least, std::size_t most) {
  auto row = judged(name, judge, Probe::processes | beside, least, most);
  row.all_processes = true;
  return row;
}

Row unjudged(std::string_view name, std::string_view why) { return {.name = name, .why = why}; }

std::span<const Row> table() {
  static const std::vector<Row> rows = all_rows();
  return rows;
}

const Row* row_named(std::string_view name) {
  const auto rows = table();
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

const Row* row_of(const CheckLine& line) {
  static const Row kOfAmd = amd_count_row();
  const bool of_amd = line.check == kOfAmd.name && line.arguments.size() == 2 &&
                      (line.arguments[1] == "rocm" || line.arguments[1] == "amd");
  return of_amd ? &kOfAmd : row_named(line.check);
}

}  // namespace muster::nhc
