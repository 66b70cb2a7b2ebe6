// RUN: axon-opt %s -p tile-symbolic,tile-fuse | filecheck %s
// RUN: axon-opt %s -p tile-symbolic | axon-opt -p tile-fuse | filecheck %s

// One nest, no intermediate in HBM.
// CHECK-LABEL: func.func @chain
// CHECK:       tile.empty
// CHECK-NOT:   tile.empty
// CHECK:       tile.leaf {{.*}} mul(
// CHECK-NEXT:  tile.leaf {{.*}} exp(
// CHECK-NEXT:  tile.store
// CHECK-NOT:   tile.for
// CHECK:       func.return
func.func @chain(%x: tensor<?x?xf32, ["M", "K"]>, %y: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
    attributes {axon.values = {M = 300 : i64, K = 517 : i64}} {
  %0 = tensor_hl.mul %x, %y : tensor<?x?xf32, ["M", "K"]>
  %1 = tensor_hl.exp %0 : tensor<?x?xf32, ["M", "K"]>
  func.return %1 : tensor<?x?xf32, ["M", "K"]>
}

// The reader of a contraction runs under the contraction's loops and takes its sum out of PSUM.
// CHECK-LABEL: func.func @epilogue
// CHECK:       tile.for k.tile {{.*}} step "k_part" (sum
// CHECK:         tile.leaf {{.*}} sum into
// CHECK:       tile.leaf {{.*}} exp({{.*}} : (!tile.tile<["m_part", "n_moving"], f32, psum>) -> !tile.tile<["m_part", "n_moving"], f32, sbuf>
// CHECK-NEXT:  tile.store
func.func @epilogue(%x: tensor<?x?xf32, ["K", "M"]>, %w: tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
    attributes {axon.values = {M = 300 : i64, K = 517 : i64, N = 130 : i64}} {
  %0 = tensor_hl.matmul %x, %w lhs [0] rhs [0] : (tensor<?x?xf32, ["K", "M"]>, tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
  %1 = tensor_hl.exp %0 : tensor<?x?xf32, ["M", "N"]>
  func.return %1 : tensor<?x?xf32, ["M", "N"]>
}

// A fold is complete only behind its own loop: its reader shares the rows, not the columns.
// CHECK-LABEL: func.func @fold
// CHECK:       tile.for m.tile
// CHECK:         tile.for k.tile {{.*}} sum %
// CHECK-NOT:     div(
// CHECK:         tile.yield
// CHECK:         tile.for k.tile {{.*}} (collect
// CHECK:           tile.leaf {{.*}} div(
// CHECK-NOT:   tile.for m.tile
// CHECK:       func.return
func.func @fold(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
    attributes {axon.values = {M = 300 : i64, K = 517 : i64}} {
  %0 = tensor_hl.reduce sum %x axes [1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?xf32, ["M"]>
  %1 = tensor_hl.broadcast %0 dims [0] : tensor<?xf32, ["M"]> -> tensor<?x?xf32, ["M", "K"]>
  %2 = tensor_hl.div %x, %1 : tensor<?x?xf32, ["M", "K"]>
  func.return %2 : tensor<?x?xf32, ["M", "K"]>
}

// What stays on chip is widened to f32; what a result needs twice is loaded once.
// CHECK-LABEL: func.func @bf16
// CHECK:       tile.load %x
// CHECK-NOT:   tile.load
// CHECK:       tile.leaf {{.*}} exp({{.*}} -> !tile.tile<{{.*}}, f32, sbuf>
// CHECK:       tile.leaf {{.*}} mul({{.*}} -> !tile.tile<{{.*}}, bf16, sbuf>
func.func @bf16(%x: tensor<?x?xbf16, ["M", "K"]>) -> tensor<?x?xbf16, ["M", "K"]>
    attributes {axon.values = {M = 300 : i64, K = 517 : i64}} {
  %0 = tensor_hl.exp %x : tensor<?x?xbf16, ["M", "K"]>
  %1 = tensor_hl.mul %x, %0 : tensor<?x?xbf16, ["M", "K"]>
  func.return %1 : tensor<?x?xbf16, ["M", "K"]>
}

// An intermediate that is returned too is stored too, and still read on chip.
// CHECK-LABEL: func.func @returned
// CHECK:       tile.load
// CHECK-NEXT:  tile.leaf {{.*}} exp(
// CHECK-NEXT:  tile.store
// CHECK-NEXT:  tile.leaf {{.*}} abs(
// CHECK-NEXT:  tile.store
// CHECK-NEXT:  tile.yield
func.func @returned(%x: tensor<?x?xf32, ["M", "K"]>) -> (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>)
    attributes {axon.values = {M = 300 : i64, K = 517 : i64}} {
  %0 = tensor_hl.exp %x : tensor<?x?xf32, ["M", "K"]>
  %1 = tensor_hl.abs %0 : tensor<?x?xf32, ["M", "K"]>
  func.return %0, %1 : tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["M", "K"]>
}

// A structure may ask for an intermediate to stay in HBM.
// CHECK-LABEL: func.func @apart
// CHECK:       tile.leaf {{.*}} mul(
// CHECK-NEXT:  tile.store
// CHECK:       tile.load
// CHECK-NEXT:  tile.leaf {{.*}} exp(
func.func @apart(%x: tensor<?x?xf32, ["M", "K"]>, %y: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
    attributes {axon.values = {M = 300 : i64, K = 517 : i64}, tile.structure = {apart = ["t0"]}} {
  %0 = tensor_hl.mul %x, %y : tensor<?x?xf32, ["M", "K"]>
  %1 = tensor_hl.exp %0 : tensor<?x?xf32, ["M", "K"]>
  func.return %1 : tensor<?x?xf32, ["M", "K"]>
}

// Read along the other axis: something has to be turned on the way.
// CHECK-LABEL: func.func @turned
// CHECK:       tile.leaf "op leaf(a[P, F]) -> c[F, P] { c[f, p] = a[p, f] }"
// CHECK:       tile.leaf {{.*}} add(
func.func @turned(%x: tensor<?x?xf32, ["M", "K"]>, %y: tensor<?x?xf32, ["K", "M"]>) -> (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "M"]>)
    attributes {axon.values = {M = 300 : i64, K = 517 : i64}} {
  %0 = tensor_hl.exp %x : tensor<?x?xf32, ["M", "K"]>
  %1 = tensor_hl.transpose %0 perm [1, 0] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?xf32, ["K", "M"]>
  %2 = tensor_hl.add %1, %y : tensor<?x?xf32, ["K", "M"]>
  func.return %0, %2 : tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "M"]>
}
