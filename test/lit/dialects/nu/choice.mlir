// RUN: axon-opt %s | axon-opt | filecheck %s
// RUN: axon-opt %s --print-op-generic | axon-opt | filecheck %s
// RUN: axon-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @named
// CHECK:      %y = nu.choice scale(%x, %s) : (tensor<?xf32, ["N"]>, tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]> {
// CHECK-NEXT:   alternative given proved "E" derived "as written" (%a, %b) {
// CHECK-NEXT:     %0 = tensor_hl.mul %a, %b : tensor<?xf32, ["N"]>
// CHECK-NEXT:     nu.yield %0 : tensor<?xf32, ["N"]>
// CHECK-NEXT:   }
// CHECK-NEXT:   alternative swapped proved "ER" derived "a \22swap\22" certificate "9f3c" (%c, %d) {
// CHECK-NEXT:     %1 = tensor_hl.mul %d, %c : tensor<?xf32, ["N"]>
// CHECK-NEXT:     nu.yield %1 : tensor<?xf32, ["N"]>
// CHECK-NEXT:   }
// CHECK-NEXT:   alternative "by-2" refuted "" (%e, %f) {
// CHECK-NEXT:     nu.yield %e : tensor<?xf32, ["N"]>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y

// GENERIC-LABEL: sym_name = "named"
// GENERIC:      "nu.choice"(%x, %s) <{label = "scale", alternatives = [
// GENERIC-SAME:   #nu.alternative<given proved "E" derived "as written">,
// GENERIC-SAME:   #nu.alternative<swapped proved "ER" derived "a \22swap\22" certificate "9f3c">,
// GENERIC-SAME:   #nu.alternative<"by-2" refuted "">]}> ({
// GENERIC-NEXT: ^bb0(%a: tensor<?xf32, ["N"]>, %b: tensor<?xf32, ["N"]>):
// GENERIC:        "nu.yield"(%0) : (tensor<?xf32, ["N"]>) -> ()
// GENERIC-NEXT: }, {
func.func @named(%x: tensor<?xf32, ["N"]>, %s: tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]> {
  %y = nu.choice scale(%x, %s) : (tensor<?xf32, ["N"]>, tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]> {
    alternative given proved "E" derived "as written" (%a, %b) {
      %0 = tensor_hl.mul %a, %b : tensor<?xf32, ["N"]>
      nu.yield %0 : tensor<?xf32, ["N"]>
    }
    alternative swapped proved "ER" derived "a \"swap\"" certificate "9f3c" (%c, %d) {
      %0 = tensor_hl.mul %d, %c : tensor<?xf32, ["N"]>
      nu.yield %0 : tensor<?xf32, ["N"]>
    }
    alternative "by-2" refuted "" (%e, %f) {
      nu.yield %e : tensor<?xf32, ["N"]>
    }
  }
  func.return %y : tensor<?xf32, ["N"]>
}

// CHECK-LABEL: func.func @attributes
// CHECK:      nu.choice() attributes {note = "kept"} : () -> (tensor<f32>, tensor<f32>) {
// CHECK-NEXT:   alternative only unknown "CO" {
// CHECK-NEXT:     %2 = tensor_hl.constant 1.0 : tensor<f32>
// CHECK-NEXT:     nu.yield %2, %2 : tensor<f32>, tensor<f32>
func.func @attributes() {
  %0, %1 = nu.choice() attributes {note = "kept"} : () -> (tensor<f32>, tensor<f32>) {
    alternative only unknown "CO" {
      %2 = tensor_hl.constant 1.0 : tensor<f32>
      nu.yield %2, %2 : tensor<f32>, tensor<f32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @nothing
// CHECK:      nu.choice "a-b"() : () -> () {
// CHECK-NEXT:   alternative only proved "E" {
// CHECK-NEXT:     nu.yield
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @nothing() {
  nu.choice "a-b"() : () -> () {
    alternative only proved "E" {
      nu.yield
    }
  }
  func.return
}

// CHECK-LABEL: func.func @nested
// CHECK:      nu.choice outer(%x) : (tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:   alternative plain proved "E" (%a) {
// CHECK-NEXT:     nu.yield %a : tensor<f32>
// CHECK-NEXT:   }
// CHECK-NEXT:   alternative open proved "E" (%b) {
// CHECK-NEXT:     %c = nu.choice inner(%b) : (tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:       alternative one proved "E" (%d) {
// CHECK-NEXT:         nu.yield %d : tensor<f32>
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     nu.yield %c : tensor<f32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @nested(%x: tensor<f32>) -> tensor<f32> {
  %y = nu.choice outer(%x) : (tensor<f32>) -> tensor<f32> {
    alternative plain proved "E" (%a) {
      nu.yield %a : tensor<f32>
    }
    alternative open proved "E" (%b) {
      %c = nu.choice inner(%b) : (tensor<f32>) -> tensor<f32> {
        alternative one proved "E" (%d) {
          nu.yield %d : tensor<f32>
        }
      }
      nu.yield %c : tensor<f32>
    }
  }
  func.return %y : tensor<f32>
}
