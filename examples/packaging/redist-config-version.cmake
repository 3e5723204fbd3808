# The version in redist.h, and the requests that it satisfies: those for the same major version that ask for
# no later one. MIT licence, see LICENSE.
set(redist_header "${CMAKE_CURRENT_LIST_DIR}/../../redist.h") # of the source tree
if(NOT EXISTS "${redist_header}")
    set(redist_header "${CMAKE_CURRENT_LIST_DIR}/../../../include/redist.h")
endif()
foreach(redist_part MAJOR MINOR PATCH)
    file(STRINGS "${redist_header}" redist_line REGEX "^#define REDIST_VERSION_${redist_part} ")
    string(REGEX REPLACE "^.* " "" redist_${redist_part} "${redist_line}")
endforeach()
set(PACKAGE_VERSION "${redist_MAJOR}.${redist_MINOR}.${redist_PATCH}")

if(PACKAGE_FIND_VERSION_RANGE)
    if(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION_MIN
            AND (PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION_MAX
                OR PACKAGE_FIND_VERSION_RANGE_MAX STREQUAL "INCLUDE"
                AND PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION_MAX))
        set(PACKAGE_VERSION_COMPATIBLE TRUE)
    endif()
elseif(PACKAGE_FIND_VERSION_MAJOR EQUAL redist_MAJOR
        AND PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
    if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
        set(PACKAGE_VERSION_EXACT TRUE)
    endif()
endif()
