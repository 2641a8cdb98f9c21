// What the probes on programs and libraries share: which files a spec names. Private to this
// folder.
#pragma once

#include <string>
#include <vector>

#include "compiler/probes/provider.h"

namespace memtrace::probes {

// The files that `part` names: one, or with `*` all that fit. Empty after an error, which is not
// reported when `context` is quiet.
std::vector<user::Binary*> FindBinaries(ExpandContext& context, const syntax::ProbePart& part);

// How a probe's name spells a binary: as it was written, or by its path when that was a wildcard.
std::string BinaryName(const syntax::ProbePart& part, const user::Binary& binary);

// For who misses a symbol: that the file is stripped. Empty when it is not.
std::string StrippedNote(user::Binary& binary);

}  // namespace memtrace::probes
