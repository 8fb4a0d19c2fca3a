// SPDX-License-Identifier: Apache-2.0
// The limits of all groups, for what reads, writes or describes whole profiles.
#pragma once

#include "lib/profile/limits/bench.hpp"
#include "lib/profile/limits/environment.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"
#include "lib/profile/limits/pci.hpp"
#include "lib/profile/limits/probes.hpp"
#include "lib/profile/limits/topology.hpp"
