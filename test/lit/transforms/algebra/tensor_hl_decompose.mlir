// RUN: axon-opt %s -p tensor-hl-decompose | filecheck %s
// RUN: axon-opt %s -p tensor-hl-decompose | axon-opt -p tensor-hl-decompose | filecheck %s

// Every value inside is f32; only the last step rounds to bf16.
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<?x?xbf16, ["M", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> {
  // CHECK-NEXT: %0 = tensor_hl.reduce max %x axes [1] : tensor<?x?xbf16, ["M", "N"]> -> tensor<?xf32, ["M"]>
  // CHECK-NEXT: %1 = tensor_hl.broadcast %0 dims [0] : tensor<?xf32, ["M"]> -> tensor<?x?xf32, ["M", "N"]>
  // CHECK-NEXT: %2 = tensor_hl.sub %x, %1 : (tensor<?x?xbf16, ["M", "N"]>, tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
  // CHECK-NEXT: %3 = tensor_hl.exp %2 : tensor<?x?xf32, ["M", "N"]>
  // CHECK-NEXT: %4 = tensor_hl.reduce sum %3 axes [1] : tensor<?x?xf32, ["M", "N"]> -> tensor<?xf32, ["M"]>
  // CHECK-NEXT: %5 = tensor_hl.broadcast %4 dims [0] : tensor<?xf32, ["M"]> -> tensor<?x?xf32, ["M", "N"]>
  // CHECK-NEXT: %6 = tensor_hl.div %3, %5 : (tensor<?x?xf32, ["M", "N"]>, tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
  // CHECK-NEXT: func.return %6
  %0 = tensor_hl.softmax %x axis 1 : tensor<?x?xbf16, ["M", "N"]>
  func.return %0 : tensor<?x?xbf16, ["M", "N"]>
}

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<?x?xf32, ["M", "N"]>, %g: tensor<?xf32, ["N"]>) -> tensor<?x?xf32, ["M", "N"]> {
  // CHECK-NEXT: tensor_hl.mul %x, %x
  // CHECK-NEXT: tensor_hl.reduce sum
  // CHECK-NEXT: tensor_hl.size "N"
  // CHECK-NEXT: tensor_hl.broadcast
  // CHECK-NEXT: tensor_hl.div
  // CHECK-NEXT: tensor_hl.constant 1.0e-05
  // CHECK-NEXT: tensor_hl.broadcast
  // CHECK-NEXT: tensor_hl.add
  // CHECK-NEXT: tensor_hl.sqrt {{.*}} : tensor<?xf32, ["M"]>
  // CHECK-NEXT: tensor_hl.broadcast
  // CHECK-NEXT: tensor_hl.div %x
  // CHECK-NEXT: tensor_hl.broadcast %g dims [1]
  // CHECK-NEXT: tensor_hl.mul
  // CHECK-NEXT: func.return
  %0 = tensor_hl.rms_norm %x, %g eps 1.0e-05 : (tensor<?x?xf32, ["M", "N"]>, tensor<?xf32, ["N"]>) -> tensor<?x?xf32, ["M", "N"]>
  func.return %0 : tensor<?x?xf32, ["M", "N"]>
}

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<?x?xf32, ["M", "N"]>, %g: tensor<?xf32, ["N"]>) -> tensor<?x?xf32, ["M", "N"]> {
  // CHECK-NOT: tensor_hl.layer_norm
  // CHECK: tensor_hl.square
  %0 = tensor_hl.layer_norm %x, %g, %g eps 1.0e-05 : (tensor<?x?xf32, ["M", "N"]>, tensor<?xf32, ["N"]>, tensor<?xf32, ["N"]>) -> tensor<?x?xf32, ["M", "N"]>
  func.return %0 : tensor<?x?xf32, ["M", "N"]>
}

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]> {
  // CHECK-NEXT: [[ONE:%.*]] = tensor_hl.constant 1.0 : tensor<f32>
  // CHECK-NEXT: [[ONES:%.*]] = tensor_hl.broadcast [[ONE]] dims []
  // CHECK-NEXT: [[N:%.*]] = tensor_hl.neg %x
  // CHECK-NEXT: [[E:%.*]] = tensor_hl.exp [[N]]
  // CHECK-NEXT: [[D:%.*]] = tensor_hl.add [[ONES]], [[E]]
  // CHECK-NEXT: tensor_hl.div %x, [[D]]
  %0 = tensor_hl.silu %x : tensor<?xf32, ["N"]>
  // CHECK-NOT: tensor_hl.sigmoid
  %1 = tensor_hl.sigmoid %0 : tensor<?xf32, ["N"]>
  // CHECK: tensor_hl.max
  %2 = tensor_hl.relu %1 : tensor<?xf32, ["N"]>
  // CHECK: tensor_hl.erf
  %3 = tensor_hl.gelu %2 : tensor<?xf32, ["N"]>
  // CHECK: tensor_hl.tanh
  %4 = tensor_hl.gelu_tanh %3 : tensor<?xf32, ["N"]>
  func.return %4 : tensor<?xf32, ["N"]>
}

// CHECK-LABEL: func.func @log_softmax
// CHECK:       tensor_hl.reduce max
// CHECK:       %[[S:.*]] = tensor_hl.sub
// CHECK:       tensor_hl.exp %[[S]]
// CHECK:       tensor_hl.reduce sum
// CHECK:       tensor_hl.log
// CHECK:       tensor_hl.sub %[[S]]
// CHECK-NOT:   log_softmax
func.func @log_softmax(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.log_softmax %x axis 1 : tensor<?x?xf32, ["M", "K"]>
  func.return %0 : tensor<?x?xf32, ["M", "K"]>
}

// CHECK-LABEL: func.func @mean
// CHECK:       tensor_hl.reduce sum %x axes [0, 1]
// CHECK:       tensor_hl.size "K * M"
// CHECK:       tensor_hl.div
func.func @mean(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<f32> {
  %0 = tensor_hl.mean %x axes [0, 1] : tensor<?x?xf32, ["M", "K"]> -> tensor<f32>
  func.return %0 : tensor<f32>
}
