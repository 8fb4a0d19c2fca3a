// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/profile.hpp"

#include "lib/profile/binder.hpp"
#include "lib/profile/limits/bench.hpp"
#include "lib/profile/limits/environment.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster {

template class Owned<HostLimits>;
template class Owned<GpuLimits>;
template class Owned<PciLimits>;
template class Owned<IbLimits>;
template class Owned<TopoLimits>;
template class Owned<EnvLimits>;
template class Owned<MusterLimits>;
template class Owned<BenchLimits>;

BoundFields profile_fields() { return fields_of<Profile>(); }

bool expects_gpus(const Profile& profile) { return profile.gpu->present.count.value_or(0) > 0; }

bool expects_hcas(const Profile& profile) { return profile.ib->present.count.value_or(0) > 0; }

}  // namespace muster
