// RUN: axon-opt %s --split-input-file --verify-diagnostics

func.func @shapes(%x: tensor<?x?xf32, ["M", "K"]>, %y: tensor<?x?xf32, ["K", "M"]>) {
  // expected-error@+1 {{'tensor_hl.add' op add: operand y of shape [K, M] does not fit: [M, K] expected}}
  %0 = tensor_hl.add %x, %y : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "M"]>) -> tensor<?x?xf32, ["M", "K"]>
  func.return
}

// -----

func.func @result(%x: tensor<?x?xf32, ["M", "K"]>) {
  // expected-error@+1 {{result 0 has shape [M, K], but its meaning gives [K, M]}}
  %0 = tensor_hl.transpose %x perm [1, 0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["M", "K"]>
  func.return
}

// -----

func.func @perm(%x: tensor<?x?xf32, ["M", "K"]>) {
  // expected-error@+1 {{perm [0, 0] names an axis twice}}
  %0 = tensor_hl.transpose %x perm [0, 0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["M", "M"]>
  func.return
}

// -----

func.func @partial_perm(%x: tensor<?x?xf32, ["M", "K"]>) {
  // expected-error@+1 {{[1] does not permute 2 axes}}
  %0 = tensor_hl.transpose %x perm [1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["K"]>
  func.return
}

// -----

func.func @axis(%x: tensor<?x?xf32, ["M", "K"]>) {
  // expected-error@+1 {{axes [2] of tensors of rank 2}}
  %0 = tensor_hl.reduce sum %x axes [2] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["M"]>
  func.return
}

// -----

func.func @monoid(%x: tensor<?x?xf32, ["M", "K"]>) {
  // expected-error@+1 {{'median' is not one of sum, prod, max, min}}
  %0 = tensor_hl.reduce median %x axes [1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["M"]>
  func.return
}

// -----

func.func @broadcast(%x: tensor<?xf32, ["M"]>) {
  // expected-error@+1 {{operand axis 0 is M, result axis 1 is K}}
  %0 = tensor_hl.broadcast %x dims [1] : tensor<?xf32, ["M"]> -> tensor<?x?xf32, ["M", "K"]>
  func.return
}

// -----

func.func @broadcast_order(%x: tensor<?x?xf32, ["M", "K"]>) {
  // expected-error@+1 {{dims must increase}}
  %0 = tensor_hl.broadcast %x dims [1, 0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["K", "M"]>
  func.return
}

// -----

func.func @reshape(%x: tensor<?x?xf32, ["M", "K"]>) {
  // expected-error@+1 {{reshapes K * M elements to 2 * K * M}}
  %0 = tensor_hl.reshape %x : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["2 * M * K"]>
  func.return
}

// -----

func.func @squeeze(%x: tensor<?x?xf32, ["M", "K"]>) {
  // expected-error@+1 {{axis 1 is K, not 1}}
  %0 = tensor_hl.squeeze %x axes [1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["M"]>
  func.return
}

// -----

func.func @slice(%x: tensor<4xf32>) {
  // expected-error@+1 {{reads outside axis 0 of size 4}}
  %0 = tensor_hl.slice %x offsets ["2"] sizes ["3"] steps [1] : tensor<4xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @contracted(%x: tensor<?x?xf32, ["M", "K"]>, %w: tensor<?x?xf32, ["L", "N"]>) {
  // expected-error@+1 {{contracts axes of different sizes: K and L}}
  %0 = tensor_hl.matmul %x, %w lhs [1] rhs [0] : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["L", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
  func.return
}

// -----

func.func @concat(%x: tensor<?x?xf32, ["M", "K"]>, %y: tensor<?x?xf32, ["N", "K"]>) {
  // expected-error@+1 {{concat: operand y of shape [N, K] does not fit: [M] expected}}
  %0 = tensor_hl.concat %x, %y axis 1 : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["N", "K"]>) -> tensor<?x?xf32, ["M", "2 * K"]>
  func.return
}

// -----

func.func @kinds(%x: tensor<?xf32, ["M"]>, %y: tensor<?xi32, ["M"]>) {
  // expected-error@+1 {{mixes float and int elements: a cast is needed}}
  %0 = tensor_hl.add %x, %y : (tensor<?xf32, ["M"]>, tensor<?xi32, ["M"]>) -> tensor<?xf32, ["M"]>
  func.return
}

// -----

func.func @truth(%x: tensor<?xf32, ["M"]>) {
  // expected-error@+1 {{selects by a tensor of i1}}
  %0 = tensor_hl.select %x, %x, %x : tensor<?xf32, ["M"]>
  func.return
}

// -----

func.func @compare(%x: tensor<?xf32, ["M"]>) {
  // expected-error@+1 {{compares to i1}}
  %0 = tensor_hl.compare lt %x, %x : tensor<?xf32, ["M"]>
  func.return
}

// -----

func.func @predicate(%x: tensor<?xf32, ["M"]>) {
  // expected-error@+1 {{'below' is not one of lt, le, gt, ge, eq, ne}}
  %0 = tensor_hl.compare below %x, %x : (tensor<?xf32, ["M"]>, tensor<?xf32, ["M"]>) -> tensor<?xi1, ["M"]>
  func.return
}

// -----

func.func @integer() {
  // expected-error@+1 {{0.5 is not an integer}}
  %0 = tensor_hl.constant 0.5 : tensor<i32>
  func.return
}

// -----

func.func @size() {
  // expected-error@+1 {{'K +' is not an index expression}}
  %0 = tensor_hl.size "K +" : tensor<f32>
  func.return
}

// -----

func.func @unnamed(%x: tensor<?xf32>) {
  // expected-error@+1 {{a dynamic axis needs a name}}
  %0 = tensor_hl.exp %x : tensor<?xf32>
  func.return
}

// -----

func.func @not_a_tensor(%x: f32) {
  // expected-error@+1 {{tensor}}
  %0 = "tensor_hl.exp"(%x) : (f32) -> f32
  func.return
}

// -----

func.func @accumulator(%x: tensor<2x2xbf16>) {
  // expected-error@+1 {{'bf16' is not one of f32}}
  %0 = tensor_hl.matmul %x, %x lhs [1] rhs [0] acc bf16 : tensor<2x2xbf16>
  func.return
}
