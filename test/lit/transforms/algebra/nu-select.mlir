// RUN: axon-opt %s -p 'nu-select' | filecheck %s --check-prefix=REFERENCE
// RUN: axon-opt %s -p 'nu-select{index=1}' | filecheck %s --check-prefix=INDEX
// RUN: axon-opt %s -p 'nu-select{alternative=late}' | filecheck %s --check-prefix=NAME
// RUN: axon-opt %s -p 'nu-select{choices="choice0=early,second=nested,inner=minus"}' | filecheck %s --check-prefix=EACH
// RUN: axon-opt %s -p 'nu-select{choices="second=nested"}' | filecheck %s --check-prefix=SOME
// RUN: axon-opt %s -p 'nu-select{index=0 choices="second=nested"}' | filecheck %s --check-prefix=MIXED
// RUN: axon-opt %s -p 'nu-select{choices="second=hoped" allow=unknown}' | filecheck %s --check-prefix=UNKNOWN

// REFERENCE-LABEL: func.func @two
// REFERENCE-NEXT: %a = tensor_hl.exp %x
// REFERENCE-NEXT: %b = tensor_hl.neg %a
// REFERENCE-NEXT: func.return %b
// REFERENCE-LABEL: func.func @none
// REFERENCE-NEXT: func.return %x

// Nested choices are reached by the index, too.
// INDEX-LABEL: func.func @two
// INDEX-NEXT: %a = tensor_hl.square %x
// INDEX-NEXT: %c = tensor_hl.sub %a, %a
// INDEX-NEXT: func.return %c

// NAME-LABEL: func.func @two
// NAME-NEXT: %a = tensor_hl.square %x
// NAME-NEXT: nu.choice second(%a)

// EACH-LABEL: func.func @two
// EACH-NEXT: %a = tensor_hl.exp %x
// EACH-NEXT: %c = tensor_hl.sub %a, %a
// EACH-NEXT: func.return %c

// A choice that stays keeps its name.
// SOME-LABEL: func.func @two
// SOME-NEXT: nu.choice choice0(%x)
// SOME: nu.choice inner(
// SOME: func.return

// MIXED-LABEL: func.func @two
// MIXED-NEXT: %a = tensor_hl.exp %x
// MIXED-NEXT: %c = tensor_hl.add %a, %a
// MIXED-NEXT: func.return %c

// UNKNOWN-LABEL: func.func @two
// UNKNOWN: %{{.+}} = tensor_hl.abs
func.func @two(%x: tensor<f32>) -> tensor<f32> {
  %a = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative early proved "E" (%a0) {
      %0 = tensor_hl.exp %a0 : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
    alternative late proved "R" (%a1) {
      %0 = tensor_hl.square %a1 : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
  }
  %b = nu.choice second(%a) : (tensor<f32>) -> tensor<f32> {
    alternative plain proved "E" (%b0) {
      %0 = tensor_hl.neg %b0 : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
    alternative nested proved "E" (%b1) {
      %c = nu.choice inner(%b1) : (tensor<f32>) -> tensor<f32> {
        alternative plus proved "E" (%c0) {
          %0 = tensor_hl.add %c0, %c0 : tensor<f32>
          nu.yield %0 : tensor<f32>
        }
        alternative minus proved "E" (%c1) {
          %0 = tensor_hl.sub %c1, %c1 : tensor<f32>
          nu.yield %0 : tensor<f32>
        }
      }
      nu.yield %c : tensor<f32>
    }
    alternative hoped unknown "E" (%b2) {
      %0 = tensor_hl.abs %b2 : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
  }
  func.return %b : tensor<f32>
}

func.func @none(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
