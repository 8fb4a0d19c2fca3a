// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/limits/gpu.hpp"

#include "lib/profile/binder.hpp"

namespace muster {

template class Owned<GpuLimits>;
template BoundFields fields_of<GpuLimits>();

}  // namespace muster
