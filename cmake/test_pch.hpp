// What most tests include of others.
#pragma once
// clang-format off: its order begins with library_pch.hpp.
#include "cmake/library_pch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format on
