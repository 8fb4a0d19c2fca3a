# Run by `cmake --install`: writes the files that depend on the prefix, which is known only now, and compressed ones.
# Callers of Slurm's hooks have no PATH, so these name the program by its absolute path: in the tree the package's,
# /usr/bin/muster, installed the prefix's.
#
#   muster_source   the source tree
#   muster_build    the build tree
#   muster_bin      GNUInstallDirs folders, absolute or below the prefix
#   muster_libexec
#   muster_data
#   muster_man
#   muster_version

# CPack builds an archive in a temporary folder, which is not where it will be unpacked.
set(named_prefix "${CMAKE_INSTALL_PREFIX}")
if(named_prefix MATCHES "/_CPack_Packages/")
  set(named_prefix /usr)
endif()
set(muster_made "${muster_build}/installed")
foreach(folder bin libexec)
  get_filename_component(${folder}_named "${muster_${folder}}" ABSOLUTE BASE_DIR "${named_prefix}")
  if(NOT ${folder}_named MATCHES "^/[A-Za-z0-9/._+@,=:%-]*$")
    message(FATAL_ERROR "Slurm's hooks cannot name \"${${folder}_named}\": a character there means something to a shell")
  endif()
endforeach()

function(install_script from type to)
  get_filename_component(name "${from}" NAME)
  file(READ "${from}" text)
  string(FIND "${text}" "/usr/bin/muster" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "${from} does not name /usr/bin/muster")
  endif()
  string(REPLACE "/usr/libexec/muster" "${libexec_named}/muster" text "${text}")
  string(REPLACE "/usr/bin/muster" "${bin_named}/muster" text "${text}")
  set(made "${muster_made}/${name}")
  file(WRITE "${made}" "${text}")
  get_filename_component(to "${to}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
  file(INSTALL DESTINATION "${to}" TYPE ${type} FILES "${made}")
endfunction()

# Installs a file at TO, compressed.
function(install_compressed from to)
  get_filename_component(to "${to}.gz" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
  get_filename_component(name "${to}" NAME)
  get_filename_component(folder "${to}" DIRECTORY)
  execute_process(COMMAND gzip --no-name --best --stdout "${from}" OUTPUT_FILE "${muster_made}/${name}"
    COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL DESTINATION "${folder}" TYPE FILE FILES "${muster_made}/${name}")
endfunction()

file(MAKE_DIRECTORY "${muster_made}")
foreach(program muster muster-bench)
  install_compressed("${muster_build}/docs/${program}.1" "${muster_man}/man1/${program}.1")
endforeach()
if("$ENV{DESTDIR}/${CMAKE_INSTALL_PREFIX}" MATCHES "/_CPack_Packages/") # Debian requires a changelog in its own format
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE "${muster_made}/changelog"
    "muster (${muster_version}) stable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- ${muster_contact}  ${date}\n")
  install_compressed("${muster_made}/changelog" "${muster_data}/doc/muster/changelog")
endif()

# A package owns /etc/muster/muster.yaml; below another prefix the file is an example.
set(settings "${CMAKE_INSTALL_PREFIX}/${muster_data}/muster")
if(CMAKE_INSTALL_PREFIX MATCHES "/usr$")
  get_filename_component(settings "${CMAKE_INSTALL_PREFIX}/../etc/muster" ABSOLUTE)
endif()
file(INSTALL DESTINATION "${settings}" TYPE FILE FILES "${muster_source}/configs/muster.yaml")

foreach(hook prolog epilog health_check)
  install_script("${muster_source}/slurm/hooks/${hook}" PROGRAM "${muster_libexec}/muster/slurm")
endforeach()
foreach(file muster.nhc muster.conf)
  install_script("${muster_source}/nhc-plugins/${file}" FILE "${muster_data}/muster/nhc")
endforeach()
foreach(job all_reduce_container all_reduce_mpirun all_reduce_srun sweep)
  install_script("${muster_source}/slurm/jobs/${job}.sbatch" PROGRAM "${muster_data}/muster/jobs")
endforeach()
foreach(unit muster-boot muster-sweep)
  install_script("${muster_source}/slurm/systemd/${unit}.service" FILE lib/systemd/system)
endforeach()
