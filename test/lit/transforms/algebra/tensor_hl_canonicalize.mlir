// RUN: axon-opt %s -p tensor-hl-canonicalize | filecheck %s

// CHECK-LABEL: func.func @scalars
func.func @scalars() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %a = tensor_hl.constant 0.1 : tensor<f32>
  %b = tensor_hl.constant 0.2 : tensor<f32>
  %n = tensor_hl.size "N" : tensor<f32>
  %one = tensor_hl.constant 1.0 : tensor<f32>
  %three = tensor_hl.constant 3.0 : tensor<f32>
  // Numbers are decimals: this is 0.3 and not 0.30000000000000004.
  // CHECK-DAG: tensor_hl.constant 0.3 : tensor<f32>
  %0 = tensor_hl.add %a, %b : tensor<f32>
  // CHECK-DAG: tensor_hl.size "N - 1" : tensor<f32>
  %1 = tensor_hl.sub %n, %one : tensor<f32>
  // A third is no decimal, so the division stays.
  // CHECK-DAG: tensor_hl.div
  %2 = tensor_hl.div %one, %three : tensor<f32>
  // So does a product of a size and a fraction.
  // CHECK-DAG: tensor_hl.mul
  %3 = tensor_hl.mul %n, %a : tensor<f32>
  func.return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<?x?xf32, ["M", "K"]>, %v: tensor<?xf32, ["M"]>) -> (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>, tensor<?xf32, ["M"]>) {
  // CHECK-NEXT: [[B:%.*]] = tensor_hl.broadcast %v dims [0] : tensor<?xf32, ["M"]> -> tensor<?x?xf32, ["M", "K"]>
  // CHECK-NEXT: func.return %x, [[B]], %v
  %0 = tensor_hl.transpose %x perm [1, 0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["K", "M"]>
  %1 = tensor_hl.transpose %0 perm [1, 0] : tensor<?x?xf32, ["K", "M"]> -> tensor<?x?xf32, ["M", "K"]>
  %2 = tensor_hl.broadcast %v dims [0] : tensor<?xf32, ["M"]> -> tensor<?x1xf32, ["M", "1"]>
  %3 = tensor_hl.broadcast %2 dims [0, 1] : tensor<?x1xf32, ["M", "1"]> -> tensor<?x?xf32, ["M", "K"]>
  %4 = tensor_hl.squeeze %2 axes [1] : tensor<?x1xf32, ["M", "1"]> -> tensor<?xf32, ["M"]>
  func.return %1, %3, %4 : tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>, tensor<?xf32, ["M"]>
}

// Three axes: permutations compose, they do not cancel.
// CHECK-LABEL: func.func @permutations
func.func @permutations(%x: tensor<2x3x5xf32>) -> tensor<5x2x3xf32> {
  // CHECK-NEXT: tensor_hl.transpose %x perm [2, 0, 1] : tensor<2x3x5xf32> -> tensor<5x2x3xf32>
  // CHECK-NEXT: func.return
  %0 = tensor_hl.transpose %x perm [1, 2, 0] : tensor<2x3x5xf32> -> tensor<3x5x2xf32>
  %1 = tensor_hl.transpose %0 perm [1, 2, 0] : tensor<3x5x2xf32> -> tensor<5x2x3xf32>
  func.return %1 : tensor<5x2x3xf32>
}

// CHECK-LABEL: func.func @shared
func.func @shared(%x: tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]> {
  // CHECK-NEXT: [[E:%.*]] = tensor_hl.exp %x
  // CHECK-NEXT: [[S:%.*]] = tensor_hl.add [[E]], [[E]]
  // CHECK-NEXT: func.return [[S]]
  %0 = tensor_hl.exp %x : tensor<?xf32, ["N"]>
  %1 = tensor_hl.exp %x : tensor<?xf32, ["N"]>
  %2 = tensor_hl.log %x : tensor<?xf32, ["N"]>
  %3 = tensor_hl.add %0, %1 : tensor<?xf32, ["N"]>
  func.return %3 : tensor<?xf32, ["N"]>
}

// A sum of a product is no product of sums, and x + 0 stays: no algebra here.
// CHECK-LABEL: func.func @algebra
func.func @algebra(%x: tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]> {
  %0 = tensor_hl.constant 0.0 : tensor<f32>
  %1 = tensor_hl.broadcast %0 dims [] : tensor<f32> -> tensor<?xf32, ["N"]>
  // CHECK: tensor_hl.add %x
  %2 = tensor_hl.add %x, %1 : tensor<?xf32, ["N"]>
  func.return %2 : tensor<?xf32, ["N"]>
}
