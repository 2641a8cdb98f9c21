// The definitions behind fmt's headers, so that memtrace needs no libfmt at run time.
//
// Debian ships fmt as a shared library only, and its header-only mode would compile the formatting
// core into every one of our files. Only `char` is instantiated. Other versions than 9.x keep their
// definitions elsewhere; for these CMakeLists.txt links the shared library and this file is empty.

#include <fmt/format.h>

#if FMT_VERSION >= 90000 && FMT_VERSION < 100000

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
template auto dragonbox::to_decimal<float>(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal<double>(double) noexcept -> dragonbox::decimal_fp<double>;
template void buffer<char>::append(const char*, const char*);
template void vformat_to<char>(buffer<char>&, basic_string_view<char>,
                               basic_format_args<buffer_context<char>>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE

#endif
