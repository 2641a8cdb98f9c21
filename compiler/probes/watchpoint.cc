// watchpoint: memory that the processor itself watches.
#include <optional>

#include <fmt/format.h>

#include "compiler/kernel/address.h"
#include "compiler/probes/expand.h"

namespace memtrace::probes {
namespace {

using diag::Code;

bool IsMode(std::string_view text) {
  return !text.empty() && text.find_first_not_of("rwx") == text.npos;
}

// What the processor can't watch, in words; empty: it can.
std::string WhyNot(uint64_t address, uint64_t length, std::string_view mode) {
  bool reads = mode.find('r') != mode.npos, writes = mode.find('w') != mode.npos;
  bool executes = mode.find('x') != mode.npos;
  if (length != 1 && length != 2 && length != 4 && length != 8) {
    return fmt::format("{} bytes can't be watched: it is 1, 2, 4 or 8", length);
  }
  if (address % length != 0 && !executes) {
    return fmt::format("0x{:x} is no multiple of the {} bytes to watch", address, length);
  }
  if (executes && (reads || writes)) return "x goes with neither r nor w";
#if defined(__x86_64__)
  if (reads && !writes) return "this processor can't watch reads alone: rw sees both";
#endif
  return "";
}

}  // namespace

bool ExpandWatchpoint(ExpandContext& context, const syntax::ProbeSpec& spec,
                      std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  std::optional<uint64_t> address, length;
  if (spec.parts.size() == 4) {
    address = ParseOffset(spec.parts[1].text);
    length = ParseOffset(spec.parts[2].text);
  }
  if (!address || !length || !IsMode(spec.parts[3].text)) {
    return ReportForm(context, spec, row,
                      fmt::format("`{}` does not say what to watch", FullName(row, spec)));
  }
  const std::string& mode = spec.parts[3].text;
  if (std::string reason = WhyNot(*address, *length, mode); !reason.empty()) {
    return ReportForm(context, spec, row, std::move(reason));
  }
  if (!kernel::IsKernelAddress(*address) && !context.options.has_process) {
    if (!context.quiet) {
      context.diagnostics
          .Error(Code::kNeedsProcess, spec.parts[1].span,
                 fmt::format("0x{:x} is an address of a process, and none is named", *address))
          .Note("-p PID or -c COMMAND says whose memory it is");
    }
    return false;
  }
  targets.push_back({.provider = row.provider,
                     .span = spec.span,
                     .name = FullName(row, spec),
                     .event = mode,
                     .config = *address,
                     .offset = *length});
  return true;
}

}  // namespace memtrace::probes
