// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/limits/host.hpp"

#include "lib/profile/profile.hpp"
#include "lib/profile/types.hpp"

namespace muster {

template class Owned<HostLimits>;
template const Type& type_of<HostLimits>();

}  // namespace muster
