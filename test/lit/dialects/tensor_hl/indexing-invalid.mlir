// RUN: axon-opt %s --split-input-file --verify-diagnostics

func.func @positions(%x: tensor<?x?xf32, ["V", "K"]>, %i: tensor<?xf32, ["T"]>) {
  // expected-error@+1 {{positions are integers}}
  %0 = tensor_hl.gather %x, %i axis 0 : (tensor<?x?xf32, ["V", "K"]>, tensor<?xf32, ["T"]>) -> tensor<?x?xf32, ["T", "K"]>
  func.return
}

// -----

func.func @kinds(%x: tensor<?x?xf32, ["V", "K"]>, %i: tensor<?xi32, ["T"]>) {
  // expected-error@+1 {{mixes float and int elements: a cast is needed}}
  %0 = tensor_hl.gather %x, %i axis 0 : (tensor<?x?xf32, ["V", "K"]>, tensor<?xi32, ["T"]>) -> tensor<?x?xi32, ["T", "K"]>
  func.return
}

// -----

func.func @batch(%x: tensor<?x?xf32, ["V", "K"]>, %i: tensor<?xi32, ["T"]>) {
  // expected-error@+1 {{operand i of shape [T] does not fit: [V] expected}}
  %0 = tensor_hl.gather %x, %i batch 1 axis 1 : (tensor<?x?xf32, ["V", "K"]>, tensor<?xi32, ["T"]>) -> tensor<?xf32, ["T"]>
  func.return
}

// -----

func.func @axis(%x: tensor<?x?xf32, ["T", "K"]>, %i: tensor<?xi32, ["T"]>) {
  // expected-error@+1 {{axis 0 after 1 batch axes, the operands have rank 2 and 1}}
  %0 = tensor_hl.gather %x, %i batch 1 axis 0 : (tensor<?x?xf32, ["T", "K"]>, tensor<?xi32, ["T"]>) -> tensor<?xf32, ["T"]>
  func.return
}

// -----

func.func @part(%x: tensor<?x?xf32, ["V", "K"]>, %i: tensor<?xi32, ["T"]>) {
  // expected-error@+1 {{operand y of shape [V, K] does not fit: axis 1 is V, but R is T}}
  %0 = tensor_hl.scatter %x, %i, %x axis 0 : (tensor<?x?xf32, ["V", "K"]>, tensor<?xi32, ["T"]>, tensor<?x?xf32, ["V", "K"]>) -> tensor<?x?xf32, ["V", "K"]>
  func.return
}

// -----

func.func @outside(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{writes outside axis 0 of size 4}}
  %0 = tensor_hl.insert %x, %y offsets ["2"] steps [1] : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @backwards(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{steps must be positive}}
  %0 = tensor_hl.insert %x, %y offsets ["3"] steps [-1] : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_step(%x: tensor<4xf32>) {
  // expected-error@+1 {{a step of 0}}
  %0 = tensor_hl.slice %x offsets ["0"] sizes ["4"] steps [0] : tensor<4xf32>
  func.return
}

// -----

func.func @below(%x: tensor<4xf32>) {
  // expected-error@+1 {{reads outside axis 0 of size 4}}
  %0 = tensor_hl.slice %x offsets ["2"] sizes ["4"] steps [-1] : tensor<4xf32>
  func.return
}

// -----

func.func @truncate(%x: tensor<4xi32>) {
  // expected-error@+1 {{converts floats to integers}}
  %0 = tensor_hl.truncate %x : tensor<4xi32>
  func.return
}

// -----

func.func @repeat(%x: tensor<?xf32, ["N"]>) {
  // expected-error@+1 {{result 0 has shape [N], but its meaning gives [2 * N]}}
  %0 = tensor_hl.repeat %x axis 0 times "2" : tensor<?xf32, ["N"]>
  func.return
}

// -----

func.func @mean(%x: tensor<?xf32, ["N"]>) {
  // expected-error@+1 {{axes [1] of tensors of rank 1}}
  %0 = tensor_hl.mean %x axes [1] : tensor<?xf32, ["N"]> -> tensor<f32>
  func.return
}
