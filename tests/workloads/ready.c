// ready [SECONDS]
//
// Prints `ready` and sleeps for SECONDS (10): lets a test wait until the tracer has attached, and
// then do something to it while its command is still running.

#include "workload.h"

int main(int argc, char** argv) {
  uint64_t end = Now() + Number(argc, argv, 1, 10) * 1000000000;
  puts("ready");
  fflush(stdout);
  SleepUntil(end);
  return 0;
}
