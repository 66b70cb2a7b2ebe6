// RUN: axon-opt %s | axon-opt | filecheck %s
// RUN: axon-opt %s --print-op-generic | axon-opt | filecheck %s
// RUN: axon-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @positions
func.func @positions(%x: tensor<?x?xbf16, ["V", "K"]>, %i: tensor<?xi32, ["T"]>, %y: tensor<?x?xbf16, ["T", "K"]>) {
  // CHECK: tensor_hl.gather %x, %i axis 0 : (tensor<?x?xbf16, ["V", "K"]>, tensor<?xi32, ["T"]>) -> tensor<?x?xbf16, ["T", "K"]>
  // GENERIC: "tensor_hl.gather"(%x, %i) <{batch = 0 : i64, axis = 0 : i64}>
  %0 = tensor_hl.gather %x, %i axis 0 : (tensor<?x?xbf16, ["V", "K"]>, tensor<?xi32, ["T"]>) -> tensor<?x?xbf16, ["T", "K"]>
  // CHECK: tensor_hl.gather %y, %i batch 1 axis 1 : (tensor<?x?xbf16, ["T", "K"]>, tensor<?xi32, ["T"]>) -> tensor<?xbf16, ["T"]>
  // GENERIC: "tensor_hl.gather"(%y, %i) <{batch = 1 : i64, axis = 1 : i64}>
  %1 = tensor_hl.gather %y, %i batch 1 axis 1 : (tensor<?x?xbf16, ["T", "K"]>, tensor<?xi32, ["T"]>) -> tensor<?xbf16, ["T"]>
  // CHECK: tensor_hl.scatter %x, %i, %y axis 0 : (tensor<?x?xbf16, ["V", "K"]>, tensor<?xi32, ["T"]>, tensor<?x?xbf16, ["T", "K"]>) -> tensor<?x?xbf16, ["V", "K"]>
  // GENERIC: "tensor_hl.scatter"(%x, %i, %y) <{axis = 0 : i64}>
  %2 = tensor_hl.scatter %x, %i, %y axis 0 : (tensor<?x?xbf16, ["V", "K"]>, tensor<?xi32, ["T"]>, tensor<?x?xbf16, ["T", "K"]>) -> tensor<?x?xbf16, ["V", "K"]>
  func.return
}

// CHECK-LABEL: func.func @boxes
func.func @boxes(%x: tensor<?x?xf32, ["M", "K"]>, %r: tensor<?x?xf32, ["M", "(K + 1) // 2"]>) {
  // CHECK: tensor_hl.empty : tensor<?x?xf32, ["M", "K"]>
  // GENERIC: "tensor_hl.empty"() : () -> tensor<?x?xf32, ["M", "K"]>
  %0 = tensor_hl.empty : tensor<?x?xf32, ["M", "K"]>
  // CHECK: tensor_hl.insert %{{.*}}, %r offsets ["0", "0"] steps [1, 2] : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "{{.*}}"]>) -> tensor<?x?xf32, ["M", "K"]>
  // GENERIC: "tensor_hl.insert"(%{{.*}}, %r) <{offsets = ["0", "0"], steps = array<i64: 1, 2>}>
  %1 = tensor_hl.insert %0, %r offsets ["0", "0"] steps [1, 2] : (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "(K + 1) // 2"]>) -> tensor<?x?xf32, ["M", "K"]>
  // CHECK: tensor_hl.slice %x offsets ["0", "K - 1"] sizes ["M", "K"] steps [1, -1] : tensor<?x?xf32, ["M", "K"]>
  %2 = tensor_hl.slice %x offsets ["0", "K - 1"] sizes ["M", "K"] steps [1, -1] : tensor<?x?xf32, ["M", "K"]>
  // CHECK: tensor_hl.repeat %x axis 0 times "R" : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["M * R", "K"]>
  // GENERIC: "tensor_hl.repeat"(%x) <{axis = 0 : i64, times = "R"}>
  %3 = tensor_hl.repeat %x axis 0 times "R" : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["M * R", "K"]>
  // CHECK: tensor_hl.tile %x axis 1 times "2" : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["M", "2 * K"]>
  // GENERIC: "tensor_hl.tile"(%x) <{axis = 1 : i64, times = "2"}>
  %4 = tensor_hl.tile %x axis 1 times "2" : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["M", "2 * K"]>
  func.return
}

// CHECK-LABEL: func.func @numbers
func.func @numbers(%x: tensor<?x?xf32, ["M", "K"]>, %a: tensor<f32>, %b: tensor<f32>) {
  // CHECK: tensor_hl.truncate %x : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xi32, ["M", "K"]>
  %0 = tensor_hl.truncate %x : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xi32, ["M", "K"]>
  // CHECK: tensor_hl.clamp %x, %a, %b : (tensor<?x?xf32, ["M", "K"]>, tensor<f32>, tensor<f32>) -> tensor<?x?xf32, ["M", "K"]>
  %1 = tensor_hl.clamp %x, %a, %b : (tensor<?x?xf32, ["M", "K"]>, tensor<f32>, tensor<f32>) -> tensor<?x?xf32, ["M", "K"]>
  // CHECK: tensor_hl.mean %x axes [0, 1] : tensor<?x?xf32, ["M", "K"]> -> tensor<f32>
  // GENERIC: "tensor_hl.mean"(%x) <{axes = array<i64: 0, 1>}>
  %2 = tensor_hl.mean %x axes [0, 1] : tensor<?x?xf32, ["M", "K"]> -> tensor<f32>
  // CHECK: tensor_hl.affine_scan %x, %x axis 1 : tensor<?x?xf32, ["M", "K"]>
  %3 = tensor_hl.affine_scan %x, %x axis 1 : tensor<?x?xf32, ["M", "K"]>
  func.return
}
