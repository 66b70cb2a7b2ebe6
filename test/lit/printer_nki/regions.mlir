// RUN: axon-opt %s -p isa-allocate --target nki | filecheck %s

// Regions of HBM: slices where the axes run in order, patterns where they do not; sizes from products.

// CHECK:      def regions(a, b, v):
// CHECK-NEXT:     S = a.shape[1]
// CHECK-NEXT:     H, D = b.shape
// CHECK-NEXT:     G = a.shape[0] // H
func.func @regions(%a: tensor<?x?x2xf32, ["G*H", "S", "2"]>, %b: tensor<?x?xf32, ["H", "D"]>, %v: tensor<?xbf16, ["D"]>) -> (tensor<?x1xf32, ["D", "1"]>, tensor<?xf32, ["D"]>, tensor<f32>)
    attributes {axon.values = {G = 2 : i64, H = 64 : i64, S = 16 : i64, D = 100 : i64}} {
  %zero = tile.index "0"
  %one = tile.index "1"
  %two = tile.index "2"
  %S = tile.index "S"
  %H = tile.index "H"
  %D = tile.index "D"
  %o1 = tile.empty (%D, %one) : tensor<?x1xf32, ["D", "1"]>
  %o2 = tile.empty (%D) : tensor<?xf32, ["D"]>
  // CHECK: out3 = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
  %out3 = tile.empty () : tensor<f32>
  // An axis that no tile axis runs along is an index.
  // CHECK: nisa.dma_copy(dst=t1, src=a[0:H, 0:S, 1])
  %v1 = tile.load %a[%zero along p, %zero along f, %one] (%H, %S) : tensor<?x?x2xf32, ["G*H", "S", "2"]> -> !tile.tile<["H", "S"], f32, hbm>
  %t1 = trn_isa.dma_copy copy (%v1) [dma] : (!tile.tile<["H", "S"], f32, hbm>) -> !tile.tile<["H", "S"], f32, sbuf>
  // CHECK: nisa.dma_copy(dst=t2, src=a.ap(pattern=[[1, 2], [2 * S, H]], offset=2))
  %v2 = tile.load %a[%zero along f, %one, %zero along p] (%two, %H) : tensor<?x?x2xf32, ["G*H", "S", "2"]> -> !tile.tile<["2", "H"], f32, hbm>
  %t2 = trn_isa.dma_copy copy (%v2) [dma] : (!tile.tile<["2", "H"], f32, hbm>) -> !tile.tile<["2", "H"], f32, sbuf>
  // One column is a slice of length one.
  // CHECK: nisa.dma_copy(dst=t3, src=b[0:H, 1:2])
  %v3 = tile.load %b[%zero along p, %one] (%H, %one) : tensor<?x?xf32, ["H", "D"]> -> !tile.tile<["H", "1"], f32, hbm>
  %t3 = trn_isa.dma_copy copy (%v3) [dma] : (!tile.tile<["H", "1"], f32, hbm>) -> !tile.tile<["H", "1"], f32, sbuf>
  // A vector along the partitions.
  // CHECK: nisa.dma_copy(dst=t4, src=v.ap(pattern=[[1, D], [0, 1]], offset=0))
  %v4 = tile.load %v[%zero along p] (%D, %one) : tensor<?xbf16, ["D"]> -> !tile.tile<["D", "1"], bf16, hbm>
  %t4 = trn_isa.dma_copy copy (%v4) [dma] : (!tile.tile<["D", "1"], bf16, hbm>) -> !tile.tile<["D", "1"], f32, sbuf>
  // CHECK: nisa.dma_copy(dst=o1[0:D, 0:1], src=t4)
  %s1 = trn_isa.dma_copy copy (%t4) [dma] : (!tile.tile<["D", "1"], f32, sbuf>) -> !tile.tile<["D", "1"], f32, hbm>
  %r1 = tile.store %s1 into %o1[%zero along p, %zero] : !tile.tile<["D", "1"], f32, hbm>, tensor<?x1xf32, ["D", "1"]>
  // CHECK: nisa.dma_copy(dst=o2.ap(pattern=[[1, D], [0, 1]], offset=0), src=t4)
  %s2 = trn_isa.dma_copy copy (%t4) [dma] : (!tile.tile<["D", "1"], f32, sbuf>) -> !tile.tile<["D", "1"], f32, hbm>
  %r2 = tile.store %s2 into %o2[%zero along p] : !tile.tile<["D", "1"], f32, hbm>, tensor<?xf32, ["D"]>
  // A part of a tile.
  // CHECK: nisa.dma_copy(dst=out3, src=t3[0:1, 0:1])
  %e = tile.extract %t3[%zero, %zero] (%one, %one) : !tile.tile<["H", "1"], f32, sbuf> -> !tile.tile<["1", "1"], f32, sbuf>
  %s3 = trn_isa.dma_copy copy (%e) [dma] : (!tile.tile<["1", "1"], f32, sbuf>) -> !tile.tile<["1", "1"], f32, hbm>
  %r3 = tile.store %s3 into %out3[] : !tile.tile<["1", "1"], f32, hbm>, tensor<f32>
  // CHECK: return o1, o2, out3
  func.return %r1, %r2, %r3 : tensor<?x1xf32, ["D", "1"]>, tensor<?xf32, ["D"]>, tensor<f32>
}
