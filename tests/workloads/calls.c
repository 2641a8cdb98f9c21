// calls N [THREADS [PAUSE_MS]]
//
// In each of THREADS (1) threads, calls add_up(), whose arguments are known (below), and hidden()
// N times each; all calls are done before the threads end. With PAUSE_MS it says `ready`, and waits
// so long before the first call. Prints `calls N × THREADS` and the sum of what add_up returned.
//
// The other functions and the data are there to be found, or not, by who looks for symbols.

#include <pthread.h>

#include "workload.h"

struct pair {
  int first;
  unsigned low : 3, high : 5;
  const char* label;
  struct pair* next;
};
enum color { kRed = 1, kGreen = 5 };

long total;  // a data object

// Call number i (from 0) gets number -i, small 200, label "call" of a pair {i, 5, 17}, and so on:
// six integers in registers, two on the stack, and one floating-point number.
NOINLINE long add_up(int number, unsigned char small, const char* text, struct pair* pair,
                     enum color color, long fifth, long sixth, int seventh, double ratio) {
  __asm__ volatile("" ::: "memory");
  return number + small + text[0] + pair->first + color + fifth + sixth + seventh + (long)ratio;
}

static NOINLINE unsigned hidden(unsigned long value) {
  __asm__ volatile("" : "+r"(value));
  return (unsigned)value;
}

long add_up_too(int, unsigned char, const char*, struct pair*, enum color, long, long, int, double)
    __attribute__((alias("add_up")));

NOINLINE void never_called(void) { __asm__ volatile(""); }

static long chosen_one(long value) { return value + 1; }
static void* choose(void) { return (void*)chosen_one; }
long chosen(long) __attribute__((ifunc("choose")));

static uint64_t calls;

static void* Work(void* unused) {
  (void)unused;
  struct pair inner = {.first = 7, .label = "inner"};
  long sum = 0;
  for (uint64_t i = 0; i < calls; i++) {
    struct pair pair = {.first = (int)i, .low = 5, .high = 17, .label = "call", .next = &inner};
    sum += add_up(-(int)i, 200, "text", &pair, kGreen, 55, 66, -77, 0.5);
    sum += hidden(i) - i;
  }
  __atomic_add_fetch(&total, sum, __ATOMIC_RELAXED);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) Usage("calls N [THREADS [PAUSE_MS]]");
  calls = Number(argc, argv, 1, 0);
  uint64_t threads = Number(argc, argv, 2, 1), pause = Number(argc, argv, 3, 0);
  if (pause > 0) {
    printf("ready\n");
    fflush(stdout);
    SleepUntil(Now() + pause * 1000000);
  }
  pthread_t ids[64];
  if (threads > 64) Usage("at most 64 threads");
  for (uint64_t i = 0; i < threads; i++) {
    if ((errno = pthread_create(&ids[i], NULL, Work, NULL)) != 0) Die("start a thread");
  }
  for (uint64_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  printf("calls %lu\nsum %ld\n", calls * threads, total + chosen(0) - 1);
  return 0;
}
