#pragma once

namespace swage::exit_code {

/// Exit codes of every program of swage (docs/PROCESSES.md), named after sysexits.h. 0: done or
/// stopped as asked; 1: any other failure.
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 64;     ///< command line, configuration or file
inline constexpr int kMissing = 69;      ///< a program, a library or a permission
inline constexpr int kBug = 70;          ///< a promise of our own code was broken
inline constexpr int kNotWritable = 74;  ///< no space, or no permission to write

}  // namespace swage::exit_code
