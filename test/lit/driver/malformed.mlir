// RUN: not axon-opt %s 2>&1 | filecheck %s
// RUN: not axon-opt %S/no-such-file.mlir 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not axon-opt %s --device trn9 2>&1 | filecheck %s --check-prefix=DEVICE
// RUN: not axon-opt %s --no-such-flag 2>&1 | filecheck %s --check-prefix=FLAG

// CHECK: malformed.mlir:18:23: error: {{.+}}
// CHECK-NOT: {{.}}

// MISSING: no-such-file.mlir: error: cannot read: No such file or directory
// MISSING-NOT: {{.}}

// DEVICE: error: unknown device 'trn9'
// DEVICE-NEXT: accepted: trn1, trn2, trn3 or a description file
// DEVICE-NOT: {{.}}

// FLAG: error: axon-opt: unrecognized arguments: --no-such-flag
// FLAG-NEXT: accepted: axon-opt
func.func @f(%a: i32, ) {
  func.return
}
