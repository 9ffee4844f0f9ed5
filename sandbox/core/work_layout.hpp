#pragma once

#include <string>
#include <string_view>

#include "sandbox/api/work_layout.hpp"

namespace swage::sandbox {

/// The template's text for one device kind. Lines between `<!-- if cuda -->` and `<!-- end -->` are
/// kept for cuda only, likewise cpu; the marker lines go.
std::string for_device_kind(std::string_view text, std::string_view device_kind);

}  // namespace swage::sandbox
