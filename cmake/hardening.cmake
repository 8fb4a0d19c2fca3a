# Hardens release programs, so that a memory error ends them before it can be exploited.
# tests/install/hardening_test.sh verifies all of it.
#
#   MUSTER_HARDENING         compiler flags
#   MUSTER_HARDENING_LINK    linker flags
#   MUSTER_FORTIFY           level of _FORTIFY_SOURCE: 3 with g++ 12 and later, else 2
include(CheckCXXSourceCompiles)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_cxx_source_compiles("#include <cstdio>
#if __USE_FORTIFY_LEVEL < 3
#error \"the compiler or glibc has no such level\"
#endif
int main() {}" MUSTER_HAS_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
set(MUSTER_FORTIFY 2)
if(MUSTER_HAS_FORTIFY_3)
  set(MUSTER_FORTIFY 3)
endif()

set(MUSTER_HARDENING -fstack-protector-strong -fstack-clash-protection
  -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${MUSTER_FORTIFY} -D_GLIBCXX_ASSERTIONS)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND MUSTER_HARDENING -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND MUSTER_HARDENING -mbranch-protection=standard)
endif()
set(MUSTER_HARDENING_LINK -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

list(JOIN MUSTER_HARDENING " " compile)
list(JOIN MUSTER_HARDENING_LINK " " link)
foreach(config RELEASE RELWITHDEBINFO MINSIZEREL)
  string(APPEND CMAKE_CXX_FLAGS_${config} " ${compile}")
  foreach(kind EXE MODULE SHARED)
    string(APPEND CMAKE_${kind}_LINKER_FLAGS_${config} " ${link}")
  endforeach()
endforeach()
