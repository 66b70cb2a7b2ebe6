// RUN: axon-opt %s -p 'nu-extract' --verify-diagnostics --split-input-file
// RUN: not axon-opt %s -p 'nu-extract{k=0}' 2>&1 | filecheck %s

// CHECK: error: nu-extract cannot extract 0 structures
// CHECK-NEXT: accepted: k=1 or more
func.func @unproved(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{leaves no structure: an alternative that is proved is needed}}
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative early unknown "E" (%a) {
      nu.yield %a : tensor<f32>
    }
  }
  func.return %y : tensor<f32>
}

// -----

func.func private @f_1(tensor<f32>) -> ()

// expected-error@+1 {{there is a function @f_1 already}}
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative a proved "E" (%a0) {
      nu.yield %a0 : tensor<f32>
    }
    alternative b proved "E" (%a1) {
      %0 = tensor_hl.exp %a1 : tensor<f32>
      nu.yield %0 : tensor<f32>
    }
  }
  func.return %y : tensor<f32>
}

// -----

func.func @called(%x: tensor<f32>) -> tensor<f32> {
  %y = nu.choice(%x) : (tensor<f32>) -> tensor<f32> {
    alternative a proved "E" (%a0) {
      nu.yield %a0 : tensor<f32>
    }
  }
  func.return %y : tensor<f32>
}

func.func @caller(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{calls @called, which nu-extract replaces}}
  %y = func.call @called(%x) : (tensor<f32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
