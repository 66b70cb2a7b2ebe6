// RUN: axon-opt %s --split-input-file --verify-diagnostics

func.func @angles(%x: tensor<?x?xf32, ["T", "D"]>, %c: tensor<?x?xf32, ["T", "D"]>) {
  // expected-error@+1 {{D angles for rows of D elements: half as many are needed}}
  %0 = tensor_hl.rope half %x, %c, %c : tensor<?x?xf32, ["T", "D"]>
  func.return
}

// -----

func.func @pairing(%x: tensor<4x6xf32>, %c: tensor<4x3xf32>) {
  // expected-error@+1 {{'thirds' is not one of half, interleaved}}
  %0 = tensor_hl.rope thirds %x, %c, %c : (tensor<4x6xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  func.return
}

// -----

func.func @keys(%q: tensor<4x6xf32>, %k: tensor<5x6xf32>) {
  // expected-error@+1 {{operand v of shape [4, 6] does not fit: axis 1 is 4, but N is 5}}
  %0 = tensor_hl.attention none %q, %k, %q scale 1.0 : (tensor<4x6xf32>, tensor<5x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return
}

// -----

func.func @mask_name(%q: tensor<4x6xf32>) {
  // expected-error@+1 {{'window' is not one of none, causal}}
  %0 = tensor_hl.attention window %q, %q, %q scale 1.0 : tensor<4x6xf32>
  func.return
}

// -----

func.func @mask_type(%q: tensor<4x4xf32>) {
  // expected-error@+1 {{masks by a tensor of i1}}
  %0 = tensor_hl.masked_attention %q, %q, %q, %q scale 1.0 : tensor<4x4xf32>
  func.return
}
