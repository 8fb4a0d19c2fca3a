// SPDX-License-Identifier: Apache-2.0
#include "bench/results/table.hpp"

#include <fmt/format.h>

#include <string_view>

#include "lib/base/text.hpp"
#include "lib/base/units.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kTimeWidth = 7;
constexpr std::size_t kBandwidthWidth = 6;
constexpr std::string_view kNone = "N/A";

std::string fields(std::string_view time, std::string_view algorithm, std::string_view bus,
                   std::string_view wrong) {
  return fmt::format("  {:>{}}  {:>{}}  {:>{}}  {:>6}", time, kTimeWidth, algorithm,
                     kBandwidthWidth, bus, kBandwidthWidth, wrong);
}

std::string time_of(const Timing& timing, bool cpu_time) {
  if (!cpu_time) return table_number(timing.mean_of_ranks * kMicrosecondsPerSecond, kTimeWidth);
  return timing.cpu ? table_number(*timing.cpu * kMicrosecondsPerSecond, kTimeWidth)
                    : std::string(kNone);
}

std::string placement(const std::optional<Timing>& timing, bool cpu_time) {
  if (!timing) return fields(kNone, kNone, kNone, kNone);
  return fields(time_of(*timing, cpu_time),
                table_number(timing->shown.algorithm / kGiga, kBandwidthWidth),
                table_number(timing->shown.bus / kGiga, kBandwidthWidth),
                timing->checked ? fmt::format("{}", wrong_elements(*timing)) : std::string(kNone));
}

// "3" of "gpu3"; "0" without a number.
std::string device_number(std::string_view id) {
  const auto digits = id.find_last_not_of("0123456789") + 1;
  return digits < id.size() ? std::string(id.substr(digits)) : "0";
}

// Without the PCI function, as in nccl-tests.
std::string_view bus_id(const Member& member) {
  const std::string_view address = member.pci_address;
  return address.empty() ? "host" : address.substr(0, address.find('.'));
}

std::string device_line(const Member& member) {
  return fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on {:>10} device {:>2} [{}] {}\n",
                     member.rank, member.pid, printable(member.host),
                     device_number(member.device_id), printable(bus_id(member)),
                     printable(member.device));
}

}  // namespace

std::string table_number(double value, std::size_t width) {
  constexpr int kMostDecimals = 2;
  for (int decimals = kMostDecimals; decimals > 0; --decimals) {
    auto text = fmt::format("{:.{}f}", value, decimals);
    if (text.size() <= width) return text;
  }
  return fmt::format("{:.0f}", value);
}

std::string table_header(const TableHead& head) {
  const auto step = head.factor == 0 ? "0(list)" : fmt::format("{}(factor)", head.factor);
  std::string text = fmt::format(
      "# muster-bench {}, {}\n"
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: "
      "{} validation: {} graph: {}\n#\n# Using devices\n",
      to_string(head.collective), printable(head.library), head.min_bytes, head.max_bytes, step,
      head.pace.warm_up, head.pace.iterations, head.pace.together, head.check ? 1 : 0,
      head.pace.graph ? 1 : 0);
  for (const auto& member : head.members) text += device_line(member);
  text.append(head.pace.pipelined
                  ? "#\n# Operations are started back to back, as nccl-tests does\n"
                  : "#\n# Each operation is waited for; nccl-tests starts them back to back "
                    "(--pipelined)\n");
  const std::string_view columns = head.pace.cpu_time ? "  cputime   algbw   busbw  #wrong"
                                                      : "     time   algbw   busbw  #wrong";
  constexpr std::string_view kUnits = "     (us)  (GB/s)  (GB/s)";
  return text.append("#\n")
      .append(fmt::format("#{:62}{:35}{}\n", "", "out-of-place", "in-place"))
      .append(fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "size", "count", "type",
                          "redop", "root", columns, columns))
      .append(fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "",
                          "", kUnits, fmt::format("{:8}{}", "", kUnits)));
}

std::string table_row(const Row& row, bool cpu_time) {
  const auto& operation = row.operation;
  return fmt::format(
      "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", row.shape.bytes, row.shape.count,
      table_name(operation.type),
      reduces(operation.collective) ? to_string(operation.reduction) : "none",
      has_root(operation.collective) ? fmt::format("{}", operation.root) : std::string("-1"),
      placement(row.out_of_place, cpu_time), placement(row.in_place, cpu_time));
}

void TableTotals::add(const Row& row) {
  for_each_placement(row, [this](const Timing& timing, bool /*in_place*/) {
    ++timings;
    if (timing.checked) ++checked;
    out_of_bounds += timing.wrong.size();
    bus += timing.shown.bus;
  });
}

std::string table_footer(const TableTotals& totals) {
  const double mean =
      totals.timings == 0 ? 0 : totals.bus / static_cast<double>(totals.timings) / kGiga;
  // Six digits, with a decimal point and without an exponent, for scripts that match [0-9.]+.
  auto average =
      mean >= 1e-4 && mean < 1e6 ? fmt::format("{:.6g}", mean) : fmt::format("{:.6f}", mean);
  if (average.find('.') == std::string::npos) average += ".0";
  return fmt::format("{}# Out of bounds values : {} {}\n# Avg bus bandwidth    : {}\n#\n",
                     totals.checked == totals.timings
                         ? std::string()
                         : fmt::format("# {} of {} results were not checked\n",
                                       totals.timings - totals.checked, totals.timings),
                     totals.out_of_bounds, totals.out_of_bounds == 0 ? "OK" : "FAILED", average);
}

}  // namespace muster::bench
