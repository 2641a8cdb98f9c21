// Flattens the types of a program into the plan's vector, each once.
#pragma once

#include <map>

#include "compiler/plan/plan.h"
#include "compiler/types/type.h"

namespace memtrace::sema {

class PlanTypes {
 public:
  explicit PlanTypes(plan::Plan& plan) : plan_(plan) {}

  // kNoIndex for the types that no value in the plan has.
  plan::Index Of(types::Type type);

 private:
  plan::Type Flatten(types::Type type);
  plan::Plan& plan_;
  std::map<const types::TypeInfo*, plan::Index> known_;
};

plan::Unit PlanUnit(types::Unit unit);

}  // namespace memtrace::sema
