// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/table.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "checks/nhc_conf/size.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::nhc {
namespace {

std::vector<Row> scheduler_rows() {
  constexpr std::string_view kNoMoab = "Moab and TORQUE are not observed";
  return {unjudged("check_moab_sched", kNoMoab), unjudged("check_moab_rm", kNoMoab),
          unjudged("check_moab_torque", kNoMoab)};
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (auto* const rows_of :
       {memory_rows, hardware_rows, mount_rows, space_rows, task_rows, process_rows, file_rows,
        socket_rows, command_rows, scheduler_rows, azure_rows, benchmark_rows}) {
    for (auto& row : rows_of()) rows.push_back(std::move(row));
  }
  return rows;
}

using Presets = std::vector<Preset>;

constexpr std::uint64_t kMost = 2'000'000'000;

int whole(const std::string& value) {
  return static_cast<int>(parse_whole(value, kMost).value_or(0));
}

Seconds hours(const std::string& value) { return {kHour * whole(value)}; }

struct Key {
  std::string_view name;
  void (*put)(Profile&, const std::string&);
};

constexpr std::array kKeys{
    Key{"gpu.present.count",
        [](Profile& p, const std::string& v) { p.gpu->present.count = whole(v); }},
    Key{"gpu.ecc_corrected.dram_warn_above",
        [](Profile& p, const std::string& v) { p.gpu->ecc_corrected.dram_warn_above = whole(v); }},
    Key{"gpu.ecc_corrected.sram_warn_above",
        [](Profile& p, const std::string& v) { p.gpu->ecc_corrected.sram_warn_above = whole(v); }},
    Key{"gpu.ecc_corrected.warn_as",
        [](Profile& p, const std::string& v) {
          p.policies["gpu.ecc_corrected"].warn_as = parse_outcome(v).value_or(Outcome::fail);
        }},
    Key{"gpu.xid.window", [](Profile& p, const std::string& v) { p.gpu->xid.window = hours(v); }},
    Key{"ib.flaps.window", [](Profile& p, const std::string& v) { p.ib->flaps.window = hours(v); }},
    // NHC fails at this number, muster above it.
    Key{"ib.flaps.max",
        [](Profile& p, const std::string& v) { p.ib->flaps.max = std::max(0, whole(v) - 1); }},
    Key{"host.nvme.count", [](Profile& p, const std::string& v) { p.host->nvme.count = whole(v); }},
};

}  // namespace

Row judged(std::string_view name, Judge judge, ProbeSet needs, std::size_t least,
           std::size_t most) {
  return {.name = name, .least = least, .most = most, .judge = judge, .needs = needs};
}

Row of_processes(std::string_view name, Judge judge, Probe beside, std::size_t least,
                 std::size_t most) {
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

// An empty or missing argument is left to the profile.
Result<Presets> presets_of(const Row& row, const Arguments& arguments) {
  Presets presets;
  for (std::size_t i = 0; i < row.keys.size(); ++i) {
    const auto word = argument(arguments, i);
    if (word.empty()) continue;
    if (auto value = parse_whole(word, kMost); !value) return tl::unexpected(value.error());
    presets.push_back({.key = std::string(row.keys[i]), .value = std::string(word)});
  }
  if (!presets.empty() && !row.with_keys.key.empty()) presets.push_back(row.with_keys);
  return presets;
}

Result<void> apply(const Presets& presets, Profile& profile) {
  for (const auto& preset : presets) {
    const auto* key = std::ranges::find(kKeys, preset.key, &Key::name);
    if (key == kKeys.end()) return make_error(fmt::format("no value {}", preset.key));
    key->put(profile, preset.value);
  }
  return {};
}

}  // namespace muster::nhc
