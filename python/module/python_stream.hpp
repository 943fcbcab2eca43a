// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <ostream>
#include <streambuf>
#include <string>
#include <utility>

namespace schedlab::python {

/// What PythonStream writes to.
class PythonBuffer : public std::streambuf {
 public:
  explicit PythonBuffer(pybind11::object file) : file_(std::move(file)) {}

 private:
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      const char text = traits_type::to_char_type(c);
      write(&text, 1);
    }
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    write(text, size);
    return size;
  }
  void write(const char* text, std::streamsize size) {
    if (file_.is_none()) return;
    const pybind11::gil_scoped_acquire lock;
    file_.attr("write")(pybind11::str(text, static_cast<std::size_t>(size)));
    if (pybind11::hasattr(file_, "flush")) file_.attr("flush")();
  }

  pybind11::object file_;
};

/// Text of C++ for a Python file such as sys.stderr, piece by piece; may be written to without the
/// interpreter's lock. None: it goes nowhere. Made and destroyed with the lock.
class PythonStream : private PythonBuffer, public std::ostream {
 public:
  explicit PythonStream(pybind11::object file)
      : PythonBuffer(std::move(file)), std::ostream(static_cast<std::streambuf*>(this)) {}
};

}  // namespace schedlab::python
