// RUN: axon-opt %s -p 'nu-extract{k=3}' | filecheck %s
// RUN: axon-opt %s -p 'nu-extract{k=100}' | filecheck %s --check-prefix=ALL
// RUN: axon-opt %s -p 'nu-extract' | filecheck %s --check-prefix=DEFAULT
// RUN: axon-opt %S/../../../../examples/rms_mm_graph.mlir -p 'nu-extract{k=4}' | filecheck %s --check-prefix=EXAMPLE

// Scaling the matmul's result is the cheaper the fewer columns it has (here 3 against 5); `wrong` is never taken, and
// the shared operand of an alternative that is not taken goes with it.
// CHECK-LABEL: func.func @order_0
// CHECK-SAME:    nu.origin = "order", nu.picks = {product = "late"}
// CHECK-NEXT:  %0 = tensor_hl.matmul %x, %w
// CHECK-NEXT:  %y = tensor_hl.mul %0, %0
// CHECK-NEXT:  func.return %y
// CHECK-LABEL: func.func @order_1
// CHECK-SAME:    nu.picks = {product = "early"}
// CHECK-NEXT:  %s = tensor_hl.exp %x
// CHECK-NEXT:  %0 = tensor_hl.mul %x, %s
// CHECK-NEXT:  %y = tensor_hl.matmul %0, %w
// CHECK-NEXT:  func.return %y
// CHECK-NOT:   @order
func.func @order(%x: tensor<?x?xf32, ["M", "K"]>, %w: tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
    attributes {axon.values = {M = 2 : i64, K = 5 : i64, N = 3 : i64}} {
  %s = tensor_hl.exp %x : tensor<?x?xf32, ["M", "K"]>
  %y = nu.choice product(%x, %s, %w) : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]> {
    alternative early proved "E" (%x0, %s0, %w0) {
      %0 = tensor_hl.mul %x0, %s0 : tensor<?x?xf32, ["M", "K"]>
      %1 = tensor_hl.matmul %0, %w0 lhs [1] rhs [0] : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
      nu.yield %1 : tensor<?x?xf32, ["M", "N"]>
    }
    alternative late proved "R" (%x1, %s1, %w1) {
      %0 = tensor_hl.matmul %x1, %w1 lhs [1] rhs [0] : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
      %1 = tensor_hl.mul %0, %0 : tensor<?x?xf32, ["M", "N"]>
      nu.yield %1 : tensor<?x?xf32, ["M", "N"]>
    }
    alternative wrong refuted "R" (%x2, %s2, %w2) {
      %0 = tensor_hl.matmul %x2, %w2 lhs [1] rhs [0] : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
      nu.yield %0 : tensor<?x?xf32, ["M", "N"]>
    }
  }
  func.return %y : tensor<?x?xf32, ["M", "N"]>
}

// Four ways; the picks of choices that are in no alternative taken are absent. Equal costs: earlier alternatives first.
// CHECK-LABEL: func.func @nested_0
// CHECK-SAME:    nu.picks = {choice0 = "short"}
// CHECK-NEXT:  %y = tensor_hl.exp %x
// CHECK-NEXT:  func.return %y
// CHECK-LABEL: func.func @nested_1
// CHECK-SAME:    nu.picks = {choice0 = "open", choice1 = "one"}
// CHECK-LABEL: func.func @nested_2
// CHECK-SAME:    nu.picks = {choice0 = "open", choice1 = "other"}
// CHECK-NOT:   func.func @nested

// ALL: func.func @nested_2
// ALL-NOT: func.func @nested
// ALL: func.func @duplicates_0
func.func @nested(%x: tensor<f32>) -> tensor<f32> {
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative open proved "E" (%a0) {
      %0 = tensor_hl.neg %a0 : tensor<f32>
      %1 = nu.choice(%0) : (tensor<f32>) -> tensor<f32> {
        alternative one proved "E" (%b0) {
          %2 = tensor_hl.abs %b0 : tensor<f32>
          nu.yield %2 : tensor<f32>
        }
        alternative other proved "E" (%b1) {
          %2 = tensor_hl.sqrt %b1 : tensor<f32>
          nu.yield %2 : tensor<f32>
        }
        alternative perhaps unknown "E" (%b2) {
          nu.yield %b2 : tensor<f32>
        }
      }
      nu.yield %1 : tensor<f32>
    }
    alternative short proved "E" (%a1) {
      %0 = tensor_hl.exp %a1 : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
  }
  func.return %y : tensor<f32>
}

// CHECK-LABEL: func.func @duplicates_0
// CHECK-SAME:    nu.picks = {choice0 = "a", choice1 = "a"}
// CHECK-LABEL: func.func @duplicates_1
// CHECK-SAME:    nu.picks = {choice0 = "c", choice1 = "a"}
// CHECK-NOT:   func.func @duplicates
func.func @duplicates(%x: tensor<f32>) -> tensor<f32> {
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative a proved "E" (%a0) {
      %0 = tensor_hl.neg %a0 : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
    alternative b proved "E" (%a1) {
      %unused = tensor_hl.exp %a1 : tensor<f32>
      %renamed = tensor_hl.neg %a1 : tensor<f32>
      nu.yield %renamed : tensor<f32>
    }
    alternative c proved "E" (%a2) {
      %0 = tensor_hl.abs %a2 : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
  }
  %z = nu.choice(%y) : (tensor<f32>) -> tensor<f32> {
    alternative a proved "E" (%b0) {
      nu.yield %b0 : tensor<f32>
    }
    alternative b proved "E" (%b1) {
      nu.yield %b1 : tensor<f32>
    }
  }
  func.return %z : tensor<f32>
}

// A result that nobody uses costs nothing, and a choice that nobody uses makes no structures.
// CHECK-LABEL: func.func @dead_0
// CHECK-SAME:    nu.picks = {pair = "second"}
// CHECK-NEXT:  func.return %x
// CHECK-LABEL: func.func @dead_1
// CHECK-SAME:    nu.picks = {pair = "first"}
// CHECK-NOT:   func.func @dead
func.func @dead(%x: tensor<f32>) -> tensor<f32> {
  %unused = nu.choice unused(%x) : (tensor<f32>) -> tensor<f32> {
    alternative a proved "E" (%a0) {
      nu.yield %a0 : tensor<f32>
    }
    alternative b proved "E" (%a1) {
      %0 = tensor_hl.exp %a1 : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
  }
  %y, %z = nu.choice pair(%x, %unused) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    alternative first proved "E" (%b0, %c0) {
      %0 = tensor_hl.neg %b0 : tensor<f32>
      nu.yield %0, %c0 : tensor<f32>, tensor<f32>
    }
    alternative second proved "E" (%b1, %c1) {
      %0 = tensor_hl.exp %b1 : tensor<f32>
      %1 = tensor_hl.exp %0 : tensor<f32>
      nu.yield %b1, %1 : tensor<f32>, tensor<f32>
    }
  }
  func.return %y : tensor<f32>
}

// CHECK-LABEL: func.func @untouched(
// CHECK-NEXT:  %unused = tensor_hl.exp %x
// CHECK-NEXT:  func.return %x
func.func @untouched(%x: tensor<f32>) -> tensor<f32> {
  %unused = tensor_hl.exp %x : tensor<f32>
  func.return %x : tensor<f32>
}

// DEFAULT: func.func @nested_2
// DEFAULT: func.func @untouched(

// EXAMPLE: func.func @rms_mm_0
// EXAMPLE-SAME: nu.picks = {product = "early", normalised = "row_first"}
// EXAMPLE: func.func @rms_mm_1
// EXAMPLE-SAME: nu.picks = {product = "early", normalised = "scales_first"}
// EXAMPLE: func.func @rms_mm_2
// EXAMPLE-SAME: nu.picks = {product = "late", normalised = "row_first"}
// EXAMPLE: func.func @rms_mm_3
// EXAMPLE-SAME: nu.picks = {product = "late", normalised = "scales_first"}
// EXAMPLE-NOT: nu.choice
