// RUN: axon-opt %s -p 'cse,dce' | filecheck %s
// RUN: axon-opt %s --pass-pipeline='builtin.module( cse, func.func(dce) )' | filecheck %s
// RUN: axon-opt %s --pass-pipeline='builtin.module()' | filecheck %s --check-prefix=SAME

// CHECK-LABEL: func.func @f
// CHECK-NEXT: arith.addi
// CHECK-NEXT: func.return

// SAME: arith.constant
// SAME: arith.addi
func.func @f(%a: i32) -> i32 {
  %unused = arith.constant 1 : i32
  %sum = arith.addi %a, %a : i32
  func.return %sum : i32
}
