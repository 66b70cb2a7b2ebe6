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
