// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/limits/gpu.hpp"

#include "lib/profile/profile.hpp"
#include "lib/profile/types.hpp"

namespace muster {

template class Owned<GpuLimits>;
template const Type& type_of<GpuLimits>();

}  // namespace muster
