// SPDX-License-Identifier: Apache-2.0
#include "lib/node/xid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::string_view kDriver = "NVRM: ";
constexpr std::string_view kNvswitch = "nvidia-nvswitch";
constexpr std::string_view kLoadBegins = "nvidia-nvlink: Nvlink Core is being initialized";
constexpr std::uint64_t kLongestLoadUs = 120'000'000;
constexpr unsigned kFallenOffTheBus = 79;

// Removes and returns the text before `end`, and removes `end`.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const auto at = std::min(text.find(end), text.size());
  const auto head = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return head;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool is_hex(std::string_view text, std::size_t least, std::size_t most) {
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  return text.size() >= least && text.size() <= most &&
         text.find_first_not_of(kDigits) == std::string_view::npos;
}

// Converts "0001:00:00" or "PCI:0001:00:00.0" to the form of sysfs.
std::optional<std::string> parse_address(std::string_view text) {
  take_prefix(text, "PCI:");
  const auto parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  std::string_view function = parts[2];
  const std::string_view device = take_until(function, ".");
  if (function.empty()) function = "0";
  constexpr std::size_t kLongestDomain = 8;
  if (!is_hex(parts[0], 4, kLongestDomain) || !is_hex(parts[1], 2, 2) || !is_hex(device, 2, 2) ||
      !is_hex(function, 1, 1)) {
    return std::nullopt;
  }
  return lower_case(fmt::format("{}:{}:{}.{}", parts[0], parts[1], device, function));
}

std::optional<unsigned> take_code(std::string_view& text) {
  constexpr std::size_t kMaxDigits = 6;
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  if (end == 0 || end > kMaxDigits) return std::nullopt;
  const auto code = parse_unsigned(text.substr(0, end));
  if (!code) return std::nullopt;
  text.remove_prefix(end);
  take_prefix(text, ", ");
  return static_cast<unsigned>(*code);
}

// "pid=1234, name=python3, …"; older drivers write <unknown>, the newest leave both out.
void take_process(std::string_view& text, XidEvent& event) {
  if (!take_prefix(text, "pid=")) return;
  const auto pid = parse_unsigned(take_until(text, ", "));
  if (pid && *pid <= UINT32_MAX) event.pid = static_cast<unsigned>(*pid);
  if (!take_prefix(text, "name=")) return;
  const auto name = take_until(text, ", ");
  if (name != "<unknown>") event.process = printable(name, 64);
}

// "(PCI:0001:00:00 GPU-I:02 GPU-CI:00): 31, pid=…".
std::optional<XidEvent> parse_event(std::string_view text) {
  if (!take_prefix(text, " (")) return std::nullopt;
  std::string_view place = take_until(text, "): ");
  auto address = parse_address(take_until(place, " "));
  const auto code = take_code(text);
  if (!address || !code) return std::nullopt;
  XidEvent event{.address = *std::move(address), .code = *code, .instance = printable(place, 64)};
  take_process(text, event);
  event.text = text;
  return event;
}

// "GPU 0000:18:00.0: GPU has fallen off the bus.", which some drivers write without an XID.
std::optional<XidEvent> parse_fallen(std::string_view text) {
  if (!take_prefix(text, "GPU ")) return std::nullopt;
  auto address = parse_address(take_until(text, ": "));
  if (!address || text.find("fallen off the bus") == std::string_view::npos) return std::nullopt;
  return XidEvent{
      .address = *std::move(address), .code = kFallenOffTheBus, .text = std::string(text)};
}

// Some messages consist of several records, or of several lines of one record.
class XidParser {
 public:
  void add_record(const KernelRecord& record) {
    std::string_view text = record.text;
    if (text.starts_with(kLoadBegins)) begin_load(record.time_us);
    if (take_prefix(text, kDriver)) {
      add_driver(text, record);
    } else if (text.starts_with(kNvswitch)) {
      add_nvswitch(text, record);
    }
  }

  [[nodiscard]] XidLog finish() { return std::move(log_); }

 private:
  void add_driver(std::string_view text, const KernelRecord& record) {
    if (take_prefix(text, "Xid")) {
      add_xid(text, record);
    } else if (take_prefix(text, "loading NVIDIA")) {
      end_load(record.time_us);
    } else if (take_prefix(text, "GPU at ")) {
      name_subject(text);
    } else if (take_prefix(text, "GPU Board Serial Number: ")) {
      if (!named_.empty()) log_.subjects[named_].serial = printable(trim(text), 40);
    } else if (take_prefix(text, "The NVIDIA GPU ")) {
      begin_load(record.time_us - std::min<std::uint64_t>(record.time_us, 1));
      begin_fallen(text, record);
    } else if (!falling_.empty() && text.find("fallen off the bus") != std::string_view::npos) {
      add_event(XidEvent{.address = std::exchange(falling_, {}),
                         .code = kFallenOffTheBus,
                         .text = std::string(text)},
                record);
    } else {
      add_event(parse_fallen(text), record);
    }
  }

  void add_xid(std::string_view text, const KernelRecord& record) {
    auto event = parse_event(text);
    if (!event) log_.unparsed.push_back(printable(record.text, 200));
    add_event(std::move(event), record);
  }

  // The driver announces itself only at the end of loading, after messages about GPUs that do not
  // answer.
  void begin_load(std::uint64_t time_us) {
    if (!load_began_us_ || time_us > *load_began_us_ + kLongestLoadUs) load_began_us_ = time_us;
  }

  void end_load(std::uint64_t time_us) {
    const bool begun = load_began_us_ && time_us <= *load_began_us_ + kLongestLoadUs;
    log_.driver_loaded_us.push_back(begun ? *load_began_us_ : time_us);
    load_began_us_.reset();
  }

  // "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, …". Lines with its data follow.
  void add_nvswitch(std::string_view text, const KernelRecord& record) {
    take_until(text, ": ");
    if (!take_prefix(text, "SXid")) return;
    auto event = parse_event(text);
    if (!event) return;
    if (event->text.starts_with("Severity ") || event->text.starts_with("Data ")) return;
    event->nvswitch = true;
    add_event(std::move(event), record);
  }

  void add_event(std::optional<XidEvent> event, const KernelRecord& record) {
    if (!event) return;
    event->of_program = record.facility != 0;
    event->first_us = record.time_us;
    event->last_us = std::max(record.time_us, record.last_us);
    event->lines = record.repeats;
    log_.events.push_back(*std::move(event));
  }

  // "PCI:0001:00:00: GPU-3f2a…"; the line with the serial number follows.
  void name_subject(std::string_view text) {
    const auto address = parse_address(take_until(text, ": "));
    named_ = address.value_or("");
    if (address) log_.subjects[*address].uuid = printable(trim(text), 48);
  }

  // "0000:18:00.0\n… (PCI ID: 10de:20b0) … fallen off the bus and is not responding to commands."
  void begin_fallen(std::string_view text, const KernelRecord& record) {
    const auto end = std::min(text.find_first_not_of("0123456789abcdefABCDEF:."), text.size());
    auto address = parse_address(text.substr(0, end));
    if (!address) return;
    if (text.find("fallen off the bus") == std::string_view::npos) {
      falling_ = *std::move(address);
      return;
    }
    add_event(XidEvent{.address = *std::move(address),
                       .code = kFallenOffTheBus,
                       .text = "fallen off the bus and is not responding to commands"},
              record);
  }

  XidLog log_;
  std::optional<std::uint64_t> load_began_us_;
  std::string named_;    // the GPU of the last "GPU at" line
  std::string falling_;  // the GPU that an unfinished message is about
};

}  // namespace

Xids find_xids(const KernelLog& log) {
  Xids xids{.of_kernel = parse_xids(log), .with_programs = {}};
  const bool by_programs = std::ranges::any_of(log.records, [](const KernelRecord& record) {
    return record.facility != 0 &&
           (record.text.starts_with(kDriver) || record.text.starts_with(kNvswitch));
  });
  if (by_programs) xids.with_programs = parse_xids(log, true);
  return xids;
}

XidLog parse_xids(const KernelLog& log, bool of_programs) {
  XidParser parser;
  for (const auto& record : log.records) {
    if (record.facility == 0 || of_programs) parser.add_record(record);
  }
  return parser.finish();
}

std::optional<unsigned> parse_recovery_action(std::string_view text) {
  // "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
  constexpr std::string_view kTo = " to 0x";
  const auto at = text.rfind(kTo);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + kTo.size());
  const auto value = parse_hex(text.substr(0, text.find_first_not_of("0123456789abcdefABCDEF")));
  if (!value || *value > UINT32_MAX) return std::nullopt;
  return static_cast<unsigned>(*value);
}

}  // namespace muster
