#include "compiler/plan/plan.h"

namespace memtrace::plan {

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
