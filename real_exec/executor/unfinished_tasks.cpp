// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/unfinished_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::detail {

UnfinishedTasks::Stream& UnfinishedTasks::of(StreamId stream) {
  if (!streams_.contains(stream)) streams_.resize(stream.value() + 1);
  return streams_[stream];
}

void UnfinishedTasks::launched(StreamId stream, TaskId task) {
  if (kept_) of(stream).tasks.push_back(task);
}

void UnfinishedTasks::recorded(StreamId stream, EventId event) {
  if (!kept_) return;
  if (!records_.contains(event)) records_.resize(event.value() + 1);
  records_[event] = {stream, of(stream).tasks.size()};
}

void UnfinishedTasks::finished(StreamId stream) {
  of(stream).complete = of(stream).tasks.size();
}

void UnfinishedTasks::finished(EventId event) {
  if (!records_.contains(event) || !records_[event].stream.valid()) return;
  Stream& stream = of(records_[event].stream);
  stream.complete = std::max(stream.complete, records_[event].tasks);
}

void UnfinishedTasks::finished() {
  for (Stream& stream : streams_) stream.complete = stream.tasks.size();
}

bool UnfinishedTasks::empty() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const Stream& stream) {
    return stream.complete == stream.tasks.size();
  });
}

std::string UnfinishedTasks::names() const {
  constexpr std::size_t max_named = 8;
  std::string text;
  std::size_t count = 0;
  for (const Stream& stream : streams_) {
    for (std::size_t i = stream.complete; i < stream.tasks.size(); ++i) {
      if (count++ < max_named) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", graph_.name(stream.tasks[i]));
      }
    }
  }
  if (count > max_named) text += fmt::format(" and {} more", count - max_named);
  return text;
}

}  // namespace schedlab::detail
