// A program that the verifier refuses: it reads through a pointer that may be null.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16);
  __type(key, unsigned);
  __type(value, unsigned);
} map SEC(".maps");

SEC("mt/raw_tp/unchecked")
int unchecked(void *ctx) {
  unsigned key = 1;
  unsigned *value = bpf_map_lookup_elem(&map, &key);
  return *value;
}

char _license[] SEC("license") = "GPL";
