// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A νGraph written by hand: RMSNorm into a matrix product, with the normalised rows added to the input as a second
// output. In NumPy:
//
//     r = 1 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6)
//     return (x * r * g) @ w, x + x * r * g
//
// Two choices stay open, and share the row statistic %r: whether it scales the matmul's operand or its result, and what
// the normalised rows are multiplied by first. That makes four structures:
//
//     axon-opt examples/rms_mm_graph.mlir -p 'nu-extract{k=4}'
func.func @rms_mm(
    %x: tensor<?x?xbf16, ["M", "K"]>, %g: tensor<?xbf16, ["K"]>, %w: tensor<?x?xbf16, ["K", "N"]>
) -> (tensor<?x?xbf16, ["M", "N"]>, tensor<?x?xbf16, ["M", "K"]>) attributes {
  axon.arguments = ["x", "g", "w"],
  axon.constants = {},
  axon.sizes = {generic = ["M", "K", "N"], fixed = []},
  axon.values = {M = 4096 : i64, K = 1024 : i64, N = 2048 : i64},
  axon.source = "examples/rms_mm_graph.mlir:13"
} {
  %xx = tensor_hl.mul %x, %x : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
  %sum = tensor_hl.reduce sum %xx axes [1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["M"]>
  %column = tensor_hl.broadcast %sum dims [0] : tensor<?xf32, ["M"]> -> tensor<?x1xf32, ["M", "1"]>
  %size = tensor_hl.size "K" : tensor<f32>
  %sizes = tensor_hl.broadcast %size dims [] : tensor<f32> -> tensor<?x1xf32, ["M", "1"]>
  %mean = tensor_hl.div %column, %sizes : tensor<?x1xf32, ["M", "1"]>
  %eps = tensor_hl.constant 1.0e-06 : tensor<f32>
  %epss = tensor_hl.broadcast %eps dims [] : tensor<f32> -> tensor<?x1xf32, ["M", "1"]>
  %shifted = tensor_hl.add %mean, %epss : tensor<?x1xf32, ["M", "1"]>
  %r = tensor_hl.rsqrt %shifted : tensor<?x1xf32, ["M", "1"]>

  %y = nu.choice product(%x, %r, %g, %w) : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x1xf32, ["M", "1"]>, tensor<?xbf16, ["K"]>, tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> {
    alternative early proved "E" derived "as written" (%x0, %r0, %g0, %w0) {
      %rows = tensor_hl.broadcast %r0 dims [0, 1] : tensor<?x1xf32, ["M", "1"]> -> tensor<?x?xf32, ["M", "K"]>
      %scaled = tensor_hl.mul %x0, %rows : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xbf16, ["M", "K"]>
      %gains = tensor_hl.broadcast %g0 dims [1] : tensor<?xbf16, ["K"]> -> tensor<?x?xbf16, ["M", "K"]>
      %normal = tensor_hl.mul %scaled, %gains : tensor<?x?xbf16, ["M", "K"]>
      %early = tensor_hl.matmul %normal, %w0 lhs [1] rhs [0] : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
      nu.yield %early : tensor<?x?xbf16, ["M", "N"]>
    }
    alternative late proved "R" derived "the row scale moved past the matmul" (%x1, %r1, %g1, %w1) {
      %gains = tensor_hl.broadcast %g1 dims [1] : tensor<?xbf16, ["K"]> -> tensor<?x?xbf16, ["M", "K"]>
      %gained = tensor_hl.mul %x1, %gains : tensor<?x?xbf16, ["M", "K"]>
      %raw = tensor_hl.matmul %gained, %w1 lhs [1] rhs [0] : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
      %rows = tensor_hl.broadcast %r1 dims [0, 1] : tensor<?x1xf32, ["M", "1"]> -> tensor<?x?xf32, ["M", "N"]>
      %late = tensor_hl.mul %raw, %rows : (tensor<?x?xf32, ["M", "N"]>, tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
      nu.yield %late : tensor<?x?xbf16, ["M", "N"]>
    }
  }

  %n = nu.choice normalised(%x, %r, %g) : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x1xf32, ["M", "1"]>, tensor<?xbf16, ["K"]>) -> tensor<?x?xbf16, ["M", "K"]> {
    alternative row_first proved "E" derived "as written" (%x2, %r2, %g2) {
      %rows = tensor_hl.broadcast %r2 dims [0, 1] : tensor<?x1xf32, ["M", "1"]> -> tensor<?x?xf32, ["M", "K"]>
      %scaled = tensor_hl.mul %x2, %rows : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xbf16, ["M", "K"]>
      %gains = tensor_hl.broadcast %g2 dims [1] : tensor<?xbf16, ["K"]> -> tensor<?x?xbf16, ["M", "K"]>
      %normal = tensor_hl.mul %scaled, %gains : tensor<?x?xbf16, ["M", "K"]>
      nu.yield %normal : tensor<?x?xbf16, ["M", "K"]>
    }
    alternative scales_first proved "R" derived "the scales multiplied first" (%x3, %r3, %g3) {
      %rows = tensor_hl.broadcast %r3 dims [0, 1] : tensor<?x1xf32, ["M", "1"]> -> tensor<?x?xf32, ["M", "K"]>
      %gains = tensor_hl.broadcast %g3 dims [1] : tensor<?xbf16, ["K"]> -> tensor<?x?xbf16, ["M", "K"]>
      %scales = tensor_hl.mul %rows, %gains : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xbf16, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
      %normal = tensor_hl.mul %x3, %scales : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xbf16, ["M", "K"]>
      nu.yield %normal : tensor<?x?xbf16, ["M", "K"]>
    }
  }
  %z = tensor_hl.add %x, %n : tensor<?x?xbf16, ["M", "K"]>
  func.return %y, %z : tensor<?x?xbf16, ["M", "N"]>, tensor<?x?xbf16, ["M", "K"]>
}
