#include "common/base/descriptor_passing.hpp"

#include <cstring>

namespace swage {

std::vector<std::byte> attach_descriptors(msghdr& header, std::span<const int> descriptors) {
  if (descriptors.empty()) return {};
  std::vector<std::byte> ancillary(CMSG_SPACE(descriptors.size_bytes()));
  header.msg_control = ancillary.data();
  header.msg_controllen = ancillary.size();
  cmsghdr* at = CMSG_FIRSTHDR(&header);
  at->cmsg_level = SOL_SOCKET;
  at->cmsg_type = SCM_RIGHTS;
  at->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(at), descriptors.data(), descriptors.size_bytes());
  return ancillary;
}

std::vector<Descriptor> take_descriptors(msghdr& header) {
  std::vector<Descriptor> out;
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(at) + i * sizeof(int), sizeof number);
      out.emplace_back(number);
    }
  }
  return out;
}

}  // namespace swage
