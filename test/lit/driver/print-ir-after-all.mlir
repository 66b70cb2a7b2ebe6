// RUN: axon-opt %s -p 'cse,dce' --print-ir-after-all -o %t 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=OUT --input-file %t

// CHECK: // -----// IR Dump After cse //----- //
// CHECK-NEXT: builtin.module {
// CHECK: // -----// IR Dump After dce //----- //
// OUT: func.func @f
func.func @f() {
  func.return
}
