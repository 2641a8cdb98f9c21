// The program of the fixture, /bin/lab: functions, data and static probes whose names, types and
// places tests know. Nothing runs it.

extern "C" {

void* malloc(unsigned long size);

long total = 1;
unsigned short lab_tick_semaphore __attribute__((section(".probes"), used));

struct pair {
  int first;
  unsigned low : 3, high : 5;
  const char* label;
  pair* next;
};
enum color { kRed = 1, kGreen = 5 };

// Six integers in registers, two on the stack, and a floating-point number.
__attribute__((noinline)) long add_up(int number, unsigned char small, const char* text, pair* pair,
                                      color color, long fifth, long sixth, int seventh,
                                      double ratio) {
  __asm__ volatile("" ::"r"(text), "r"(pair), "x"(ratio));
  return number + small + color + fifth + sixth + seventh;
}

__attribute__((noinline)) void nothing(void) { __asm__ volatile(""); }

static inline __attribute__((always_inline)) int in_its_callers(int value) {
  __asm__ volatile("" : "+r"(value));
  return value + 1;
}

static __attribute__((noinline)) int twin(int value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}
int other_twin(long value);

}  // extern "C"

namespace ns {
__attribute__((noinline)) int area(int side) {
  __asm__ volatile("" : "+r"(side));
  return side * side;
}
__attribute__((noinline)) double area(double side) {
  __asm__ volatile("" : "+x"(side));
  return side * side;
}
__attribute__((noinline)) long grow(long by) {
  __asm__ volatile("" : "+r"(by));
  return by + 3;
}
}  // namespace ns

// Begins with an instruction that the kernel's uprobes take for a jump.
__asm__(
    ".globl spread\n.type spread, @function\n"
    "spread: vpbroadcastb %edi, %zmm16\nret\n.size spread, .-spread\n");

// What <sys/sdt.h> makes of STAP_PROBE, with the places of the arguments chosen.
#define NOTE(provider, name, semaphore, arguments)                            \
  __asm__ volatile(                                                           \
      "990: nop\n"                                                            \
      ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
      ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"                           \
      "991: .asciz \"stapsdt\"\n992: .balign 4\n"                             \
      "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte " semaphore            \
      "\n"                                                                    \
      ".asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"" arguments     \
      "\"\n"                                                                  \
      "994: .balign 4\n.popsection\n"                                         \
      ".ifndef _.stapsdt.base\n"                                              \
      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
      ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                        \
      "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n")

extern "C" void _start(void) {
  pair last = {1, 2, 3, "label", nullptr};
  total += add_up(1, 2, "text", &last, kGreen, 5, 6, 7, 0.5) + in_its_callers(8) + twin(9);
  total += ns::area(10) + static_cast<long>(ns::area(1.5)) + ns::grow(11) + other_twin(12);
  nothing();
  last.label = static_cast<char*>(malloc(13));
  NOTE("lab", "tick", "lab_tick_semaphore", "-4@%edi 8@%rsi -2@8(%rdx) 8@$7");
  NOTE("lab", "tick", "lab_tick_semaphore", "-4@$-1 8@%rsi -2@(%rdx,%rcx,4) 8@%r8");
  NOTE("lab", "plain", "0", "");
  NOTE("lab", "ratio", "0", "8f@%xmm0 4@%edi");
  NOTE("other", "plain", "0", "");
}
