// Every place of a program where something can be lost, each with a counter of its own.
#pragma once

#include "compiler/diag/source.h"
#include "compiler/plan/plan.h"
#include "compiler/sema/typed.h"

namespace memtrace::sema {

// Appends to plan.loss_sites; plan.maps is filled in.
void AddLossSites(const TypedProgram& program, const diag::SourceMap& sources, plan::Plan& plan);

}  // namespace memtrace::sema
