// SPDX-License-Identifier: Apache-2.0
// Functions newer than glibc 2.34 that the compiler's own archives call, implemented with
// glibc 2.34. No other object of the process sees them.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#define MUSTER_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

// libstdc++'s random_device, since glibc 2.36.
MUSTER_HIDDEN std::uint32_t muster_arc4random() __asm__("arc4random");

MUSTER_HIDDEN std::uint32_t muster_arc4random() {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) std::abort();
  return number;
}

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35)

namespace {

struct Sought {
  std::uintptr_t address;
  dl_find_object* found;
};

// 1 ends the search: this object holds the address, and has what unwinding needs.
int holds(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  auto& sought = *static_cast<Sought*>(data);
  bool inside = false;
  std::uintptr_t frames = 0;
  for (std::size_t each = 0; each < object->dlpi_phnum; ++each) {
    const auto& segment = object->dlpi_phdr[each];
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) frames = start;
    if (segment.p_type != PT_LOAD || sought.address < start ||
        sought.address >= start + segment.p_memsz) {
      continue;
    }
    inside = true;
    sought.found->dlfo_map_start = reinterpret_cast<void*>(start);
    sought.found->dlfo_map_end = reinterpret_cast<void*>(start + segment.p_memsz);
  }
  sought.found->dlfo_eh_frame = reinterpret_cast<void*>(frames);
  return inside && frames != 0 ? 1 : 0;
}

}  // namespace

// libgcc's unwinder, since glibc 2.35.
MUSTER_HIDDEN int muster_find_object(void* address,
                                     dl_find_object* found) __asm__("_dl_find_object");

MUSTER_HIDDEN int muster_find_object(void* address, dl_find_object* found) {
  *found = {};
  Sought sought{.address = reinterpret_cast<std::uintptr_t>(address), .found = found};
  return ::dl_iterate_phdr(holds, &sought) == 1 ? 0 : -1;
}

#endif
}
