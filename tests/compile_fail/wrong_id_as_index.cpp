// SPDX-License-Identifier: Apache-2.0
#include "sim/base/ids.hpp"

using namespace schedlab;

int main() {
  IdVector<TaskId, int> by_task(3);
#ifdef SCHEDLAB_MISTAKE
  by_task[StreamId{2}] = 7;
#else
  by_task[TaskId{2}] = 7;
#endif
}
