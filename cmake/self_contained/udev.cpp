// SPDX-License-Identifier: Apache-2.0
// hwloc's archive asks udev for the names of block devices, which muster never uses. This
// replacement makes it look as if the machine had no udev.

#define MUSTER_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

struct udev;
struct udev_device;

MUSTER_HIDDEN udev* udev_new();
MUSTER_HIDDEN udev* udev_unref(udev* context);
MUSTER_HIDDEN udev_device* udev_device_new_from_subsystem_sysname(udev* context,
                                                                  const char* subsystem,
                                                                  const char* name);
MUSTER_HIDDEN const char* udev_device_get_property_value(udev_device* device, const char* key);
MUSTER_HIDDEN udev_device* udev_device_unref(udev_device* device);

udev* udev_new() { return nullptr; }

udev* udev_unref(udev* /*context*/) { return nullptr; }

udev_device* udev_device_new_from_subsystem_sysname(udev* /*context*/, const char* /*subsystem*/,
                                                    const char* /*name*/) {
  return nullptr;
}

const char* udev_device_get_property_value(udev_device* /*device*/, const char* /*key*/) {
  return nullptr;
}

udev_device* udev_device_unref(udev_device* /*device*/) { return nullptr; }
}
