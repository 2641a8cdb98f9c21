// Providers: the kinds of probe, one row each.
//
// A row's `expand` turns what stands in the script (`tracepoint:kmem:mm_page_*`) into the probes
// that exist on this kernel, or says what is wrong with it. Nothing is decided here about how they
// are attached (attach_plan.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/kernel/kernel.h"
#include "compiler/plan/plan.h"
#include "compiler/syntax/ast.h"
#include "compiler/user/programs.h"

namespace memtrace::probes {

enum class Provider : uint8_t {
  kBegin,
  kEnd,
  kInterval,
  kProfile,
  kTracepoint,
  kRawTracepoint,
  kSoftware,
  kIterator,
  kSelf,
  kKprobe,
  kKretprobe,
  kFentry,
  kFexit,
  kUprobe,
  kUretprobe,
  kUsdt,
  kHardware,
  kWatchpoint,
  kUnsupported,  // of the language, but not of this version
};

// Where functions return, of the kernel or of a program.
bool IsExit(Provider provider);

// A place in the code of the kernel or of a program.
struct TargetSymbol {
  std::string name;      // with the suffix that the compiler gave it
  uint64_t address = 0;  // 0: not shown to us; of a program: as its file numbers addresses
  uint64_t place = 0;    // of a program: bytes from the start of its file
  // Static probes: where in the file the word lies that counts who looks (0: there is none), and
  // where the arguments are (user/usdt_argument.h).
  uint64_t semaphore = 0;
  std::string arguments;
};

// One probe that exists.
struct Target {
  Provider provider = Provider::kBegin;
  diag::Span span;              // of the spec it comes from
  std::string name;             // "tracepoint:kmem:mm_page_alloc"
  std::string category, event;  // category is empty for a raw tracepoint
  uint64_t config = 0;          // PERF_COUNT_SW_*, PERF_COUNT_HW_*; a watchpoint's address
  uint64_t period = 0;          // ns, or events
  uint64_t frequency = 0;       // Hz
  // Functions: the one that was named, the module it lies in (empty: vmlinux), and all symbols that
  // are it. `partial` names what else the compiler made of it and is not covered.
  std::string function, module;
  std::vector<TargetSymbol> symbols;
  std::vector<std::string> partial;
  uint64_t offset = 0;  // into the function; of a watchpoint: how many bytes
  bool is_from_wildcard = false;
  user::Binary* binary = nullptr;  // the program that the function is in; null: the kernel
};

// What config says about what a spec may name.
struct ExpandOptions {
  uint32_t max_probes = 1024;  // of one wildcard over functions
  plan::MissingProbes missing = plan::MissingProbes::kDefault;
  bool has_process = false;   // -p, --tree or -c say whose memory an address is in
  bool allow_unsafe = false;  // places in code where an instruction may not begin
};

struct ExpandContext {
  kernel::Kernel& kernel;
  user::Programs& programs;
  diag::Diagnostics& diagnostics;
  ExpandOptions options = {};
  // Set while the alternatives of a spec are tried: what does not exist is no mistake then.
  bool quiet = false;
};

struct ProviderRow {
  Provider provider;
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view signature;
  std::string_view doc;
  std::string_view example;
  // Appends to `targets`. False: nothing fits, and unless `quiet` it was reported. Null for
  // kUnsupported.
  bool (*expand)(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>& targets);
};

std::span<const ProviderRow> Providers();
// By name or alias, in any case; null when there is none.
const ProviderRow* FindProvider(std::string_view name);

// The probes that `spec` names on this kernel: wildcards resolved, the first alternative that
// exists. Empty when it was optional and nothing fits, or when an error was reported.
std::vector<Target> Expand(const syntax::ProbeSpec& spec, kernel::Kernel& kernel,
                           user::Programs& programs, diag::Diagnostics& diagnostics,
                           const ExpandOptions& options = {});

// "page-faults", …: what `software` takes, without the short forms.
std::vector<std::string> SoftwareEventNames();

// Functions that a wildcard fits, in the order of their names, an entry for each place of a name.
// An empty module is any, "vmlinux" none.
std::vector<kernel::FunctionSymbol> MatchFunctions(kernel::Kernel& kernel, std::string_view module,
                                                   std::string_view function, bool needs_prototype);

}  // namespace memtrace::probes
