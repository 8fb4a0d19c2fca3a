// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/link_errors.hpp"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kMostStatistics = 65536;

// Queries the driver of an interface; a buffer begins with the command.
class StatisticsDriver {
 public:
  explicit StatisticsDriver(const std::string& name)
      : name_(name), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    name.copy(static_cast<char*>(request_.ifr_name), IFNAMSIZ - 1);
  }

  [[nodiscard]] Result<void> ask(std::vector<std::uint32_t>& buffer) {
    request_.ifr_data = reinterpret_cast<char*>(buffer.data());  // NOLINT: the kernel's interface
    if (socket_.get() >= 0 && ::ioctl(socket_.get(), SIOCETHTOOL, &request_) == 0) return {};
    return make_error(fmt::format("ask {} for its statistics: {}", name_, errno_text(errno)));
  }

 private:
  std::string name_;
  Descriptor socket_;
  ifreq request_{};
};

// The number of statistics: the length of a set follows its mask.
Result<std::uint32_t> count_of(StatisticsDriver& interface) {
  std::vector<std::uint32_t> buffer(sizeof(ethtool_sset_info) / sizeof(std::uint32_t) + 1);
  const std::uint64_t mask = std::uint64_t{1} << ETH_SS_STATS;
  buffer[0] = ETHTOOL_GSSET_INFO;
  std::memcpy(&buffer[2], &mask, sizeof mask);
  TRY(interface.ask(buffer));
  std::uint64_t answered = 0;
  std::memcpy(&answered, &buffer[2], sizeof answered);
  return answered == mask ? buffer.back() : 0;
}

}  // namespace

std::vector<std::string> split_names(std::string_view block) {
  std::vector<std::string> names;
  for (; block.size() >= ETH_GSTRING_LEN; block.remove_prefix(ETH_GSTRING_LEN)) {
    const auto field = block.substr(0, ETH_GSTRING_LEN);
    names.push_back(printable(trim(field.substr(0, field.find('\0'))), ETH_GSTRING_LEN));
  }
  return names;
}

Result<std::map<std::string, std::uint64_t>> read_statistics(const std::string& interface) {
  StatisticsDriver asked(interface);
  TRY_ASSIGN(const auto count, count_of(asked));
  if (count == 0 || count > kMostStatistics) {
    return make_error(fmt::format("{} has {} statistics", interface, count));
  }
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  std::vector<std::uint32_t> names(sizeof(ethtool_gstrings) / kWord +
                                   count * ETH_GSTRING_LEN / kWord);
  names[0] = ETHTOOL_GSTRINGS;
  names[1] = ETH_SS_STATS;
  names[2] = count;
  std::vector<std::uint32_t> values(sizeof(ethtool_stats) / kWord + 2 * std::size_t{count});
  values[0] = ETHTOOL_GSTATS;
  values[1] = count;
  for (auto* buffer : {&names, &values}) {
    TRY(asked.ask(*buffer));
  }
  std::string block(count * ETH_GSTRING_LEN, '\0');
  std::memcpy(block.data(), names.data() + sizeof(ethtool_gstrings) / kWord, block.size());
  std::map<std::string, std::uint64_t> statistics;
  std::size_t at = sizeof(ethtool_stats) / kWord;
  for (const auto& name : split_names(block)) {
    std::uint64_t value = 0;
    std::memcpy(&value, &values[at], sizeof value);
    statistics.emplace(name, value);
    at += 2;
  }
  return statistics;
}

std::map<std::string, std::uint64_t> read_link_errors(const std::string& interface) {
  std::map<std::string, std::uint64_t> errors;
  const auto statistics = read_statistics(interface);
  if (!statistics) return errors;
  for (const auto name : {kCorrectedBits, kSymbolErrors}) {
    const auto found = statistics->find(std::string(name));
    if (found != statistics->end()) errors.insert(*found);
  }
  return errors;
}

}  // namespace muster
