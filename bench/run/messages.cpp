// SPDX-License-Identifier: Apache-2.0
#include "bench/run/messages.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/base/json.hpp"

namespace muster::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Member, rank, host, pid, device, device_id, pci_address)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Samples, rank, seconds, cpu_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Wrong, rank, elements, first, observed, low, high, timed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Introduction, host, pid, backend, profile, asked)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Agreement, complaint, hosts, local_ranks, nodes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Batch, samples, wrong)

template <class T>
std::string to_message(const T& value) {
  return json_line(value);
}

// All ranks must run the same version of this program.
template <class T>
Result<T> from_message(std::string_view text, int rank) {
  const auto unread = [&](std::string_view why) {
    return make_error(fmt::format(
        "rank {} runs another version of muster-bench: cannot parse its message ({})", rank, why));
  };
  const auto json = parse_json(text);
  if (!json) return unread(json.error().message);
  try {
    return json->get<T>();
  } catch (const nlohmann::json::exception& error) {
    return unread(error.what());
  }
}

#define MUSTER_MESSAGE(...)                            \
  template std::string to_message(const __VA_ARGS__&); \
  template Result<__VA_ARGS__> from_message(std::string_view text, int rank);

MUSTER_MESSAGE(Introduction)
MUSTER_MESSAGE(Agreement)
MUSTER_MESSAGE(Batch)
MUSTER_MESSAGE(std::vector<Batch>)
MUSTER_MESSAGE(std::vector<Member>)
MUSTER_MESSAGE(std::vector<std::uint64_t>)
MUSTER_MESSAGE(ByteList)
MUSTER_MESSAGE(std::vector<ByteList>)
MUSTER_MESSAGE(std::uint64_t)
MUSTER_MESSAGE(int)
MUSTER_MESSAGE(std::string)

#undef MUSTER_MESSAGE

}  // namespace muster::bench
