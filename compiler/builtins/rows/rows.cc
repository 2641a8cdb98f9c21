#include "compiler/builtins/rows/rows.h"

namespace memtrace::sema {

std::span<const Row> Rows() {
  static const std::vector<Row> rows = {
#define MT_FUNCTION(enumerator, spelling) enumerator##Row,
#include "compiler/sema/functions.def"
#undef MT_FUNCTION
  };
  return rows;
}

}  // namespace memtrace::sema
