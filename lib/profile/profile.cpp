// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/profile.hpp"

#include "lib/profile/binder.hpp"
#include "lib/profile/limits/bench.hpp"
#include "lib/profile/limits/environment.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"
#include "lib/profile/limits/pci.hpp"
#include "lib/profile/limits/probes.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster {

// The two largest groups have their own source files in limits/.
extern template BoundFields fields_of<HostLimits>();
extern template BoundFields fields_of<GpuLimits>();

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
