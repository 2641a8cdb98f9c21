// shapes N
//
// C++ names: calls ns::area(int) N times, ns::area(double) 2 N times and Square::grow(long) 3 N
// times, whose object has a base class.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace ns {
__attribute__((noinline)) int area(int side) {
  __asm__ volatile("" : "+r"(side));
  return side * side;
}
__attribute__((noinline)) double area(double side) {
  __asm__ volatile("" : "+x"(side));
  return side * side;
}

struct Shape {
  int id = 4711;
  const char* name = "square";
};

class Square : public Shape {
 public:
  __attribute__((noinline)) long grow(long by) {
    __asm__ volatile("" : "+r"(by));
    side_ += by;
    return side_;
  }

 private:
  long side_ = 3;
};
}  // namespace ns

int main(int argc, char** argv) {
  uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  double sum = 0;
  ns::Square square;
  for (uint64_t i = 0; i < count; i++) {
    sum += ns::area(static_cast<int>(i % 10));
    for (int k = 0; k < 2; k++) sum += ns::area(1.5);
    for (int k = 0; k < 3; k++) sum += static_cast<double>(square.grow(1));
  }
  std::printf("sum %g\n", sum);
  return 0;
}
