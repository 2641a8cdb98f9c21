#include "compiler/base/check.h"
#include "compiler/plan/plan.h"

namespace memtrace::plan {

std::string_view Spelling(ActionKind kind) {
  switch (kind) {
    case ActionKind::kPrintf:
      return "printf";
    case ActionKind::kErrorf:
      return "errorf";
    case ActionKind::kTime:
      return "time";
    case ActionKind::kPrintMap:
    case ActionKind::kPrintValue:
      return "print";
    case ActionKind::kClear:
      return "clear";
    case ActionKind::kZero:
      return "zero";
    case ActionKind::kExit:
      return "exit";
    case ActionKind::kJoin:
      return "join";
    case ActionKind::kCat:
      return "cat";
  }
  MT_UNREACHABLE("every action has a name");
}

Index FindLossSite(const Plan& plan, LossCause cause, std::string_view subject, uint32_t line) {
  for (size_t i = 0; i < plan.loss_sites.size(); ++i) {
    const LossSite& site = plan.loss_sites[i];
    if (site.cause == cause && site.line == line && site.subject == subject) {
      return static_cast<Index>(i);
    }
  }
  return kNoIndex;
}

}  // namespace memtrace::plan
