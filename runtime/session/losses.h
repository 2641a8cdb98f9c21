// Losses: what a session could not record, grouped for the one line at its end.
//
// Pure: counts come in, words go out. What is counted where is in the Plan (LossSite) and in the
// kernel's counters of missed runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/plan/plan.h"

namespace memtrace::session {

struct Loss {
  std::string cause;    // for JSON: "ring_full", "map_full", …, "missed"
  std::string subject;  // for JSON: the map, the probe, or empty
  uint64_t count = 0;
  std::string text;  // for people: "12 keys (@ full at 4096; config max_map_keys)"
};

// `site_counts` has one entry per Plan::loss_sites, `missed` one per Plan::programs. Empty: nothing
// was lost.
std::vector<Loss> GroupLosses(const plan::Plan& plan, const std::vector<uint64_t>& site_counts,
                              const std::vector<uint64_t>& missed);

// "lost: A · B", or "nothing lost".
std::string LossLine(const std::vector<Loss>& losses, bool counts_misses = true);

}  // namespace memtrace::session
