// RUN: axon-opt %s -p tile-symbolic,tile-fuse,tile-instantiate | filecheck %s
// RUN: axon-opt %s -p tile-symbolic,tile-fuse | axon-opt -p tile-instantiate | filecheck %s
// RUN: axon-opt %s -p 'tile-symbolic,tile-fuse,tile-instantiate{steps="m_part=32,k_free=64"}' | filecheck %s --check-prefix=STEPS
// RUN: not axon-opt %s -p 'tile-symbolic,tile-instantiate{steps="q_part=3"}' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not axon-opt %s -p 'tile-symbolic,tile-instantiate{steps="m_part=many"}' 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not axon-opt %s -p 'tile-symbolic,tile-instantiate{steps="m_part=129"}' 2>&1 | filecheck %s --check-prefix=LARGE
// RUN: not axon-opt %s -p tile-instantiate 2>&1 | filecheck %s --check-prefix=PLAIN

// UNKNOWN: tile-instantiate.mlir:{{.*}} error: tile-instantiate: 'q_part=3' does not set a tile parameter
// UNKNOWN-NEXT: accepted: m_part=N (<= partitions), k_free=N (<= free_elements_psum)
// NUMBER: error: tile-instantiate: 'm_part=many' does not set a tile parameter
// LARGE: error: tile-instantiate: m_part = 129 is too large
// LARGE-NEXT: accepted: m_part <= 128 on trn2
// PLAIN: error: function @exp is not a tile program
// PLAIN-NEXT: accepted: the output of tile-symbolic

// Partitions take the device's limit; a free axis no more than its dimension, rounded up to a power of two.
// CHECK-LABEL: func.func @exp
// CHECK-SAME:  tile.parameters = {m_part = "128", k_free = "1024"}
// CHECK:       tile.for m.tile {{.*}} step "128"
// CHECK-NEXT:    tile.for k.tile {{.*}} step "1024"
// CHECK-NEXT:      tile.load {{.*}} !tile.tile<["128", "1024"], f32, sbuf>
// STEPS-LABEL: func.func @exp
// STEPS-SAME:  tile.parameters = {m_part = "32", k_free = "64"}
// STEPS:       tile.for m.tile {{.*}} step "32"
// STEPS-NEXT:    tile.for k.tile {{.*}} step "64"
// STEPS-NEXT:      tile.load {{.*}} !tile.tile<["32", "64"], f32, sbuf>
func.func @exp(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]>
    attributes {axon.values = {M = 300 : i64, K = 517 : i64}} {
  %0 = tensor_hl.exp %x : tensor<?x?xf32, ["M", "K"]>
  func.return %0 : tensor<?x?xf32, ["M", "K"]>
}
