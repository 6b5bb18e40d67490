# Finds cuDNN 9 under CUDNN_ROOT (a variable of CMake or of the environment: a folder with include/
# and lib/, such as nvidia/cudnn of a Python wheel), beside the CUDA toolkit, or as a wheel of the
# Python that is in the path. Target: CuDNN9::cudnn.
find_program(CUDNN_PYTHON NAMES python3 python)
set(wheel "")
if(CUDNN_PYTHON)
  execute_process(COMMAND ${CUDNN_PYTHON} -c
    "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    OUTPUT_VARIABLE wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
# A wheel has versioned names only, and both names are tried folder by folder, so that a later folder
# does not win by the better name.
set(places HINTS ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_INCLUDE_DIRS}/..
           ${CUDAToolkit_LIBRARY_DIR}/.. ${wheel}/nvidia/cudnn)
find_path(CUDNN_INCLUDE_DIR cudnn_graph.h ${places} PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 NAMES_PER_DIR ${places}
             PATH_SUFFIXES lib64 lib)
mark_as_advanced(CUDNN_PYTHON CUDNN_INCLUDE_DIR CUDNN_LIBRARY)

set(CuDNN9_VERSION "")
if(CUDNN_INCLUDE_DIR AND EXISTS ${CUDNN_INCLUDE_DIR}/cudnn_version.h)
  file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h lines
       REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) [0-9]+")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  list(JOIN numbers "." CuDNN9_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CuDNN9 REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR
                                  VERSION_VAR CuDNN9_VERSION HANDLE_VERSION_RANGE)
if(CuDNN9_FOUND AND NOT TARGET CuDNN9::cudnn)
  add_library(CuDNN9::cudnn UNKNOWN IMPORTED)
  set_target_properties(CuDNN9::cudnn PROPERTIES IMPORTED_LOCATION ${CUDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${CUDNN_INCLUDE_DIR})
endif()
