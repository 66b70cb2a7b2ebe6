// RUN: axon-opt %s | axon-opt | filecheck %s
// RUN: axon-opt %s --print-op-generic | axon-opt | filecheck %s
// RUN: axon-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @rotary
func.func @rotary(%x: tensor<?x?x?xf32, ["H", "T", "2 * D"]>, %c: tensor<?x?xf32, ["T", "D"]>) {
  // CHECK: tensor_hl.rope half %x, %c, %c : (tensor<?x?x?xf32, ["H", "T", "2 * D"]>, tensor<?x?xf32, ["T", "D"]>, tensor<?x?xf32, ["T", "D"]>) -> tensor<?x?x?xf32, ["H", "T", "2 * D"]>
  // GENERIC: "tensor_hl.rope"(%x, %c, %c) <{pairing = "half"}>
  %0 = tensor_hl.rope half %x, %c, %c : (tensor<?x?x?xf32, ["H", "T", "2 * D"]>, tensor<?x?xf32, ["T", "D"]>, tensor<?x?xf32, ["T", "D"]>) -> tensor<?x?x?xf32, ["H", "T", "2 * D"]>
  // CHECK: tensor_hl.rope interleaved %x, %c, %c
  %1 = tensor_hl.rope interleaved %x, %c, %c : (tensor<?x?x?xf32, ["H", "T", "2 * D"]>, tensor<?x?xf32, ["T", "D"]>, tensor<?x?xf32, ["T", "D"]>) -> tensor<?x?x?xf32, ["H", "T", "2 * D"]>
  func.return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x?x?xbf16, ["H", "M", "D"]>, %k: tensor<?x?x?xbf16, ["H", "N", "D"]>, %a: tensor<?x?xi1, ["M", "N"]>) {
  // CHECK: tensor_hl.attention causal %q, %k, %k scale 0.125 : (tensor<?x?x?xbf16, ["H", "M", "D"]>, tensor<?x?x?xbf16, ["H", "N", "D"]>, tensor<?x?x?xbf16, ["H", "N", "D"]>) -> tensor<?x?x?xbf16, ["H", "M", "D"]>
  // GENERIC: "tensor_hl.attention"(%q, %k, %k) <{mask = "causal", scale = "0.125"}>
  %0 = tensor_hl.attention causal %q, %k, %k scale 0.125 : (tensor<?x?x?xbf16, ["H", "M", "D"]>, tensor<?x?x?xbf16, ["H", "N", "D"]>, tensor<?x?x?xbf16, ["H", "N", "D"]>) -> tensor<?x?x?xbf16, ["H", "M", "D"]>
  // CHECK: tensor_hl.attention none %q, %k, %k scale 1.0
  %1 = tensor_hl.attention none %q, %k, %k scale 1.0 : (tensor<?x?x?xbf16, ["H", "M", "D"]>, tensor<?x?x?xbf16, ["H", "N", "D"]>, tensor<?x?x?xbf16, ["H", "N", "D"]>) -> tensor<?x?x?xbf16, ["H", "M", "D"]>
  // CHECK: tensor_hl.masked_attention %q, %k, %k, %a scale 0.125
  // GENERIC: "tensor_hl.masked_attention"(%q, %k, %k, %a) <{scale = "0.125"}>
  %2 = tensor_hl.masked_attention %q, %k, %k, %a scale 0.125 : (tensor<?x?x?xbf16, ["H", "M", "D"]>, tensor<?x?x?xbf16, ["H", "N", "D"]>, tensor<?x?x?xbf16, ["H", "N", "D"]>, tensor<?x?xi1, ["M", "N"]>) -> tensor<?x?x?xbf16, ["H", "M", "D"]>
  // CHECK: tensor_hl.log_softmax %q axis 2 : tensor<?x?x?xbf16, ["H", "M", "D"]>
  %3 = tensor_hl.log_softmax %q axis 2 : tensor<?x?x?xbf16, ["H", "M", "D"]>
  func.return
}
