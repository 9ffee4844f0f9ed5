#pragma once

namespace swage::judge {

/// The guards that a test may switch off one by one, to show that the exploit behind each works
/// without it (tests/attacks). In swage-judge all are on, always: only swage-judge-testing reads
/// names of guards, and its verdicts say `trust=reduced(testing)`.
struct Guards {
  bool fresh = true;       ///< new content for every check and round; off: one content for all
  bool seed = true;        ///< contents come from a secret seed; off: torch's generator with 42
  bool readonly = true;    ///< inputs are mapped read-only; off: writable, and nobody looks
  bool held = true;        ///< storage is compared, earlier results are read again
  bool exact = true;       ///< type, shape and strides as they are; off: broadcast and converted
  bool finite = true;      ///< NaN is beyond every tolerance; off: NaN counts as equal
  bool hidden = true;      ///< inputs of distributions that get_inputs() does not draw
  bool timed = true;       ///< results of timed calls are compared too
  bool weights = true;     ///< the judge sets weights, twice; off: the candidate keeps its own
  bool guardalloc = true;  ///< poisoned memory between guard bands
  bool admission = true;   ///< a task must pass the battery before anybody is judged by it
  bool symbols = true;     ///< the library may only need what is allowed
  bool ast = true;         ///< tripwires in the Python source
  bool dispatch = true;    ///< torch operators are watched in every call of the candidate
  bool ghost = true;       ///< in some calls the library does nothing, and the result must be wrong
  bool workspace = true;   ///< the candidate does not see model.py
  bool counted = true;     ///< comparing nothing proves nothing
  bool window = true;      ///< a call ends when its threads stand still; off: when it says so
  bool deadline = true;    ///< calls have limits that go with eager's time
  bool ns = true;          ///< the candidate has namespaces and a root of its own
  bool seccomp = true;     ///< the candidate's system calls are filtered
};

}  // namespace swage::judge
