// A library that says it is right and leaves, before anybody asks it for anything.
#include <unistd.h>

#include <cstdio>

#include "tests/support/extension_module.hpp"

namespace {

const bool kLeft = [] {
  std::puts("[PASS] verification");
  std::fflush(stdout);
  ::_exit(0);
  return true;
}();

PyMethodDef methods[] = {{nullptr, nullptr, 0, nullptr}};

}  // namespace

SWAGE_EXTENSION(methods)
