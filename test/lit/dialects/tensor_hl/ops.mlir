// RUN: axon-opt %s | axon-opt | filecheck %s
// RUN: axon-opt %s --print-op-generic | axon-opt | filecheck %s
// RUN: axon-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<?x?xbf16, ["M", "K"]>, %a: tensor<f32>) -> tensor<?x?xbf16, ["M", "K"]> {
  // CHECK: tensor_hl.constant 1.0e-05 : tensor<f32>
  // GENERIC: "tensor_hl.constant"() <{value = "1.0e-05"}> : () -> tensor<f32>
  %e = tensor_hl.constant 1.0e-05 : tensor<f32>
  // CHECK: tensor_hl.constant -inf : tensor<?x?xf32, ["M", "K"]>
  %i = tensor_hl.constant -inf : tensor<?x?xf32, ["M", "K"]>
  // CHECK: tensor_hl.constant -3 : tensor<4xi32>
  %c = tensor_hl.constant -3 : tensor<4xi32>
  // CHECK: tensor_hl.size "2 * K" : tensor<f32>
  // GENERIC: "tensor_hl.size"() <{term = "2 * K"}> : () -> tensor<f32>
  %n = tensor_hl.size "2 * K" : tensor<f32>
  // CHECK: tensor_hl.iota axis 1 : tensor<?x?xi32, ["M", "K"]>
  %p = tensor_hl.iota axis 1 : tensor<?x?xi32, ["M", "K"]>
  // CHECK: tensor_hl.mul %x, %x : tensor<?x?xbf16, ["M", "K"]>
  %0 = tensor_hl.mul %x, %x : tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.broadcast %a dims [] : tensor<f32> -> tensor<?x?xf32, ["M", "K"]>
  // GENERIC: "tensor_hl.broadcast"(%a) <{dims = array<i64>}> : (tensor<f32>) -> tensor<?x?xf32, ["M", "K"]>
  %1 = tensor_hl.broadcast %a dims [] : tensor<f32> -> tensor<?x?xf32, ["M", "K"]>
  // CHECK: tensor_hl.add %{{.*}}, %{{.*}} : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xbf16, ["M", "K"]>
  %2 = tensor_hl.add %0, %1 : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.exp %{{.*}} : tensor<?x?xbf16, ["M", "K"]>
  %3 = tensor_hl.exp %2 {note = "kept"} : tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.compare ge %{{.*}}, %x : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["M", "K"]>) -> tensor<?x?xi1, ["M", "K"]>
  %4 = tensor_hl.compare ge %3, %x : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["M", "K"]>) -> tensor<?x?xi1, ["M", "K"]>
  // CHECK: tensor_hl.select
  %5 = tensor_hl.select %4, %3, %x : (tensor<?x?xi1, ["M", "K"]>, tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["M", "K"]>) -> tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.cast %{{.*}} : tensor<?x?xbf16, ["M", "K"]> -> tensor<?x?xf32, ["M", "K"]>
  %6 = tensor_hl.cast %5 : tensor<?x?xbf16, ["M", "K"]> -> tensor<?x?xf32, ["M", "K"]>
  func.return %5 : tensor<?x?xbf16, ["M", "K"]>
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<?x?xf32, ["M", "K"]>, %z: tensor<f32>) {
  // CHECK: tensor_hl.transpose %x perm [1, 0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["K", "M"]>
  %0 = tensor_hl.transpose %x perm [1, 0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["K", "M"]>
  // CHECK: tensor_hl.reshape %x : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["K * M"]>
  %1 = tensor_hl.reshape %x : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["K * M"]>
  // CHECK: tensor_hl.broadcast %{{.*}} dims [1] : tensor<?xf32, ["K * M"]> -> tensor<1x?xf32, ["1", "K * M"]>
  %2 = tensor_hl.broadcast %1 dims [1] : tensor<?xf32, ["K * M"]> -> tensor<1x?xf32, ["1", "K * M"]>
  // CHECK: tensor_hl.squeeze %{{.*}} axes [0] : tensor<1x?xf32, ["1", "K * M"]> -> tensor<?xf32, ["K * M"]>
  %3 = tensor_hl.squeeze %2 axes [0] : tensor<1x?xf32, ["1", "K * M"]> -> tensor<?xf32, ["K * M"]>
  // CHECK: tensor_hl.slice %x offsets ["0", "K // 2"] sizes ["M", "K - K // 2"] steps [1, 1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["M", "K - (K // 2)"]>
  %4 = tensor_hl.slice %x offsets ["0", "K // 2"] sizes ["M", "K - K // 2"] steps [1, 1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["M", "K - (K // 2)"]>
  // CHECK: tensor_hl.concat %x, %x axis 1 : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "2 * K"]>
  %5 = tensor_hl.concat %x, %x axis 1 : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "2 * K"]>
  // CHECK: tensor_hl.pad %x, %z axis 0 low "1" high "M" : (tensor<?x?xf32, ["M", "K"]>, tensor<f32>) -> tensor<?x?xf32, ["2 * M + 1", "K"]>
  %6 = tensor_hl.pad %x, %z axis 0 low "1" high "M" : (tensor<?x?xf32, ["M", "K"]>, tensor<f32>) -> tensor<?x?xf32, ["2 * M + 1", "K"]>
  func.return
}

// CHECK-LABEL: func.func @folds
func.func @folds(%x: tensor<?x?xbf16, ["M", "K"]>, %w: tensor<?x?xbf16, ["K", "N"]>, %b: tensor<?x?x?xbf16, ["B", "M", "K"]>) {
  // CHECK: tensor_hl.reduce sum %x axes [1] : tensor<?x?xbf16, ["M", "K"]> -> tensor<?xf32, ["M"]>
  // GENERIC: "tensor_hl.reduce"(%x) <{monoid = "sum", axes = array<i64: 1>}>
  %0 = tensor_hl.reduce sum %x axes [1] : tensor<?x?xbf16, ["M", "K"]> -> tensor<?xf32, ["M"]>
  // CHECK: tensor_hl.reduce max %x axes [0, 1] : tensor<?x?xbf16, ["M", "K"]> -> tensor<bf16>
  %1 = tensor_hl.reduce max %x axes [0, 1] : tensor<?x?xbf16, ["M", "K"]> -> tensor<bf16>
  // CHECK: tensor_hl.scan sum %x axis 1 : tensor<?x?xbf16, ["M", "K"]>
  %2 = tensor_hl.scan sum %x axis 1 : tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.matmul %x, %w lhs [1] rhs [0] : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
  // GENERIC: "tensor_hl.matmul"(%x, %w) <{batch = 0 : i64, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, acc = "f32"}>
  %3 = tensor_hl.matmul %x, %w lhs [1] rhs [0] : (tensor<?x?xbf16, ["M", "K"]>, tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]>
  // CHECK: tensor_hl.matmul %b, %b batch 1 lhs [1] rhs [1] : (tensor<?x?x?xbf16, ["B", "M", "K"]>, tensor<?x?x?xbf16, ["B", "M", "K"]>) -> tensor<?x?x?xbf16, ["B", "K", "K"]>
  %4 = tensor_hl.matmul %b, %b batch 1 lhs [1] rhs [1] : (tensor<?x?x?xbf16, ["B", "M", "K"]>, tensor<?x?x?xbf16, ["B", "M", "K"]>) -> tensor<?x?x?xbf16, ["B", "K", "K"]>
  func.return
}

// CHECK-LABEL: func.func @composites
func.func @composites(%x: tensor<?x?xbf16, ["M", "K"]>, %g: tensor<?xbf16, ["K"]>) {
  // CHECK: tensor_hl.softmax %x axis 1 : tensor<?x?xbf16, ["M", "K"]>
  %0 = tensor_hl.softmax %x axis 1 : tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.rms_norm %x, %g eps 1.0e-05 : (tensor<?x?xbf16, ["M", "K"]>, tensor<?xbf16, ["K"]>) -> tensor<?x?xbf16, ["M", "K"]>
  %1 = tensor_hl.rms_norm %x, %g eps 1.0e-05 : (tensor<?x?xbf16, ["M", "K"]>, tensor<?xbf16, ["K"]>) -> tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.layer_norm %x, %g, %g eps 0.001
  %2 = tensor_hl.layer_norm %x, %g, %g eps 0.001 : (tensor<?x?xbf16, ["M", "K"]>, tensor<?xbf16, ["K"]>, tensor<?xbf16, ["K"]>) -> tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.gelu %x
  %3 = tensor_hl.gelu %x : tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.gelu_tanh %x
  %4 = tensor_hl.gelu_tanh %x : tensor<?x?xbf16, ["M", "K"]>
  // CHECK: tensor_hl.silu %x
  %5 = tensor_hl.silu %x : tensor<?x?xbf16, ["M", "K"]>
  func.return
}
