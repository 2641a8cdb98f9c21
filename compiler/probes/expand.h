// The expand functions of the rows in providers.cc, and what they share. Private to this folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/probes/provider.h"

namespace memtrace::probes {

bool ExpandMoment(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandInterval(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandProfile(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandSoftware(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandIterator(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandSelf(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandTracepoint(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandRawTracepoint(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandFunction(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandUser(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandUsdt(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandHardware(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);
bool ExpandWatchpoint(ExpandContext&, const syntax::ProbeSpec&, std::vector<Target>&);

// Nanoseconds of "1s" or "99hz"; 0: it is no time, or shorter than anything may run.
uint64_t PeriodOf(std::string_view text);

// Whether `text` fits `pattern`, in which `*` stands for any characters.
bool GlobMatches(std::string_view pattern, std::string_view text);
inline bool IsGlob(std::string_view pattern) { return pattern.find('*') != std::string_view::npos; }

// "100", not zero.
std::optional<uint64_t> ParseCount(std::string_view text);
// "16", "0x10".
std::optional<uint64_t> ParseOffset(std::string_view text);

// "a, b, c and 2 more": of `names`, at most `shown`.
std::string SomeOf(std::span<const std::string> names, size_t shown);

// "NAME:part:part" with the provider's own name.
std::string FullName(const ProviderRow& row, const syntax::ProbeSpec& spec);

// "a tracepoint is written `tracepoint:CATEGORY:EVENT`": how a row's probes look, as an error of
// `spec`.
bool ReportForm(ExpandContext& context, const syntax::ProbeSpec& spec, const ProviderRow& row,
                std::string message);

}  // namespace memtrace::probes
