// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @softmax(%x: tensor<?x?xbf16, ["M", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> {
  %0 = tensor_hl.softmax %x axis 1 : tensor<?x?xbf16, ["M", "N"]>
  func.return %0 : tensor<?x?xbf16, ["M", "N"]>
}

func.func @rms_norm(%x: tensor<?x?xf32, ["M", "N"]>, %g: tensor<?xf32, ["N"]>) -> tensor<?x?xf32, ["M", "N"]> {
  %0 = tensor_hl.rms_norm %x, %g eps 1.0e-05 : (tensor<?x?xf32, ["M", "N"]>, tensor<?xf32, ["N"]>) -> tensor<?x?xf32, ["M", "N"]>
  func.return %0 : tensor<?x?xf32, ["M", "N"]>
}

func.func @layer_norm(%x: tensor<?x?xf32, ["M", "N"]>, %g: tensor<?xf32, ["N"]>, %b: tensor<?xf32, ["N"]>) -> tensor<?x?xf32, ["M", "N"]> {
  %0 = tensor_hl.layer_norm %x, %g, %b eps 1.0e-05 : (tensor<?x?xf32, ["M", "N"]>, tensor<?xf32, ["N"]>, tensor<?xf32, ["N"]>) -> tensor<?x?xf32, ["M", "N"]>
  func.return %0 : tensor<?x?xf32, ["M", "N"]>
}

func.func @gelu(%x: tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]> {
  %0 = tensor_hl.gelu %x : tensor<?xf32, ["N"]>
  func.return %0 : tensor<?xf32, ["N"]>
}
