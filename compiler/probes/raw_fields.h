// Where the fields of a classic record are found when its event is served by a raw tracepoint.
// Private to this folder.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/kernel/raw_args.h"
#include "compiler/probes/attach_plan.h"

namespace memtrace::probes {

// Turns `field` of a record into the raw argument that the row names for it. False: the row has
// none.
bool ProvenRawField(const kernel::ResolvedRawRow& row, Field& field);

// The same for all fields of a sys_enter_* or sys_exit_* record and the registers of
// `architecture`. False: its registers are not known.
bool SyscallFields(bool is_enter, std::string_view architecture, std::vector<Field>& fields);

}  // namespace memtrace::probes
