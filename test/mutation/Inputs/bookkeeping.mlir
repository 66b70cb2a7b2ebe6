// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ((x - y) * v + 0.3) / (K - 1), transposed, written with detours.
func.func @tidy(%x: tensor<?x?xf32, ["M", "K"]>, %y: tensor<?x?xf32, ["M", "K"]>, %v: tensor<?xf32, ["M"]>) -> tensor<?x?xf32, ["K", "M"]> {
  %0 = tensor_hl.transpose %x perm [1, 0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["K", "M"]>
  %1 = tensor_hl.transpose %0 perm [1, 0] : tensor<?x?xf32, ["K", "M"]> -> tensor<?x?xf32, ["M", "K"]>
  %2 = tensor_hl.sub %1, %y : tensor<?x?xf32, ["M", "K"]>
  %3 = tensor_hl.broadcast %v dims [0] : tensor<?xf32, ["M"]> -> tensor<?x1xf32, ["M", "1"]>
  %4 = tensor_hl.broadcast %3 dims [0, 1] : tensor<?x1xf32, ["M", "1"]> -> tensor<?x?xf32, ["M", "K"]>
  %5 = tensor_hl.mul %2, %4 : tensor<?x?xf32, ["M", "K"]>
  %a = tensor_hl.constant 0.1 : tensor<f32>
  %b = tensor_hl.constant 0.2 : tensor<f32>
  %c = tensor_hl.add %a, %b : tensor<f32>
  %6 = tensor_hl.broadcast %c dims [] : tensor<f32> -> tensor<?x?xf32, ["M", "K"]>
  %7 = tensor_hl.add %5, %6 : tensor<?x?xf32, ["M", "K"]>
  %n = tensor_hl.size "K" : tensor<f32>
  %one = tensor_hl.constant 1.0 : tensor<f32>
  %d = tensor_hl.sub %n, %one : tensor<f32>
  %8 = tensor_hl.broadcast %d dims [] : tensor<f32> -> tensor<?x?xf32, ["M", "K"]>
  %9 = tensor_hl.div %7, %8 : tensor<?x?xf32, ["M", "K"]>
  %10 = tensor_hl.transpose %9 perm [1, 0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["K", "M"]>
  func.return %10 : tensor<?x?xf32, ["K", "M"]>
}

// Three equal axes: a wrong permutation has the right type.
func.func @cube(%x: tensor<?x?x?xf32, ["N", "N", "N"]>, %y: tensor<?x?xf32, ["N", "N"]>) -> tensor<?x?x?xf32, ["N", "N", "N"]> {
  %0 = tensor_hl.transpose %x perm [1, 2, 0] : tensor<?x?x?xf32, ["N", "N", "N"]> -> tensor<?x?x?xf32, ["N", "N", "N"]>
  %1 = tensor_hl.transpose %0 perm [1, 2, 0] : tensor<?x?x?xf32, ["N", "N", "N"]> -> tensor<?x?x?xf32, ["N", "N", "N"]>
  %2 = tensor_hl.reduce sum %1 axes [1] : tensor<?x?x?xf32, ["N", "N", "N"]> -> tensor<?x?xf32, ["N", "N"]>
  %3 = tensor_hl.matmul %2, %y lhs [1] rhs [0] : (tensor<?x?xf32, ["N", "N"]>, tensor<?x?xf32, ["N", "N"]>) -> tensor<?x?xf32, ["N", "N"]>
  %4 = tensor_hl.broadcast %3 dims [0, 1] : tensor<?x?xf32, ["N", "N"]> -> tensor<?x?x?xf32, ["N", "N", "N"]>
  %5 = tensor_hl.sub %1, %4 : tensor<?x?x?xf32, ["N", "N", "N"]>
  func.return %5 : tensor<?x?x?xf32, ["N", "N", "N"]>
}
