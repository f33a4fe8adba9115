// The Python binding: pointers in, status out. Tensors are checked by evonorm/kernels/cpu/native.py, programs by evo_create.
// It keeps to Python's stable interface (Py_LIMITED_API, set by setup.py), so one wheel serves every Python from 3.11 on.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>
#include <vector>

#include "program.h"

namespace {

const char kCapsule[] = "evonorm.program";

void destroy(PyObject* capsule) { evo_destroy(static_cast<EvoProgram*>(PyCapsule_GetPointer(capsule, kCapsule))); }

PyObject* fail(int32_t status) {
  switch (status) {
    case EVO_BAD_PROGRAM: PyErr_SetString(PyExc_ValueError, "the program is malformed."); break;
    case EVO_TOO_LARGE: PyErr_SetString(PyExc_OverflowError, "the program is beyond the kernel's limits."); break;
    case EVO_NO_EXCHANGE: break;  // the Python function that exchanges has said why
    case EVO_BAD_SHAPE: PyErr_SetString(PyExc_ValueError, "the kernel got a shape, layout or dtype out of range."); break;
    default: PyErr_NoMemory();
  }
  return nullptr;
}

PyObject* create(PyObject*, PyObject* encoded) {
  char* bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(encoded, &bytes, &size) < 0) return nullptr;
  std::vector<int32_t> words(size / sizeof(int32_t));
  if (words.size() * sizeof(int32_t) != (size_t)size) return fail(EVO_BAD_PROGRAM);
  if (size) std::memcpy(words.data(), bytes, size);
  EvoProgram* program;
  const int32_t status = evo_create(words.data(), words.size(), &program);
  return status == EVO_OK ? PyCapsule_New(program, kCapsule, destroy) : fail(status);
}

// Reads the arguments of one call in order; after the first bad one everything is refused.
class Arguments {
 public:
  Arguments(PyObject* const* values, Py_ssize_t count) : values_(values), count_(count) {}

  int64_t integer() {
    PyObject* const value = next();
    if (!value) return 0;
    const long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred()) good_ = false;
    return number;
  }
  template <class T> T* pointer() { return reinterpret_cast<T*>(static_cast<intptr_t>(integer())); }
  void pointers(float** out, int32_t count) {
    PyObject* const value = next();
    if (!value) return;
    if (!PyTuple_Check(value) || PyTuple_Size(value) != count) {
      PyErr_Format(PyExc_ValueError, "expected a tuple of %d pointers.", (int)count);
      good_ = false;
      return;
    }
    for (int32_t i = 0; i < count; ++i) {
      const long long number = PyLong_AsLongLong(PyTuple_GetItem(value, i));
      if ((number == -1 && PyErr_Occurred()) || !number) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a pointer is null.");
        good_ = false;
        return;
      }
      out[i] = reinterpret_cast<float*>(static_cast<intptr_t>(number));
    }
  }
  EvoProgram* program() {
    PyObject* const value = next();
    EvoProgram* const p = value ? static_cast<EvoProgram*>(PyCapsule_GetPointer(value, kCapsule)) : nullptr;
    if (!p) good_ = false;
    return p;
  }
  bool good() {
    if (good_ && at_ != count_) {
      PyErr_SetString(PyExc_TypeError, "wrong number of arguments.");
      good_ = false;
    }
    return good_;
  }
  PyObject* function() {
    PyObject* const value = next();
    if (value && !PyCallable_Check(value)) {
      PyErr_SetString(PyExc_TypeError, "expected a function that exchanges moments.");
      good_ = false;
    }
    return value;
  }
  bool ended() const { return at_ == count_; }
  bool good_so_far() const { return good_; }

 private:
  PyObject* next() {
    if (!good_) return nullptr;
    if (at_ < count_) return values_[at_++];
    PyErr_SetString(PyExc_TypeError, "wrong number of arguments.");
    good_ = false;
    return nullptr;
  }
  PyObject* const* values_;
  Py_ssize_t count_, at_ = 0;
  bool good_ = true;
};

void read_shape(Arguments& a, EvoCall& call) {
  call.batch = a.integer();
  call.channels = a.integer();
  call.plane = a.integer();
  call.groups = (int32_t)a.integer();
  call.layout = (int32_t)a.integer();
  call.dtype = (int32_t)a.integer();
  call.threads = (int32_t)a.integer();
}

// Numbers go to Python as a view of them; an exception there ends the run and is the call's.
int32_t exchange_in_python(void* function, double* numbers, int64_t count) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* const view = PyMemoryView_FromMemory(reinterpret_cast<char*>(numbers), count * (int64_t)sizeof(double), PyBUF_WRITE);
  PyObject* const done = view ? PyObject_CallFunctionObjArgs(static_cast<PyObject*>(function), view, nullptr) : nullptr;
  const int32_t status = done ? 0 : 1;
  Py_XDECREF(done);
  Py_XDECREF(view);
  PyGILState_Release(state);
  return status;
}

void read_exchange(Arguments& a, EvoCall& call) {
  if (a.ended()) return;
  call.exchange_user = a.function();
  call.exchange = exchange_in_python;
}

PyObject* finish(const EvoProgram* program, EvoCall& call, bool backward) {
  if (backward && !call.saved && evo_saved_floats(program, call.batch ? 1 : 0, 1) > 0) return fail(EVO_BAD_SHAPE);
  if (!backward && !call.exports && program->exports > 0) return fail(EVO_BAD_SHAPE);
  int32_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = backward ? evo_backward(program, &call) : evo_forward(program, &call);
  Py_END_ALLOW_THREADS;
  if (status != EVO_OK) return fail(status);
  Py_RETURN_NONE;
}

// forward(program, x, y, saved, exports, parameters, batch, channels, plane, groups, layout, dtype, threads[, exchange])
PyObject* forward(PyObject*, PyObject* const* values, Py_ssize_t count) {
  Arguments a(values, count);
  EvoCall call{};
  const EvoProgram* const program = a.program();
  float* parameters[evonorm::kMaxSlots];
  call.x = a.pointer<void>();
  call.out = a.pointer<void>();
  call.saved = a.pointer<float>();
  call.exports = a.pointer<float>();
  if (a.good_so_far()) a.pointers(parameters, (int32_t)program->parameters.size());
  call.parameters = parameters;
  read_shape(a, call);
  read_exchange(a, call);
  return a.good() ? finish(program, call, false) : nullptr;
}

// backward(program, x, gy, grad_x, saved, parameters, gradients, batch, ..., threads as in forward[, exchange, everywhere])
PyObject* backward(PyObject*, PyObject* const* values, Py_ssize_t count) {
  Arguments a(values, count);
  EvoCall call{};
  const EvoProgram* const program = a.program();
  float *parameters[evonorm::kMaxSlots], *gradients[evonorm::kMaxSlots];
  call.x = a.pointer<void>();
  call.gy = a.pointer<void>();
  call.out = a.pointer<void>();
  call.saved = a.pointer<float>();
  if (a.good_so_far()) a.pointers(parameters, (int32_t)program->parameters.size());
  if (a.good_so_far()) a.pointers(gradients, (int32_t)program->gradients.size());
  call.parameters = parameters;
  call.gradients = gradients;
  read_shape(a, call);
  read_exchange(a, call);
  if (call.exchange) call.everywhere = (double)a.integer();
  return a.good() ? finish(program, call, true) : nullptr;
}

PyObject* saved_floats(PyObject*, PyObject* const* values, Py_ssize_t count) {
  Arguments a(values, count);
  const EvoProgram* const program = a.program();
  const int64_t batch = a.integer(), channels = a.integer();
  return a.good() ? PyLong_FromLongLong(evo_saved_floats(program, batch, channels)) : nullptr;
}

PyObject* opcodes(PyObject*, PyObject*) {
  PyObject* const table = PyDict_New();
  for (int32_t i = 0; table && i < evo_opcode_count(); ++i) {
    PyObject* const operands = PyLong_FromLong(evo_opcode_operands(i));
    if (!operands || PyDict_SetItemString(table, evo_opcode_name(i), operands) < 0) {
      Py_XDECREF(operands);
      Py_DECREF(table);
      return nullptr;
    }
    Py_DECREF(operands);
  }
  return table;
}

PyObject* isa(PyObject*, PyObject*) { return PyUnicode_FromString(evo_isa()); }

PyObject* force_isa(PyObject*, PyObject* name) {
  const char* const text = PyUnicode_AsUTF8AndSize(name, nullptr);
  if (!text) return nullptr;
  if (evo_force_isa(text) != EVO_OK) return PyErr_Format(PyExc_ValueError, "this machine cannot run %s.", text);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"create", create, METH_O, "A program from its encoding; ValueError or OverflowError if it is not one."},
    {"forward", (PyCFunction)(void (*)(void))forward, METH_FASTCALL, "Runs the forward program."},
    {"backward", (PyCFunction)(void (*)(void))backward, METH_FASTCALL, "Runs the backward program."},
    {"saved_floats", (PyCFunction)(void (*)(void))saved_floats, METH_FASTCALL, "Floats kept for backward."},
    {"opcodes", opcodes, METH_NOARGS, "The instruction set: name to number of operands."},
    {"isa", isa, METH_NOARGS, "The instruction set of the machine that is used."},
    {"force_isa", force_isa, METH_O, "Uses another instruction set, for tests."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The fused layer kernel.", -1, methods, nullptr, nullptr, nullptr,
                      nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&module); }
