// A second file of /bin/lab, with a static function that the first one has, too.

static __attribute__((noinline)) int twin(long value) {
  __asm__ volatile("" : "+r"(value));
  return (int)value;
}

int other_twin(long value) { return twin(value); }
