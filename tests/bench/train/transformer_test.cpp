// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/train/training_step.hpp"

namespace muster::bench::train {
namespace {

using node::GemmShape;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refused(std::string_view text) {
  const auto model = parse_transformer(text);
  return model ? "" : model.error().message;
}

TEST(TransformerTest, HasTheProductsOfItsLayer) {
  const Transformer model{"small", 2, 128, 64, 256};
  const auto layer = products_of_layer(model, 1024);
  EXPECT_THAT(layer.forward, ElementsAre(GemmShape{1024, 256, 128}, GemmShape{1024, 128, 128},
                                         GemmShape{1024, 512, 128}, GemmShape{1024, 128, 256}));
  // The last one's first: of the input, and of the weights.
  ASSERT_EQ(layer.backward.size(), 8U);
  EXPECT_EQ(layer.backward[0], (GemmShape{1024, 256, 128}));
  EXPECT_EQ(layer.backward[1], (GemmShape{256, 128, 1024}));
  EXPECT_EQ(layer.backward[6], (GemmShape{1024, 128, 256}));
  EXPECT_EQ(layer.backward[7], (GemmShape{128, 256, 1024}));
}

// Six operations for each parameter and token, as everybody counts.
TEST(TransformerTest, CountsSixOperationsForEachParameterAndToken) {
  for (const auto& model : transformers()) {
    const double parameters = model.layers * static_cast<double>(parameters_of_layer(model));
    EXPECT_DOUBLE_EQ(operations_of_step(model, 4096), 6 * parameters * 4096) << model.name;
  }
}

TEST(TransformerTest, LayersHaveNearlyAllParametersOfTheName) {
  const std::vector<double> billions{6.5, 7.0, 12.7, 68.5};
  for (std::size_t i = 0; i < transformers().size(); ++i) {
    const auto& model = transformers()[i];
    const double parameters = model.layers * static_cast<double>(parameters_of_layer(model));
    EXPECT_NEAR(parameters / 1e9, billions[i], 0.1) << model.name;
  }
}

TEST(TransformerTest, ParsesNamesAndNumbers) {
  EXPECT_EQ(parse_transformer("70b")->hidden, 8192U);
  EXPECT_EQ(*parse_transformer("3x128x512"), (Transformer{"3x128x512", 3, 128, 128, 512}));
  EXPECT_THAT(refused("7"), HasSubstr("there are 7b, 8b, 13b, 70b, or LAYERSxHIDDENxFEED_FORWARD"));
  EXPECT_THAT(refused("8B"), HasSubstr("did you mean 8b?"));
  EXPECT_THAT(refused("0x128x512"), HasSubstr("\"0\", expected a number of layers up to 1000"));
  EXPECT_THAT(refused("3x100x512"), HasSubstr("\"100\", expected a multiple of 64"));
  EXPECT_THAT(refused("3x128x5e2"), HasSubstr("\"5e2\", expected a multiple of 64"));
}

}  // namespace
}  // namespace muster::bench::train
