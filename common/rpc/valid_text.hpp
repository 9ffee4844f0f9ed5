#pragma once

#include <google/protobuf/message.h>

namespace swage {

/// Replaces by U+FFFD what is not UTF-8 in the `string` fields of a message and of those in it.
/// protobuf itself would send such bytes, and the other end refuse the whole message and with it
/// the call: one byte of an agent's output would end its rollout. So whatever is sent by
/// common/rpc goes through here; what is serialised otherwise has to ask. `bytes` fields stay.
void make_text_valid(google::protobuf::Message& message);

}  // namespace swage
