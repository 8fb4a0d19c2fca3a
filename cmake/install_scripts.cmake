# Run by `cmake --install`: writes the files that name the program by its absolute path, because their callers have no PATH.
# In the tree they name the package's path, /usr/bin/muster; installed they name the prefix's, known only now.
#
#   muster_source   the source tree
#   muster_bin      GNUInstallDirs folders, absolute or below the prefix
#   muster_libexec
#   muster_data
#   muster_made     a folder of the build tree for the results

# CPack makes an archive in a folder of its own, which is not where it will be unpacked.
set(named_prefix "${CMAKE_INSTALL_PREFIX}")
if(named_prefix MATCHES "/_CPack_Packages/")
  set(named_prefix /usr)
endif()
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

foreach(hook prolog epilog health_check)
  install_script("${muster_source}/slurm/hooks/${hook}" PROGRAM "${muster_libexec}/muster/slurm")
endforeach()
foreach(file muster.nhc muster.conf)
  install_script("${muster_source}/nhc-plugins/${file}" FILE "${muster_data}/muster/nhc")
endforeach()
foreach(job all_reduce_container all_reduce_mpirun all_reduce_srun sweep)
  install_script("${muster_source}/slurm/jobs/${job}.sbatch" FILE "${muster_data}/muster/jobs")
endforeach()
foreach(unit muster-boot muster-sweep)
  install_script("${muster_source}/slurm/systemd/${unit}.service" FILE "${muster_data}/muster/systemd")
endforeach()
