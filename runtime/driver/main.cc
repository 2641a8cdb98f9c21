// The memtrace program.
#include "runtime/driver/driver.h"

int main(int argc, char** argv) {
  return memtrace::driver::Main(std::vector<std::string>(argv + 1, argv + argc));
}
