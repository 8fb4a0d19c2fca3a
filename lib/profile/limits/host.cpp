// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/limits/host.hpp"

#include "lib/profile/binder.hpp"

namespace muster {

template class Owned<HostLimits>;
template BoundFields fields_of<HostLimits>();

}  // namespace muster
