#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "compiler/probes/expand.h"
#include "compiler/probes/provider.h"

namespace memtrace::probes {
namespace {

using diag::Code;

// Rows of the language that this version does not serve: known, so that nobody looks for a typo.
ProviderRow Later(std::string_view name, std::vector<std::string_view> aliases) {
  return {.provider = Provider::kUnsupported,
          .name = name,
          .aliases = std::move(aliases),
          .signature = "",
          .doc = "",
          .example = "",
          .expand = nullptr};
}

const ProviderRow kRows[] = {
    {.provider = Provider::kBegin,
     .name = "begin",
     .aliases = {},
     .signature = "begin",
     .doc = "Runs once, before anything else is attached.",
     .example = "begin { printf(\"tracing\\n\"); }",
     .expand = ExpandMoment},
    {.provider = Provider::kEnd,
     .name = "end",
     .aliases = {},
     .signature = "end",
     .doc = "Runs once, after everything else was detached and before maps are printed.",
     .example = "end { clear(@); } tracepoint:kmem:mm_page_alloc { @ = count(); }",
     .expand = ExpandMoment},
    {.provider = Provider::kInterval,
     .name = "interval",
     .aliases = {"i"},
     .signature = "interval:DURATION, interval:UNIT:COUNT",
     .doc = "Runs every DURATION (1s, 250ms, 100us), on one CPU. UNIT is s, ms, us or hz. A map "
            "that the "
            "same block prints and clears is printed exactly: each event is in one interval.",
     .example =
         "interval:1s { print(@); clear(@); } tracepoint:kmem:mm_page_alloc { @ = count(); }",
     .expand = ExpandInterval},
    {.provider = Provider::kProfile,
     .name = "profile",
     .aliases = {"p"},
     .signature = "profile:hz:RATE, profile:RATE, profile:DURATION, profile:UNIT:COUNT",
     .doc =
         "Runs on every CPU, RATE times a second or every DURATION, in whatever is running then.",
     .example = "profile:hz:99 { @[kstack] = count(); }",
     .expand = ExpandProfile},
    {.provider = Provider::kTracepoint,
     .name = "tracepoint",
     .aliases = {"t"},
     .signature = "tracepoint:CATEGORY:EVENT",
     .doc = "A static event of the kernel; `args` holds its fields. Both parts may hold `*`. "
            "Attached in the cheapest way that gives what the clause uses.",
     .example = "tracepoint:kmem:mm_page_alloc { @[comm, args.order] = count(); }",
     .expand = ExpandTracepoint},
    {.provider = Provider::kRawTracepoint,
     .name = "rawtracepoint",
     .aliases = {"rt"},
     .signature = "rawtracepoint:EVENT",
     .doc =
         "The same events with what the kernel passes to them: args.NAME by the parameters' names, "
         "or arg0 to argN.",
     .example = "rawtracepoint:mm_page_alloc { @[args.order] = count(); }",
     .expand = ExpandRawTracepoint},
    {.provider = Provider::kSoftware,
     .name = "software",
     .aliases = {"s"},
     .signature = "software:EVENT[:PERIOD]",
     .doc = "A software event of perf, every PERIOD events (1; clocks: 1000000 ns), on every CPU.",
     .example = "software:page-faults:1 { @[comm] = count(); }",
     .expand = ExpandSoftware},
    {.provider = Provider::kIterator,
     .name = "iter",
     .aliases = {"it"},
     .signature = "iter:NAME, iter:NAME:DURATION",
     .doc = "Runs once for each object of one of the kernel's own lists, such as all tasks "
            "(task), their mappings (task_vma), their open files (task_file) or all slab caches "
            "(kmem_cache); args holds the object. Once, when everything else is attached, or every "
            "DURATION. A script of nothing else ends with it. -p, --tree and --cgroup choose among "
            "the tasks.",
     .example = "iter:task_vma { @[args.task.comm] = sum(args.vma.vm_end - args.vma.vm_start); }",
     .expand = ExpandIterator},
    {.provider = Provider::kSelf,
     .name = "self",
     .aliases = {},
     .signature = "self:signal:NAME",
     .doc = "Runs when memtrace gets the signal USR1 or USR2. A map that the same block prints "
            "and clears is printed exactly.",
     .example = "self:signal:USR1 { print(@); } tracepoint:kmem:mm_page_alloc { @ = count(); }",
     .expand = ExpandSelf},
    {.provider = Provider::kKprobe,
     .name = "kprobe",
     .aliases = {"k"},
     .signature = "kprobe:FUNCTION, kprobe:MODULE:FUNCTION, kprobe:FUNCTION+OFFSET",
     .doc =
         "Runs where a function of the kernel begins; `args` holds its arguments by name, as the "
         "kernel's BTF declares them. FUNCTION may hold `*`. Attached by fentry, kprobe.multi or "
         "a kprobe of perf, whichever costs least and works here.",
     .example = "kprobe:vfs_read { @[comm] = hist(args.count); }",
     .expand = ExpandFunction},
    {.provider = Provider::kKretprobe,
     .name = "kretprobe",
     .aliases = {"kr"},
     .signature = "kretprobe:FUNCTION, kretprobe:MODULE:FUNCTION",
     .doc =
         "Runs where a function of the kernel returns; `retval` holds what it returns. `args` is "
         "there where fexit serves it.",
     .example = "kretprobe:vfs_read { @ = hist(retval); }",
     .expand = ExpandFunction},
    {.provider = Provider::kFentry,
     .name = "fentry",
     .aliases = {"f", "kfunc"},
     .signature = "fentry:FUNCTION, fentry:MODULE:FUNCTION",
     .doc = "As kprobe, always by a trampoline: the cheapest way for a few functions, with `args`.",
     .example = "fentry:handle_mm_fault { @[comm] = count(); }",
     .expand = ExpandFunction},
    {.provider = Provider::kFexit,
     .name = "fexit",
     .aliases = {"fr", "kretfunc"},
     .signature = "fexit:FUNCTION, fexit:MODULE:FUNCTION",
     .doc = "Runs where a function returns, by a trampoline; both `args` and `retval` are there.",
     .example = "fexit:vfs_read { @[args.count, retval] = count(); }",
     .expand = ExpandFunction},
    {.provider = Provider::kUprobe,
     .name = "uprobe",
     .aliases = {"u"},
     .signature =
         "uprobe:BINARY:FUNCTION, uprobe:BINARY:\"SIGNATURE\", uprobe:BINARY:FUNCTION+OFFSET, "
         "uprobe:BINARY:ADDRESS",
     .doc = "Runs where a function of a program or library begins. BINARY is a path (./a.out), a "
            "library as the loader finds it (libc, libc.so.6) or a program of PATH, as the process "
            "of -p sees them; `*` with -p is all that it has mapped. FUNCTION is a symbol, perhaps "
            "with `*`, or a C++ signature in quotes. `args` holds the arguments by name where the "
            "file has debug information, arg0 to argN always.",
     .example = "uprobe:libc:malloc { @[comm] = sum(arg0); }",
     .expand = ExpandUser},
    {.provider = Provider::kUretprobe,
     .name = "uretprobe",
     .aliases = {"ur"},
     .signature = "uretprobe:BINARY:FUNCTION, uretprobe:BINARY:\"SIGNATURE\"",
     .doc =
         "Runs where a function of a program or library returns; `retval` holds what it returns. "
         "The kernel sees at most 64 open calls of one thread.",
     .example = "uretprobe:libc:malloc { @[retval == 0] = count(); }",
     .expand = ExpandUser},
    {.provider = Provider::kUsdt,
     .name = "usdt",
     .aliases = {},
     .signature = "usdt:BINARY:NAME, usdt:BINARY:PROVIDER:NAME",
     .doc =
         "Runs at a static probe that a program or library was built with (<sys/sdt.h>); arg0 to "
         "argN hold what it passes. BINARY is as in uprobe, NAME and PROVIDER may hold `*`. A "
         "probe in several places is one; its semaphore is raised as long as it is watched.",
     .example = "usdt:libc:memory_sbrk_more { @[comm] = sum(arg1); }",
     .expand = ExpandUsdt},
    {.provider = Provider::kHardware,
     .name = "hardware",
     .aliases = {"h"},
     .signature = "hardware:EVENT[:PERIOD]",
     .doc =
         "A counter of the processor, every PERIOD events (1000000; misses: 10000), on every CPU. "
         "Virtual machines often have none.",
     .example = "hardware:cache-misses:10000 { @[comm] = count(); }",
     .expand = ExpandHardware},
    {.provider = Provider::kWatchpoint,
     .name = "watchpoint",
     .aliases = {"w", "asyncwatchpoint"},
     .signature = "watchpoint:ADDRESS:LENGTH:MODE",
     .doc =
         "Runs when memory is read (r), written (w) or executed (x), LENGTH is 1, 2, 4 or 8 bytes. "
         "An address of a process needs -p, --tree or -c; one of the kernel is watched everywhere. "
         "Processors have four such places.",
     .example = "watchpoint:0xffffffff82000000:8:w { @[kstack] = count(); }",
     .expand = ExpandWatchpoint},
    Later("bench", {}),
    Later("test", {}),
};

bool SameName(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  });
}

void ReportUnknownProvider(ExpandContext& context, const syntax::ProbePart& part) {
  std::vector<std::string_view> names;
  for (const ProviderRow& row : kRows) names.push_back(row.name);
  auto builder = context.diagnostics.Error(
      Code::kUnknownProvider, part.span, fmt::format("no kind of probe is called `{}`", part.text));
  std::string_view closest = diag::ClosestName(part.text, names);
  if (!closest.empty()) {
    builder.Hint(fmt::format("did you mean `{}`?", closest));
    return;
  }
  std::string list;
  for (const ProviderRow& row : kRows) {
    if (row.expand == nullptr) continue;
    if (!list.empty()) list += ", ";
    list += row.name;
  }
  builder.Note("there are " + list);
}

bool ExpandOne(ExpandContext& context, const syntax::ProbeSpec& spec,
               std::vector<Target>& targets) {
  const ProviderRow* row = FindProvider(spec.parts[0].text);
  if (row == nullptr) {
    ReportUnknownProvider(context, spec.parts[0]);
    return true;
  }
  if (row->expand == nullptr) {
    if (!context.quiet) {
      context.diagnostics.Error(
          Code::kUnsupportedProvider, spec.parts[0].span,
          fmt::format("{} probes are not supported by this version of memtrace", row->name));
    }
    return false;
  }
  return row->expand(context, spec, targets);
}

}  // namespace

std::span<const ProviderRow> Providers() { return kRows; }

const ProviderRow* FindProvider(std::string_view name) {
  // usdt's short name is a capital U, so that it differs from uprobe's.
  if (name == "U") return FindProvider("usdt");
  for (const ProviderRow& row : kRows) {
    if (SameName(row.name, name)) return &row;
    for (std::string_view alias : row.aliases) {
      if (SameName(alias, name)) return &row;
    }
  }
  return nullptr;
}

std::string FullName(const ProviderRow& row, const syntax::ProbeSpec& spec) {
  std::string name(row.name);
  for (size_t i = 1; i < spec.parts.size(); ++i) name += ":" + spec.parts[i].text;
  return name;
}

bool ReportForm(ExpandContext& context, const syntax::ProbeSpec& spec, const ProviderRow& row,
                std::string message) {
  if (!context.quiet) {
    context.diagnostics.Error(Code::kBadProbeForm, spec.span, std::move(message))
        .Note(fmt::format("written as {}; for example {}", row.signature,
                          row.example.substr(0, row.example.find(" {"))));
  }
  return false;
}

bool GlobMatches(std::string_view pattern, std::string_view text) {
  // The last `*` seen and where in the text it would end if it took one character more.
  size_t star = std::string_view::npos, resume = 0;
  size_t p = 0, t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string SomeOf(std::span<const std::string> names, size_t shown) {
  std::string list = fmt::format("{}", fmt::join(names.first(std::min(names.size(), shown)), ", "));
  if (names.size() > shown) list += fmt::format(" and {} more", names.size() - shown);
  return list;
}

bool IsExit(Provider provider) {
  return provider == Provider::kKretprobe || provider == Provider::kFexit ||
         provider == Provider::kUretprobe;
}

std::vector<Target> Expand(const syntax::ProbeSpec& spec, kernel::Kernel& kernel,
                           user::Programs& programs, diag::Diagnostics& diagnostics,
                           const ExpandOptions& options) {
  std::vector<Target> targets;
  if (spec.parts.empty()) return targets;
  ExpandContext context{.kernel = kernel,
                        .programs = programs,
                        .diagnostics = diagnostics,
                        .options = options,
                        .quiet = true};
  if (spec.optional) {
    ExpandOne(context, spec, targets);
    return targets;
  }
  // The first that exists; when none does, the mistake is that of the first.
  if (!spec.alternatives.empty()) {
    if (ExpandOne(context, spec, targets)) return targets;
    for (const syntax::ProbeSpec& other : spec.alternatives) {
      targets.clear();
      if (ExpandOne(context, other, targets)) return targets;
    }
    targets.clear();
  }
  bool is_tolerant = options.missing == plan::MissingProbes::kWarn ||
                     options.missing == plan::MissingProbes::kIgnore;
  if (is_tolerant && FindProvider(spec.parts[0].text) != nullptr) {
    if (!ExpandOne(context, spec, targets) && options.missing == plan::MissingProbes::kWarn) {
      diagnostics.Warning(Code::kLeftOut, spec.span,
                          fmt::format("{} does not exist on this kernel",
                                      FullName(*FindProvider(spec.parts[0].text), spec)));
    }
    return targets;
  }
  context.quiet = false;
  ExpandOne(context, spec, targets);
  return targets;
}

}  // namespace memtrace::probes
