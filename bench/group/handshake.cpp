// SPDX-License-Identifier: Apache-2.0
#include "bench/group/handshake.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <climits>
#include <cstring>

#include "bench/group/bytes.hpp"
#include "bench/launch/random.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::string_view kMagic = "mstrbnch";
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kNonce = 32;
constexpr std::size_t kMostName = 120;

}  // namespace

Result<std::string> draw_nonce() { return random_bytes(kNonce); }

std::string to_bytes(const Hello& hello) {
  return Writer()
      .raw(kMagic)
      .number(kVersion, 2)
      .number(static_cast<std::uint64_t>(hello.rank), 4)
      .number(static_cast<std::uint64_t>(hello.world), 4)
      .number(hello.has_secret ? 1 : 0, 1)
      .raw(hello.nonce)
      .text(printable(hello.name, kMostName))
      .take();
}

std::string to_bytes(const Challenge& challenge) {
  return Writer().raw(kMagic).raw(challenge.nonce).text(challenge.proof).take();
}

Result<Hello> read_hello(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.raw(kMagic.size()) != kMagic) return make_error("it is no muster-bench");
  if (const auto version = reader.number(2); version != kVersion) {
    return make_error(
        fmt::format("its protocol is version {}, and this one's is {}: run the same "
                    "muster-bench everywhere",
                    version,
                    kVersion));
  }
  const auto rank = reader.number(4);
  const auto world = reader.number(4);
  Hello hello{.has_secret = reader.number(1) != 0};
  hello.nonce = reader.raw(kNonce);
  hello.name = printable(reader.text(), kMostName);
  if (!reader.complete() || world > INT_MAX || rank >= world) {
    return make_error("its hello is malformed");
  }
  hello.rank = static_cast<int>(rank);
  hello.world = static_cast<int>(world);
  return hello;
}

std::optional<Challenge> read_challenge(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.raw(kMagic.size()) != kMagic) return std::nullopt;
  Challenge challenge{.nonce = std::string(reader.raw(kNonce))};
  challenge.proof = reader.text();
  return reader.complete() ? std::optional(challenge) : std::nullopt;
}

std::string prove(Side side,
                  std::string_view secret,
                  const Hello& hello,
                  std::string_view hub_nonce) {
  if (secret.empty()) return {};
  // Its configuration files say nothing about what is used here, and take milliseconds to read.
  ::OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  const auto claim = Writer()
                         .text(side == Side::hub ? "muster-bench rank 0" : "muster-bench member")
                         .text(hello.nonce)
                         .text(hub_nonce)
                         .number(static_cast<std::uint64_t>(hello.rank), 4)
                         .number(static_cast<std::uint64_t>(hello.world), 4)
                         .take();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(claim.data());
  const auto* made = ::HMAC(::EVP_sha256(),
                            secret.data(),
                            static_cast<int>(secret.size()),
                            text,
                            claim.size(),
                            digest.data(),
                            &length);
  // Without a digest there is no proof, and nothing equals it.
  if (made == nullptr || length == 0) return {};
  return {digest.begin(), digest.begin() + length};
}

bool same_bytes(std::string_view left, std::string_view right) {
  return left.size() == right.size() &&
         ::CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace muster::bench
