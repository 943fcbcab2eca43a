# SPDX-License-Identifier: Apache-2.0
# Language standard, warnings, sanitizers, ccache: everything that is about the compiler.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

# Warnings belong to our own targets only: consumers of the install never see this one.
# g++ 12 sees overlapping copies inside std::string that cannot happen (GCC bug 105651, mended in 13). At -O3 it sees the
# empty side of std::optional and std::variant read, and loops run past their ends; other builds look for these.
add_library(schedlab_warnings INTERFACE)
target_compile_options(
  schedlab_warnings
  INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall
    -Wextra
    -Wpedantic
    -Wconversion
    -Wsign-conversion
    $<$<NOT:$<BOOL:${SCHEDLAB_UNITY_LIBRARIES}>>:-Wshadow> # sources that are joined hide each other's names
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>,$<CONFIG:Release>>:-Wno-maybe-uninitialized
    -Wno-stringop-overflow -Wno-array-bounds>
    $<$<BOOL:${SCHEDLAB_WARNINGS_AS_ERRORS}>:-Werror>>
    # What nvcc generates is neither pedantic nor free of conversions.
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra
    $<$<BOOL:${SCHEDLAB_WARNINGS_AS_ERRORS}>:-Werror=all-warnings>>)

# The static libraries also go into the Python module, a shared library: position-independent code. No name of ours is
# to be replaced at run time, so calls within a library are still inlined and direct.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-semantic-interposition>)

if(SCHEDLAB_NATIVE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()

if(SCHEDLAB_SANITIZE)
  add_compile_options(-fsanitize=${SCHEDLAB_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SCHEDLAB_SANITIZE})
  if(SCHEDLAB_SANITIZE MATCHES "undefined")
    # The address sanitizer reports null pointers and accesses beyond an object too, and unaligned access works where
    # this is built; to check each access twice takes a third of the compile time.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=null,alignment,object-size)
  endif()
endif()

# The cache is told to look at paths relative to the checkout, so that build folders share what is equal in them;
# the sloppiness is what ccache's manual asks for with precompiled headers.
find_program(SCHEDLAB_CCACHE ccache)
mark_as_advanced(SCHEDLAB_CCACHE)
if(SCHEDLAB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${SCHEDLAB_CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# Where mold is installed a test program with debug information links in 0.2 s, with GNU ld in 0.9 s.
find_program(SCHEDLAB_MOLD mold)
mark_as_advanced(SCHEDLAB_MOLD)
if(SCHEDLAB_MOLD AND CMAKE_BUILD_TYPE STREQUAL "Debug")
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold SCHEDLAB_LINKS_WITH_MOLD)
  if(SCHEDLAB_LINKS_WITH_MOLD)
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>)
  endif()
endif()

if(SCHEDLAB_TIDY)
  find_program(SCHEDLAB_CLANG_TIDY NAMES clang-tidy-14 clang-tidy REQUIRED)
  # The flags are those of another compiler, which may have warnings that clang does not know.
  # A file's own names seem to hide those of the files that it is joined with; compilations of the
  # dev preset, file by file, see what does hide.
  set(CMAKE_CXX_CLANG_TIDY ${SCHEDLAB_CLANG_TIDY} --quiet --extra-arg=-Wno-unknown-warning-option
                           --extra-arg=-Wno-ignored-optimization-argument --extra-arg=-Wno-shadow)
  # clang-tidy cannot read another compiler's precompiled header.
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
