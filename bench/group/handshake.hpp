// SPDX-License-Identifier: Apache-2.0
// The handshake between a rank and rank 0: who the rank is, and that both have the job's secret.
// Neither sends the secret; each proves it over a random number that the other has chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster::bench {

struct Hello {
  int rank = 0;
  int world = 0;
  bool has_secret = false;
  std::string nonce;
  std::string name;
};

struct Challenge {
  std::string nonce;
  std::string proof;  // of rank 0; empty without a secret
};

// 32 random bytes.
[[nodiscard]] Result<std::string> draw_nonce();

[[nodiscard]] std::string to_bytes(const Hello& hello);
[[nodiscard]] std::string to_bytes(const Challenge& challenge);

// An error says what is wrong with it.
[[nodiscard]] Result<Hello> read_hello(std::string_view bytes);
[[nodiscard]] std::optional<Challenge> read_challenge(std::string_view bytes);

enum class Side { server, member };

// What `side` sends to prove that it has the secret; empty where there is none.
[[nodiscard]] std::string prove(Side side, std::string_view secret, const Hello& hello,
                                std::string_view server_nonce);

// Compares in a time that does not depend on where they differ.
[[nodiscard]] bool same_bytes(std::string_view left, std::string_view right);

}  // namespace muster::bench
