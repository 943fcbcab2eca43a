// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"
#include "python/module/bindings.hpp"
#include "python/module/findings_error.hpp"
#include "sim/base/error.hpp"
#include "sim/base/interrupt.hpp"

#include <pybind11/stl.h>

#include <exception>
#include <string>

namespace schedlab::python {
namespace {

namespace py = pybind11;

py::object error_class(const char* name) {
  return py::module_::import("schedlab.errors").attr(name);
}

void raise(const char* name, const std::string& message) {
  const py::object type = error_class(name);
  PyErr_SetObject(type.ptr(), type(message).ptr());
}

void raise_input(const InputError& error) {
  const InputProblem& problem = error.problem();
  const py::object type = error_class("InputError");
  const py::object value = type(
      error.what(), problem.file, problem.pointer, problem.found, problem.expected, problem.hint);
  PyErr_SetObject(type.ptr(), value.ptr());
}

void raise_findings(const FindingsError& error) {
  py::list findings;
  for (const Finding& finding : error.findings()) {
    py::dict of;
    of["kind"] = std::string{to_string(finding.kind)};
    of["message"] = finding.message;
    of["call"] = finding.call;
    findings.append(of);
  }
  const py::object type = error_class("FindingsError");
  PyErr_SetObject(type.ptr(), type(error.what(), findings).ptr());
}

void translate(std::exception_ptr thrown) {  // NOLINT: the signature is pybind11's
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const FindingsError& error) {
    raise_findings(error);
  } catch (const InputError& error) {
    raise_input(error);
  } catch (const UsageError& error) {
    raise("InputError", error.what());
  } catch (const InfeasibleError& error) {
    raise("InfeasibleError", error.what());
  } catch (const DeviceError& error) {
    raise("DeviceError", error.what());
  } catch (const ContractViolation& error) {
    raise("ContractViolation", error.what());
  } catch (const Interrupted& error) {
    PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
  }
}

}  // namespace

void bind_errors() {
  py::register_exception_translator(&translate);
}

}  // namespace schedlab::python
