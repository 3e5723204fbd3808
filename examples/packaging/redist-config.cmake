# find_package(redist), for CMake 3.12 or later. MIT licence, see LICENSE.
#
#     project(solver LANGUAGES C)
#     find_package(redist 1.0 REQUIRED)
#     target_link_libraries(solver PRIVATE redist::redist)
#
# redist::redist is the two headers with MPI::MPI_C. With COMPONENTS Fortran (and Fortran among the project's languages)
# there is redist::fortran, too: the module `redist`, a static library that the project builds with its own compilers.
#
# `make install` copies this file to share/redist/cmake. In the source tree it also works from here, without an
# installation: set redist_DIR to examples/packaging, or add that directory to the project (CMakeLists.txt beside this
# file: add_subdirectory, FetchContent).

if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/../../redist_plan.h") # the source tree
    get_filename_component(redist_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
else()
    get_filename_component(redist_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)
endif()
get_filename_component(redist_FORTRAN_DIR "${CMAKE_CURRENT_LIST_DIR}/../fortran" ABSOLUTE)

# Reports what the project lacks; an optional component is left out.
set(redist_NOT_FOUND_MESSAGE "")
set(redist_needed C)
if(redist_FIND_REQUIRED_Fortran)
    list(APPEND redist_needed Fortran)
endif()
get_property(redist_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
foreach(redist_language IN LISTS redist_needed)
    if(NOT redist_language IN_LIST redist_languages)
        set(redist_NOT_FOUND_MESSAGE "redist needs ${redist_language} among the languages of project().")
    endif()
endforeach()
foreach(redist_component IN LISTS redist_FIND_COMPONENTS)
    if(NOT redist_component STREQUAL "Fortran" AND redist_FIND_REQUIRED_${redist_component})
        set(redist_NOT_FOUND_MESSAGE "redist has no component ${redist_component}, only Fortran.")
    endif()
endforeach()
if(redist_NOT_FOUND_MESSAGE)
    set(redist_FOUND FALSE)
    return()
endif()

include(CMakeFindDependencyMacro)
find_dependency(MPI COMPONENTS C)
if(NOT TARGET redist::redist)
    add_library(redist::redist INTERFACE IMPORTED)
    set_target_properties(redist::redist PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${redist_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES MPI::MPI_C
        # C++ sources are linked with MPI's C library alone: without the C++ bindings that mpi.h may offer them
        INTERFACE_COMPILE_DEFINITIONS "$<$<COMPILE_LANGUAGE:CXX>:OMPI_SKIP_MPICXX;MPICH_SKIP_MPICXX>")
endif()

if("Fortran" IN_LIST redist_FIND_COMPONENTS)
    if("Fortran" IN_LIST redist_languages)
        find_package(MPI QUIET COMPONENTS C Fortran)
    endif()
    if(TARGET MPI::MPI_Fortran AND MPI_Fortran_HAVE_F08_MODULE)
        set(redist_Fortran_FOUND TRUE)
        if(NOT TARGET redist::fortran)
            # apart, since MPI::MPI_Fortran may have options that a C compiler does not know
            add_library(redist_fortran_c OBJECT EXCLUDE_FROM_ALL "${redist_FORTRAN_DIR}/redist_f.c")
            target_link_libraries(redist_fortran_c PRIVATE redist::redist)
            add_library(redist_fortran STATIC EXCLUDE_FROM_ALL
                "${redist_FORTRAN_DIR}/redist.f90" $<TARGET_OBJECTS:redist_fortran_c>)
            set_target_properties(redist_fortran redist_fortran_c PROPERTIES
                POSITION_INDEPENDENT_CODE ON Fortran_MODULE_DIRECTORY "${CMAKE_BINARY_DIR}/redist_modules")
            target_include_directories(redist_fortran INTERFACE "${CMAKE_BINARY_DIR}/redist_modules")
            target_link_libraries(redist_fortran PUBLIC redist::redist MPI::MPI_Fortran)
            add_library(redist::fortran ALIAS redist_fortran)
        endif()
    else()
        set(redist_Fortran_FOUND FALSE)
        if(redist_FIND_REQUIRED_Fortran)
            set(redist_FOUND FALSE)
            set(redist_NOT_FOUND_MESSAGE "The component Fortran needs MPI's module mpi_f08.")
        endif()
    endif()
endif()
