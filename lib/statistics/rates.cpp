// SPDX-License-Identifier: Apache-2.0
#include "lib/statistics/rates.hpp"

#include <boost/math/special_functions/gamma.hpp>

namespace muster {

using boost::math::gamma_p_inv;
using boost::math::gamma_q;

double highest_mean(std::int64_t events, double confidence) {
  return gamma_p_inv(static_cast<double>(events + 1), confidence);
}

double lowest_mean(std::int64_t events, double confidence) {
  return events == 0 ? 0 : gamma_p_inv(static_cast<double>(events), 1 - confidence);
}

double share_of_at_most(std::int64_t events, double expected) {
  return events < 0 ? 0 : gamma_q(static_cast<double>(events + 1), expected);
}

double share_of_rates_above(double factor, std::int64_t events, double expected, double shape) {
  return gamma_q(shape + static_cast<double>(events), factor * (shape + expected));
}

}  // namespace muster
