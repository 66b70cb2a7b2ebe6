// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @mm(%x: tensor<?x?xbf16, ["K", "M"]>, %w: tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> {
  %r = tensor_hl.matmul %x, %w lhs [0] rhs [0] : (tensor<?x?xbf16, ["K", "M"]>, tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
  func.return %r : tensor<?x?xbf16, ["M", "N"]>
}
