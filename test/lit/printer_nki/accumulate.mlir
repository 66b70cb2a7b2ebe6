// RUN: axon-opt %s -p isa-allocate --target nki | filecheck %s

// The first product of a fold overwrites: no product before it in the body, every loop of the fold at its start.

// CHECK-LABEL: def two_loops(x, w):
func.func @two_loops(%x: tensor<?x?xf32, ["K", "M"]>, %w: tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
    attributes {axon.values = {K = 517 : i64, M = 100 : i64, N = 300 : i64}} {
  %zero = tile.index "0"
  %K = tile.index "K"
  %M = tile.index "M"
  %N = tile.index "N"
  %out = tile.empty (%M, %N) : tensor<?x?xf32, ["M", "N"]>
  %acc = tile.neutral "sum" (%M, %N) : !tile.tile<["min(128, M)", "min(512, N)"], f32, psum>
  // CHECK: for kb in range(0, K, 256):
  %s = tile.for k.block (%kb, %kbh) = %zero to %K step "256" (sum %a = %acc : !tile.tile<["min(128, M)", "min(512, N)"], f32, psum>) {
    %end = tile.index "a + b" (a = %kb, b = %kbh)
    // CHECK: for k in range(kb, kb + kbh, 128):
    %s1 = tile.for k.tile (%k, %kh) = %kb to %end step "128" (sum %b = %a : !tile.tile<["min(128, M)", "min(512, N)"], f32, psum>) {
      %xv = tile.load %x[%k along p, %zero along f] (%kh, %M) : tensor<?x?xf32, ["K", "M"]> -> !tile.tile<["128", "min(128, M)"], f32, hbm>
      %xt = trn_isa.dma_copy copy (%xv) [dma] : (!tile.tile<["128", "min(128, M)"], f32, hbm>) -> !tile.tile<["128", "min(128, M)"], f32, sbuf>
      %wv = tile.load %w[%k along p, %zero along f] (%kh, %N) : tensor<?x?xf32, ["K", "N"]> -> !tile.tile<["128", "min(512, N)"], f32, hbm>
      %wt = trn_isa.dma_copy copy (%wv) [dma] : (!tile.tile<["128", "min(512, N)"], f32, hbm>) -> !tile.tile<["128", "min(512, N)"], f32, sbuf>
      // CHECK: nisa.nc_matmul(dst=acc, stationary=xt, moving=wt, accumulate=(kb > 0 or k > kb))
      %c = trn_isa.nc_matmul accumulate (%xt, %wt) outs %b [tensor] : (!tile.tile<["128", "min(128, M)"], f32, sbuf>, !tile.tile<["128", "min(512, N)"], f32, sbuf>) -> !tile.tile<["min(128, M)", "min(512, N)"], f32, psum>
      // CHECK: nisa.nc_matmul(dst=acc, stationary=xt, moving=wt, accumulate=True)
      %d = trn_isa.nc_matmul accumulate (%xt, %wt) outs %c [tensor] : (!tile.tile<["128", "min(128, M)"], f32, sbuf>, !tile.tile<["128", "min(512, N)"], f32, sbuf>) -> !tile.tile<["min(128, M)", "min(512, N)"], f32, psum>
      tile.yield %d : !tile.tile<["min(128, M)", "min(512, N)"], f32, psum>
    }
    tile.yield %s1 : !tile.tile<["min(128, M)", "min(512, N)"], f32, psum>
  }
  %r = trn_isa.tensor_copy copy (%s) [vector] : (!tile.tile<["min(128, M)", "min(512, N)"], f32, psum>) -> !tile.tile<["min(128, M)", "min(512, N)"], f32, sbuf>
  %rv = trn_isa.dma_copy copy (%r) [dma] : (!tile.tile<["min(128, M)", "min(512, N)"], f32, sbuf>) -> !tile.tile<["min(128, M)", "min(512, N)"], f32, hbm>
  %o = tile.store %rv into %out[%zero along p, %zero along f] : !tile.tile<["min(128, M)", "min(512, N)"], f32, hbm>, tensor<?x?xf32, ["M", "N"]>
  func.return %o : tensor<?x?xf32, ["M", "N"]>
}

// CHECK-LABEL: def once(x, w):
func.func @once(%x: tensor<?x?xf32, ["K", "M"]>, %w: tensor<?x?xf32, ["K", "N"]>) -> tensor<?x?xf32, ["M", "N"]>
    attributes {axon.values = {K = 100 : i64, M = 100 : i64, N = 300 : i64}} {
  %zero = tile.index "0"
  %K = tile.index "K"
  %M = tile.index "M"
  %N = tile.index "N"
  %out = tile.empty (%M, %N) : tensor<?x?xf32, ["M", "N"]>
  %acc = tile.neutral "sum" (%M, %N) : !tile.tile<["M", "N"], f32, psum>
  %xv = tile.load %x[%zero along p, %zero along f] (%K, %M) : tensor<?x?xf32, ["K", "M"]> -> !tile.tile<["K", "M"], f32, hbm>
  %xt = trn_isa.dma_copy copy (%xv) [dma] : (!tile.tile<["K", "M"], f32, hbm>) -> !tile.tile<["K", "M"], f32, sbuf>
  %wv = tile.load %w[%zero along p, %zero along f] (%K, %N) : tensor<?x?xf32, ["K", "N"]> -> !tile.tile<["K", "N"], f32, hbm>
  %wt = trn_isa.dma_copy copy (%wv) [dma] : (!tile.tile<["K", "N"], f32, hbm>) -> !tile.tile<["K", "N"], f32, sbuf>
  // CHECK: nisa.nc_matmul(dst=acc, stationary=xt, moving=wt, accumulate=False)
  %c = trn_isa.nc_matmul accumulate (%xt, %wt) outs %acc [tensor] : (!tile.tile<["K", "M"], f32, sbuf>, !tile.tile<["K", "N"], f32, sbuf>) -> !tile.tile<["M", "N"], f32, psum>
  %r = trn_isa.tensor_copy copy (%c) [vector] : (!tile.tile<["M", "N"], f32, psum>) -> !tile.tile<["M", "N"], f32, sbuf>
  %rv = trn_isa.dma_copy copy (%r) [dma] : (!tile.tile<["M", "N"], f32, sbuf>) -> !tile.tile<["M", "N"], f32, hbm>
  %o = tile.store %rv into %out[%zero along p, %zero along f] : !tile.tile<["M", "N"], f32, hbm>, tensor<?x?xf32, ["M", "N"]>
  func.return %o : tensor<?x?xf32, ["M", "N"]>
}
