// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/rendezvous.hpp"

#include <fmt/format.h>

#include <string>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

// What jobs on Azure use for this by custom.
constexpr std::uint16_t kAzurePort = 6105;

struct Host {
  std::string name;
  std::string_view variable;
};

// "10.0.0.4:6000" without the port, which is Azure Batch's own.
std::string without_port(std::string_view text) {
  const auto address = parse_rendezvous(text);
  return address ? address->host : std::string(text);
}

Host master(const Environment& environment) {
  for (const std::string_view name :
       {"MASTER_ADDR", "AZ_BATCH_MASTER_NODE", "AZ_BATCHAI_MPI_MASTER_NODE"}) {
    if (environment.has(name)) return {without_port(environment.text(name)), name};
  }
  return {};
}

}  // namespace

Result<Rendezvous> parse_rendezvous(std::string_view text) {
  const auto wrong = make_error(fmt::format(
      "\"{}\" is no host and port such as node1:6105 or [fd00::1]:6105", printable(text, 100)));
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  const auto port = parse_unsigned(text.substr(colon + 1));
  auto host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  // More than one colon is an address of IPv6, whose end is no port unless brackets say so.
  const bool ambiguous = !bracketed && host.find(':') != std::string_view::npos;
  if (!port || *port == 0 || *port > UINT16_MAX || host.empty() || ambiguous) return wrong;
  return Rendezvous{.host = std::string(host), .port = static_cast<std::uint16_t>(*port)};
}

std::uint16_t port_of_job(std::string_view job) {
  constexpr std::uint32_t kFirst = 10000;
  constexpr std::uint32_t kCount = 20000;
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return static_cast<std::uint16_t>(kFirst + hash % kCount);
}

std::uint16_t beside(std::uint16_t port, std::uint16_t offset) {
  const int sum = port + offset;
  return static_cast<std::uint16_t>(sum <= UINT16_MAX ? sum : port - offset);
}

Result<void> add_mpi_rendezvous(const Environment& environment, Place& place) {
  const auto [host, variable] = master(environment);
  if (!host.empty()) {
    const auto port = environment.port("MASTER_PORT", kAzurePort);
    if (!port) return tl::unexpected(port.error());
    place.rendezvous = Rendezvous{.host = host, .port = *port};
    place.evidence.push_back(
        fmt::format("without MPI rank 0 would listen on {} port {}: {} and {}",
                    printable(host, 100),
                    *port,
                    variable,
                    environment.has("MASTER_PORT") ? "MASTER_PORT" : "the customary port"));
  } else if (place.local_world == place.world) {
    const auto job = environment.text("PMIX_NAMESPACE");
    const auto port = job.empty() ? kAzurePort : port_of_job(job);
    place.rendezvous = Rendezvous{.host = "127.0.0.1", .port = port};
    place.evidence.push_back(fmt::format(
        "without MPI rank 0 would listen on 127.0.0.1 port {}: all ranks are on this node", port));
  }
  return {};
}

}  // namespace muster::bench
