# cpprestsdk (Debian's libcpprest-dev). Its own config file asks for Boost libraries that none of its
# users needs. Makes cpprest::cpprest.
find_library(Cpprest_LIBRARY cpprest)
find_path(Cpprest_INCLUDE cpprest/http_client.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cpprest REQUIRED_VARS Cpprest_LIBRARY Cpprest_INCLUDE)
if(Cpprest_FOUND AND NOT TARGET cpprest::cpprest)
  add_library(cpprest::cpprest INTERFACE IMPORTED)
  target_include_directories(cpprest::cpprest SYSTEM INTERFACE ${Cpprest_INCLUDE})
  target_link_libraries(cpprest::cpprest INTERFACE ${Cpprest_LIBRARY} Boost::system OpenSSL::SSL
                                                   OpenSSL::Crypto Threads::Threads)
endif()
