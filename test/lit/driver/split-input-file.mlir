// RUN: axon-opt %s --split-input-file | filecheck %s
// RUN: not axon-opt %S/Inputs/second-part-wrong.mlir --split-input-file 2>&1 | filecheck %s --check-prefix=LINE

// LINE: second-part-wrong.mlir:5:13: error:

// CHECK: func.func @first
// CHECK: // -----
// CHECK: func.func @second
func.func @first() {
  func.return
}

// -----

func.func @second() {
  func.return
}
