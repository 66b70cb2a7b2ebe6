// RUN: not axon-opt %S/Inputs/wrong-expectations.mlir --verify-diagnostics 2>&1 | filecheck %s

// CHECK: wrong-expectations.mlir:2:6: error: unexpected error: Operation a.a is not registered
// CHECK: wrong-expectations.mlir:1: error: expected error was not produced: something else
