// The smallest tracer: one raw tracepoint that does nothing. What loading and attaching cost at
// least. In an object of its own, so that nothing else is parsed.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("raw_tp/page_fault_user")
int nothing(void *ctx) { return 0; }
