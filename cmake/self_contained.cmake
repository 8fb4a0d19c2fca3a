# With MUSTER_SELF_CONTAINED the programs need nothing but glibc 2.34, because every other library is linked
# from its archive. tools/package.sh uses it and tests/install/package_test.sh verifies it. Must be included after
# all libraries are found.
option(MUSTER_SELF_CONTAINED "Link everything but glibc into the programs" OFF)
set(MUSTER_ARCHIVES "" CACHE PATH "A folder with archives of libraries that the system has as shared objects only")
if(NOT MUSTER_SELF_CONTAINED)
  return()
endif()

# Makes targets that link to TARGET link to libNAME.a.
function(muster_link_archive target name)
  find_library(MUSTER_ARCHIVE_${name} NAMES lib${name}.a HINTS ${MUSTER_ARCHIVES} REQUIRED)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES ${MUSTER_ARCHIVE_${name}})
    return()
  endif()
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${MUSTER_ARCHIVE_${name}})
  foreach(each IN LISTS configurations)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${each} ${MUSTER_ARCHIVE_${name}})
  endforeach()
endfunction()

muster_link_archive(fmt::fmt fmt)
muster_link_archive(simdjson::simdjson simdjson)
muster_link_archive(OpenSSL::Crypto crypto)
muster_link_archive(OpenSSL::SSL ssl)
muster_link_archive(PkgConfig::hwloc hwloc)
muster_link_archive(PkgConfig::liburing uring)
muster_link_archive(pugixml::pugixml pugixml)
muster_link_archive(SQLite::SQLite3 sqlite3)
muster_link_archive(ZLIB::ZLIB z)
muster_link_archive(yaml-cpp yaml-cpp)

set(CMAKE_SKIP_BUILD_RPATH ON)
foreach(config RELEASE RELWITHDEBINFO MINSIZEREL)  # for --gc-sections
  string(APPEND CMAKE_CXX_FLAGS_${config} " -ffunction-sections -fdata-sections")
endforeach()
foreach(kind EXE MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS " -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed")
endforeach()

# Replacements for functions of a newer glibc, or of a library that is not linked in, which archives need.
add_library(muster_stand_ins OBJECT
  cmake/self_contained/glibc.cpp
  cmake/self_contained/udev.cpp)
set_target_properties(muster_stand_ins PROPERTIES UNITY_BUILD OFF)
foreach(program muster muster-bench muster_mpi)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL muster_stand_in ${program})")
endforeach()
function(muster_stand_in program)
  if(TARGET ${program})
    target_link_libraries(${program} PRIVATE muster_stand_ins)
  endif()
endfunction()
