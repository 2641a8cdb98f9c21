// The library of the fixture, libc.so.6: a function, and one whose code is chosen at start.

void* malloc(unsigned long size) { return (void*)size; }
// As glibc's: where the heap grows, and by how much.
void grow(void) {
  __asm__ volatile(
      "990: nop\n"
      ".pushsection .note.stapsdt,\"\",\"note\"\n"
      ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
      "991: .asciz \"stapsdt\"\n992: .balign 4\n"
      "993: .8byte 990b\n.8byte 0\n.8byte 0\n"
      ".asciz \"libc\"\n.asciz \"memory_sbrk_more\"\n.asciz \"8@%rdi 8@%rsi\"\n"
      "994: .balign 4\n.popsection\n");
}

void free(void* pointer) { __asm__ volatile("" ::"r"(pointer)); }

static void* memcpy_wide(void* to, const void* from, unsigned long size) {
  __asm__ volatile("" ::"r"(from), "r"(size));
  return to;
}
static void* choose(void) { return (void*)memcpy_wide; }
void* memcpy(void*, const void*, unsigned long) __attribute__((ifunc("choose")));
