// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/environment.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kMaxRanks = 1U << 24U;

tl::unexpected<Error> malformed(std::string_view name, std::string_view value,
                                std::string_view expected) {
  return make_error(
      fmt::format("{}={}: expected {}; {}", name, printable(value, 60), expected, kLaunchRemedy));
}

Result<void> check_below(int number, std::string_view name, int bound, std::string_view of) {
  if (number < bound) return {};
  return make_error(fmt::format("{}={} contradicts {}={}: ranks are counted from 0; {}", name,
                                number, of, bound, kLaunchRemedy));
}

}  // namespace

std::string_view Environment::text(std::string_view name) const {
  const auto found = variables_->find(std::string(name));
  return found == variables_->end() ? std::string_view{} : std::string_view(found->second);
}

std::vector<std::string_view> Environment::missing(
    const std::vector<std::string_view>& names) const {
  std::vector<std::string_view> result;
  for (const auto name : names) {
    if (!has(name)) result.push_back(name);
  }
  return result;
}

Result<std::optional<int>> Environment::number(std::string_view name) const {
  const auto value = text(name);
  if (value.empty()) return std::nullopt;
  const auto parsed = parse_unsigned(value);
  if (!parsed || *parsed > kMaxRanks) return malformed(name, value, "a whole number");
  return static_cast<int>(*parsed);
}

Result<int> Environment::required(std::string_view name) const {
  TRY_ASSIGN(const auto value, number(name));
  if (!value) return make_error(fmt::format("{} is not set", name));
  return *value;
}

Result<std::uint16_t> Environment::port(std::string_view name, std::uint16_t otherwise) const {
  const auto value = text(name);
  if (value.empty()) return otherwise;
  const auto parsed = parse_unsigned(value);
  if (!parsed || *parsed == 0 || *parsed > UINT16_MAX) {
    return malformed(name, value, "a port from 1 to 65535");
  }
  return static_cast<std::uint16_t>(*parsed);
}

std::string setting(const Environment& environment, std::string_view name) {
  return fmt::format("{}={}", name, printable(environment.text(name), 60));
}

Result<void> check_place(const Place& place, const SizeNames& names) {
  if (place.world == 0) {
    return make_error(
        fmt::format("{}=0: expected at least one rank; {}", names.world, kLaunchRemedy));
  }
  TRY(check_below(place.rank, names.rank, place.world, names.world));
  if (place.local_rank && place.local_world) {
    return check_below(*place.local_rank, names.local_rank, *place.local_world, names.local_world);
  }
  return {};
}

Result<Place> read_place(const Environment& environment, const SizeNames& names) {
  TRY_ASSIGN(const auto rank, environment.required(names.rank));
  TRY_ASSIGN(const auto world, environment.required(names.world));
  TRY_ASSIGN(const auto local_rank, environment.number(names.local_rank));
  TRY_ASSIGN(const auto local_world, environment.number(names.local_world));
  Place place{.rank = rank, .world = world, .local_rank = local_rank, .local_world = local_world};
  TRY(check_place(place, names));
  if (place.local_world && *place.local_world > place.world) {
    return make_error(fmt::format("{}={} is more than {}={}: {}", names.local_world,
                                  *place.local_world, names.world, place.world, kLaunchRemedy));
  }
  return place;
}

std::uint16_t port_of_job(std::string_view job) {
  constexpr std::uint32_t kFirst = 10000;
  constexpr std::uint32_t kCount = 20000;
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return static_cast<std::uint16_t>(kFirst + hash % kCount);
}

std::uint16_t shifted_port(std::uint16_t port, std::uint16_t offset) {
  const int sum = port + offset;
  return static_cast<std::uint16_t>(sum <= UINT16_MAX ? sum : port - offset);
}

}  // namespace muster::bench
