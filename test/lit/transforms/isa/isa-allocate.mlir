// RUN: axon-opt %s -p isa-allocate --split-input-file | filecheck %s

// Storage is reused once its last reader is past; a result and the operands of one instruction are apart.
// CHECK-LABEL: func.func @reuse
func.func @reuse(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> attributes {axon.values = {M = 300 : i64, K = 512 : i64}} {
  %zero = tile.index "0"
  %c128 = tile.index "128"
  %c512 = tile.index "512"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%M, %K) : tensor<?x?xf32, ["M", "K"]>
  // CHECK: %a = trn_isa.dma_copy {{.*}}storage = #trn_isa.storage<"a", sbuf, 0, 2048>
  %av = tile.load %x[%zero along p, %zero along f] (%c128, %c512) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["128", "512"], f32, hbm>
  %a = trn_isa.dma_copy copy (%av) [dma] : (!tile.tile<["128", "512"], f32, hbm>) -> !tile.tile<["128", "512"], f32, sbuf>
  // CHECK: %b = trn_isa.tensor_scalar {{.*}}storage = #trn_isa.storage<"b", sbuf, 2048, 2048>
  %b = trn_isa.tensor_scalar immediate<op0 = mul> (%a) {operand0 = "2"} [vector] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  // CHECK: %c = trn_isa.tensor_scalar {{.*}}storage = #trn_isa.storage<"c", sbuf, 0, 2048>
  %c = trn_isa.tensor_scalar immediate<op0 = mul> (%b) {operand0 = "2"} [vector] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
  %cv = trn_isa.dma_copy copy (%c) [dma] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, hbm>
  %r = tile.store %cv into %out[%zero along p, %zero along f] : !tile.tile<["128", "512"], f32, hbm>, tensor<?x?xf32, ["M", "K"]>
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}

// -----

// PSUM is given out in whole banks; the index arithmetic of an insertion moves before what writes the region.
// CHECK-LABEL: func.func @banks
func.func @banks(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> attributes {axon.values = {M = 300 : i64, K = 512 : i64}} {
  %zero = tile.index "0"
  %c128 = tile.index "128"
  %c512 = tile.index "512"
  %M = tile.index "M"
  %K = tile.index "K"
  %av = tile.load %x[%zero along p, %zero along f] (%c128, %c512) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["128", "512"], f32, hbm>
  %a = trn_isa.dma_copy copy (%av) [dma] : (!tile.tile<["128", "512"], f32, hbm>) -> !tile.tile<["128", "512"], f32, sbuf>
  // CHECK: %p = tile.neutral {{.*}}storage = #trn_isa.storage<"p", psum, 0, 64>
  %p = tile.neutral "sum" (%c128, %zero) : !tile.tile<["128", "16"], f32, psum>
  // CHECK: %q = tile.neutral {{.*}}storage = #trn_isa.storage<"q", psum, 2048, 64>
  %q = tile.neutral "sum" (%c128, %zero) : !tile.tile<["128", "16"], f32, psum>
  %s = tile.extract %a[%zero, %zero] (%c128, %c128) : !tile.tile<["128", "512"], f32, sbuf> -> !tile.tile<["128", "128"], f32, sbuf>
  %m = tile.extract %a[%zero, %zero] (%c128, %c128) : !tile.tile<["128", "512"], f32, sbuf> -> !tile.tile<["128", "16"], f32, sbuf>
  %p1 = trn_isa.nc_matmul accumulate (%s, %m) outs %p [tensor] : (!tile.tile<["128", "128"], f32, sbuf>, !tile.tile<["128", "16"], f32, sbuf>) -> !tile.tile<["128", "16"], f32, psum>
  %q1 = trn_isa.nc_matmul accumulate (%s, %m) outs %q [tensor] : (!tile.tile<["128", "128"], f32, sbuf>, !tile.tile<["128", "16"], f32, sbuf>) -> !tile.tile<["128", "16"], f32, psum>
  // CHECK: %[[F:.*]] = tile.index "16"
  // CHECK-NEXT: %big = tile.empty{{.*}}storage = #trn_isa.storage<"big", sbuf, 2048, 128>
  // CHECK-NEXT: trn_isa.tensor_tensor
  // CHECK-NEXT: tile.insert {{.*}}[%{{.*}}, %[[F]]]
  %sum = trn_isa.tensor_tensor binary<fn = add> (%m, %p1) [vector] : (!tile.tile<["128", "16"], f32, sbuf>, !tile.tile<["128", "16"], f32, psum>) -> !tile.tile<["128", "16"], f32, sbuf>
  %big = tile.empty (%c128, %c128) : !tile.tile<["128", "32"], f32, sbuf>
  %f = tile.index "16"
  %big1 = tile.insert %sum into %big[%zero, %f] : !tile.tile<["128", "16"], f32, sbuf>, !tile.tile<["128", "32"], f32, sbuf> -> !tile.tile<["128", "32"], f32, sbuf>
  %use = trn_isa.tensor_tensor binary<fn = add> (%m, %q1) [vector] : (!tile.tile<["128", "16"], f32, sbuf>, !tile.tile<["128", "16"], f32, psum>) -> !tile.tile<["128", "16"], f32, sbuf>
  %e = tile.extract %big1[%zero, %f] (%c128, %f) : !tile.tile<["128", "32"], f32, sbuf> -> !tile.tile<["128", "16"], f32, sbuf>
  %use2 = trn_isa.tensor_tensor binary<fn = add> (%e, %use) [vector] : (!tile.tile<["128", "16"], f32, sbuf>, !tile.tile<["128", "16"], f32, sbuf>) -> !tile.tile<["128", "16"], f32, sbuf>
  func.return %x : tensor<?x?xf32, ["M", "K"]>
}

// -----

// What a loop reads from outside lives to its end, what it carries is one storage; a chunked buffer counts its chunks.
// CHECK-LABEL: func.func @loops
func.func @loops(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> attributes {axon.values = {M = 300 : i64, K = 512 : i64}} {
  %zero = tile.index "0"
  %c128 = tile.index "128"
  %c512 = tile.index "512"
  %M = tile.index "M"
  %K = tile.index "K"
  // CHECK: %big = tile.empty{{.*}}storage = #trn_isa.storage<"big", sbuf, 0, 6144>
  %big = tile.empty (%M, %K) : !tile.tile<["M", "512"], f32, sbuf>
  %all = tile.for m.tile (%m, %mh) = %zero to %M step "128" (collect %b = %big : !tile.tile<["M", "512"], f32, sbuf>) {
    %tv = tile.load %x[%m along p, %zero along f] (%mh, %K) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["128", "512"], f32, hbm>
    // CHECK: %t = trn_isa.dma_copy copy (%tv) [dma] : (
    %t = trn_isa.dma_copy copy (%tv) [dma] : (!tile.tile<["128", "512"], f32, hbm>) -> !tile.tile<["128", "512"], f32, sbuf>
    %b1 = tile.insert %t into %b[%m, %zero] : !tile.tile<["128", "512"], f32, sbuf>, !tile.tile<["M", "512"], f32, sbuf> -> !tile.tile<["M", "512"], f32, sbuf>
    tile.yield %b1 : !tile.tile<["M", "512"], f32, sbuf>
  }
  %out = tile.empty (%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %r = tile.for m.tile (%m, %mh) = %zero to %M step "128" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>) {
    %e = tile.extract %all[%m, %zero] (%mh, %K) : !tile.tile<["M", "512"], f32, sbuf> -> !tile.tile<["128", "512"], f32, sbuf>
    // CHECK: %d = trn_isa.tensor_scalar {{.*}}storage = #trn_isa.storage<"d", sbuf, 6144, 2048>
    %d = trn_isa.tensor_scalar immediate<op0 = mul> (%e) {operand0 = "2"} [vector] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, sbuf>
    %dv = trn_isa.dma_copy copy (%d) [dma] : (!tile.tile<["128", "512"], f32, sbuf>) -> !tile.tile<["128", "512"], f32, hbm>
    %o1 = tile.store %dv into %o[%m along p, %zero along f] : !tile.tile<["128", "512"], f32, hbm>, tensor<?x?xf32, ["M", "K"]>
    tile.yield %o1 : tensor<?x?xf32, ["M", "K"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}
