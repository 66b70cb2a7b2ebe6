// RUN: axon-opt %s -p tile-symbolic --smt-verify-each | filecheck %s
// RUN: axon-opt %s -p tile-symbolic | axon-opt | filecheck %s

// Folds inside an expression are computations of their own: the maximum, the sum of exponentials, the quotient.
// CHECK-LABEL: func.func @composite
// CHECK:       tile.leaf "op leaf(x0[P, F]) -> c[P, 1] { c[p, 0] = max(q < F: x0[p, q]) }"
// CHECK:       tile.leaf "op leaf(x0[P, F], x1[P, 1]) -> c[P, 1] { c[p, 0] = sum(q < F: exp(sub(x0[p, q], x1[p, 0]))) }"
// CHECK:       tile.leaf "op leaf(x0[P, F], x1[P, 1], x2[P, 1]) -> c[P, F] { c[p, f] = div(exp(sub(x0[p, f], x1[p, 0])), x2[p, 0]) }"
// CHECK-NOT:   tile.leaf
func.func @composite(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.softmax %x axis 1 : tensor<?x?xf32, ["M", "K"]>
  func.return %0 : tensor<?x?xf32, ["M", "K"]>
}

// An index is where the tile begins and the place in the tile.
// CHECK-LABEL: func.func @position
// CHECK:       tile.for k.tile (%k, %k_n)
// CHECK:       tile.leaf "op leaf(x0[P, F]) <at_k: index> -> c[P, F] { c[p, f] = mul((at_k + f), x0[p, f]) }" ({{.*}}) at (at_k = %k)
func.func @position(%x: tensor<?xf32, ["K"]>) -> tensor<?xf32, ["K"]> {
  %0 = tensor_hl.iota axis 0 : tensor<?xf32, ["K"]>
  %1 = tensor_hl.mul %0, %x : tensor<?xf32, ["K"]>
  func.return %1 : tensor<?xf32, ["K"]>
}

// What no operand runs along is folded beside a tile of ones.
// CHECK-LABEL: func.func @counted
// CHECK:       tile.leaf "op leaf() -> c[P, F] { c[p, f] = 1 }" ()
// CHECK:       tile.leaf "op leaf(x0[P, 1], x1[P, 1], x2[P, F]) <at_k: index> -> c[P, 1] { c[p, 0] = sum(q < F: mul((if (x0[p, 0] == (at_k + q)) then x1[p, 0] else 0), x2[p, q])) }"
func.func @counted(%x: tensor<?xf32, ["M"]>, %i: tensor<?xi32, ["R"]>) -> tensor<?x?xf32, ["R", "M"]> {
  %0 = tensor_hl.broadcast %x dims [1] : tensor<?xf32, ["M"]> -> tensor<?x?xf32, ["K", "M"]>
  %1 = tensor_hl.gather %0, %i axis 0 : (tensor<?x?xf32, ["K", "M"]>, tensor<?xi32, ["R"]>) -> tensor<?x?xf32, ["R", "M"]>
  func.return %1 : tensor<?x?xf32, ["R", "M"]>
}

// A running fold reads what the tiles before have folded, and folds on.
// CHECK-LABEL: func.func @running
// CHECK:       %[[N:.*]] = tile.neutral "max"
// CHECK:       tile.for k.tile {{.*}} (max %[[A:.*]] = %[[N]]
// CHECK:         tile.leaf "op leaf(x0[P, F], x1[P, 1]) -> c[P, F] { c[p, f] = max(x1[p, 0], max(j < f + 1: x0[p, j])) }" ({{.*}}, %[[A]])
// CHECK:         tile.leaf "op leaf(x0[P, F]) -> c[P, 1] { c[p, 0] = max(q < F: x0[p, q]) }" ({{.*}}) max into %[[A]]
func.func @running(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.scan max %x axis 1 : tensor<?x?xf32, ["M", "K"]>
  func.return %0 : tensor<?x?xf32, ["M", "K"]>
}

// An affine recurrence goes on from the last element of the tile before, which the loop carries.
// CHECK-LABEL: func.func @recurrence
// CHECK:       %[[N:.*]] = tile.neutral "sum"
// CHECK:       tile.for k.tile {{.*}} (carry %[[S:.*]] = %[[N]]
// CHECK:         %[[V:.*]] = tile.leaf "op leaf(x0[P, F], x1[P, F], x2[P, 1]) -> c[P, F] { c[p, f] = add(mul(x2[p, 0], prod(j < f + 1: x0[p, j])), sum(j < f + 1: mul(x1[p, j], prod(i < f - j: x0[p, j + 1 + i])))) }" ({{.*}}, %[[S]])
// CHECK:         %[[L:.*]] = tile.leaf "op leaf(a[P, F]) -> c[P, 1] { c[p, 0] = a[p, F - 1] }" (%[[V]])
// CHECK:         tile.yield %[[L]]
func.func @recurrence(%a: tensor<?x?xf32, ["M", "K"]>, %b: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.affine_scan %a, %b axis 1 : tensor<?x?xf32, ["M", "K"]>
  func.return %0 : tensor<?x?xf32, ["M", "K"]>
}

// A factor that is the same along the scan is made a row: the instruction takes rows.
// CHECK-LABEL: func.func @decay
// CHECK:       tile.leaf "op leaf() -> c[P, F] { c[p, f] = 1/2 }"
// CHECK:       tile.for k.tile {{.*}} (carry
func.func @decay(%b: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %0 = tensor_hl.constant 0.5 : tensor<f32>
  %1 = tensor_hl.broadcast %0 dims [] : tensor<f32> -> tensor<?x?xf32, ["M", "K"]>
  %2 = tensor_hl.affine_scan %1, %b axis 1 : tensor<?x?xf32, ["M", "K"]>
  func.return %2 : tensor<?x?xf32, ["M", "K"]>
}

// Every second element is a piece of its own, written in steps.
// CHECK-LABEL: func.func @interleaved
// CHECK:       tile.store {{.*}}[%{{.*}} along p, %{{.*}} along f by 2]
// CHECK:       tile.store {{.*}}[%{{.*}} along p, %{{.*}} along f by 2]
func.func @interleaved(%x: tensor<?x?xf32, ["M", "K"]>, %y: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "2 * K"]> {
  %0 = tensor_hl.empty : tensor<?x?xf32, ["M", "2 * K"]>
  %1 = tensor_hl.insert %0, %x offsets ["0", "0"] steps [1, 2] : (tensor<?x?xf32, ["M", "2 * K"]>, tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "2 * K"]>
  %2 = tensor_hl.insert %1, %y offsets ["0", "1"] steps [1, 2] : (tensor<?x?xf32, ["M", "2 * K"]>, tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "2 * K"]>
  func.return %2 : tensor<?x?xf32, ["M", "2 * K"]>
}

// A copy whose elements are all the same along the free axis is computed, not stored as it was loaded.
// CHECK-LABEL: func.func @repeated
// CHECK:       tile.leaf "op leaf(x0[P, 1]) -> c[P, F] { c[p, f] = x0[p, 0] }"
// CHECK:       tile.store
func.func @repeated(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?x2xf32, ["M", "K", "2"]> {
  %0 = tensor_hl.broadcast %x dims [0, 1] : tensor<?x?xf32, ["M", "K"]> -> tensor<?x?x2xf32, ["M", "K", "2"]>
  func.return %0 : tensor<?x?x2xf32, ["M", "K", "2"]>
}
