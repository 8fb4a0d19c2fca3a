// SPDX-License-Identifier: Apache-2.0
// The shapes of a transformer's matrix products, and its number of parameters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/node/gemm/gemm.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::train {

struct Transformer {
  std::string name;  // "7b", "32x4096x11008"
  int layers = 0;
  std::uint64_t hidden = 0;
  std::uint64_t key_value = 0;  // the width of keys, and of values
  std::uint64_t feed_forward = 0;

  bool operator==(const Transformer&) const = default;
};

// The named transformers.
[[nodiscard]] std::span<const Transformer> transformers();

// Parses a name, or LAYERSxHIDDENxFEED_FORWARD.
[[nodiscard]] Result<Transformer> parse_transformer(std::string_view text);

// The products of one layer, without those of attention scores, which depend on the length of
// sequences.
struct LayerProducts {
  std::vector<node::GemmShape> forward;
  std::vector<node::GemmShape> backward;  // of the inputs and of the weights
};

[[nodiscard]] LayerProducts products_of_layer(const Transformer& model, std::uint64_t tokens);

[[nodiscard]] std::uint64_t parameters_of_layer(const Transformer& model);

// The arithmetic operations of a step: all layers, forward and backward.
[[nodiscard]] double operations_of_step(const Transformer& model, std::uint64_t tokens);

}  // namespace muster::bench::train
