// SPDX-License-Identifier: Apache-2.0
#include "bench/group/handshake.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstring>

#include "bench/group/bytes.hpp"
#include "bench/launch/random.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::string_view kMagic = "mstrbnch";
constexpr std::uint64_t kVersion = 2;
constexpr std::size_t kNonce = 32;
constexpr std::size_t kMostName = 120;

// With the beginning by which a message of this protocol is known.
template <class T>
struct Versioned {
  std::string magic{kMagic};
  std::uint64_t version = kVersion;  // in a hello alone
  T value;
};

constexpr auto kHelloFields = [](auto& bytes, auto& hello) {
  bytes.raw(hello.magic, kMagic.size())
      .number(hello.version, 2)
      .number(hello.value.rank, 4)
      .number(hello.value.world, 4)
      .number(hello.value.has_secret, 1)
      .raw(hello.value.nonce, kNonce)
      .text(hello.value.name);
};

constexpr auto kChallengeFields = [](auto& bytes, auto& challenge) {
  bytes.raw(challenge.magic, kMagic.size())
      .raw(challenge.value.nonce, kNonce)
      .text(challenge.value.proof);
};

}  // namespace

Result<std::string> draw_nonce() { return random_bytes(kNonce); }

std::string to_bytes(const Hello& hello) {
  Versioned<Hello> sent{.value = hello};
  sent.value.name = printable(hello.name, kMostName);
  return encoded(kHelloFields, sent);
}

std::string to_bytes(const Challenge& challenge) {
  return encoded(kChallengeFields, Versioned<Challenge>{.value = challenge});
}

Result<Hello> read_hello(std::string_view bytes) {
  Versioned<Hello> read;
  const bool complete = decode(kHelloFields, bytes, read);
  if (read.magic != kMagic) return make_error("it is no muster-bench");
  if (read.version != kVersion) {
    return make_error(
        fmt::format("its protocol is version {}, and this one's is {}: run the same "
                    "muster-bench everywhere",
                    read.version, kVersion));
  }
  auto& hello = read.value;
  hello.name = printable(hello.name, kMostName);
  if (!complete || hello.rank < 0 || hello.rank >= hello.world) {
    return make_error("its hello is malformed");
  }
  return hello;
}

std::optional<Challenge> read_challenge(std::string_view bytes) {
  Versioned<Challenge> read;
  if (!decode(kChallengeFields, bytes, read) || read.magic != kMagic) return std::nullopt;
  return read.value;
}

std::string prove(Side side, std::string_view secret, const Hello& hello,
                  std::string_view server_nonce) {
  if (secret.empty()) return {};
  // Its configuration files say nothing about what is used here, and take milliseconds to read.
  ::OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  const auto claim = Writer()
                         .text(side == Side::server ? "muster-bench rank 0" : "muster-bench member")
                         .text(hello.nonce)
                         .text(server_nonce)
                         .number(hello.rank, 4)
                         .number(hello.world, 4)
                         .take();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(claim.data());
  const auto* made = ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()), text,
                            claim.size(), digest.data(), &length);
  // Without a digest there is no proof, and nothing equals it.
  if (made == nullptr || length == 0) return {};
  return {digest.begin(), digest.begin() + length};
}

bool same_bytes(std::string_view left, std::string_view right) {
  return left.size() == right.size() &&
         ::CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace muster::bench
