// RUN: axon-opt %s -p isa-allocate --target nki | filecheck %s

// A sum of squares in an SBUF accumulator, a broadcast row, a run-time scalar, and a transpose through a chunked buffer.

// CHECK:      def norm(x, g, s):
// CHECK-NEXT:     M, K = x.shape
// CHECK:              nisa.dma_copy(dst=st, src=s.ap(pattern=[[0, mh], [0, 1]], offset=0))
// CHECK:              nisa.memset(dst=ss0, value=0.0)
// CHECK:                  reduce_res=part
// CHECK:                  nisa.tensor_tensor(dst=ss0, data1=ss0, data2=part, op=nl.add)
// CHECK:              nisa.activation(dst=rstd, op=nl.rsqrt, data=ss0, bias=1e-05, scale=1 / K)
// CHECK:                  nisa.dma_copy(dst=gt, src=g.ap(pattern=[[0, mh], [1, kh]], offset=k))
// CHECK:              buf0 = nl.ndarray((128, (K + 127) // 128, mh), dtype=nl.float32, buffer=nl.sbuf)
// CHECK:                      dst=buf0[0:kh, k // 128, 0:mh],
// CHECK-NEXT:                 src=x.ap(pattern=[[1, kh], [K, mh]], offset=K * m + k)
// CHECK:                      dst=h, data=buf0[0:kh, k // 128, 0:mh], op0=nl.multiply, operand0=0.5
// CHECK:          return out, outT
func.func @norm(%x: tensor<?x?xf32, ["M", "K"]>, %g: tensor<?xf32, ["K"]>, %s: tensor<f32>) -> (tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "M"]>)
    attributes {axon.arguments = ["x", "g", "s"], axon.values = {K = 517 : i64, M = 300 : i64}} {
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty (%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %outT = tile.empty (%K, %M) : tensor<?x?xf32, ["K", "M"]>
  %r:2 = tile.for m.tile (%m, %mh) = %zero to %M step "128" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>, collect %oT = %outT : tensor<?x?xf32, ["K", "M"]>) {
    %sv = tile.load %s[] (%mh, %one) : tensor<f32> -> !tile.tile<["128", "1"], f32, hbm>
    %st = trn_isa.dma_copy copy (%sv) [dma] : (!tile.tile<["128", "1"], f32, hbm>) -> !tile.tile<["128", "1"], f32, sbuf>
    %ss0 = trn_isa.memset fill () sizes (%mh, %one) {value = "0"} [vector, gpsimd] : () -> !tile.tile<["128", "1"], f32, sbuf>
    %ss = tile.for k.tile (%k, %kh) = %zero to %K step "256" (sum %a = %ss0 : !tile.tile<["128", "1"], f32, sbuf>) {
      %xv = tile.load %x[%m along p, %k along f] (%mh, %kh) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["128", "256"], f32, hbm>
      %xt = trn_isa.dma_copy copy (%xv) [dma] : (!tile.tile<["128", "256"], f32, hbm>) -> !tile.tile<["128", "256"], f32, sbuf>
      %sq, %part = trn_isa.activation plain_sum<fn = square> (%xt) [scalar] : (!tile.tile<["128", "256"], f32, sbuf>) -> (!tile.tile<["128", "256"], f32, sbuf>, !tile.tile<["128", "1"], f32, sbuf>)
      %a1 = trn_isa.tensor_tensor binary<fn = add> (%a, %part) [vector] : (!tile.tile<["128", "1"], f32, sbuf>, !tile.tile<["128", "1"], f32, sbuf>) -> !tile.tile<["128", "1"], f32, sbuf>
      tile.yield %a1 : !tile.tile<["128", "1"], f32, sbuf>
    }
    %rstd = trn_isa.activation scale_bias_value<fn = rsqrt> (%ss) {scale = "1 / K", bias = "1e-05"} [scalar] : (!tile.tile<["128", "1"], f32, sbuf>) -> !tile.tile<["128", "1"], f32, sbuf>
    %r2 = trn_isa.tensor_tensor binary<fn = mul> (%rstd, %st) [vector] : (!tile.tile<["128", "1"], f32, sbuf>, !tile.tile<["128", "1"], f32, sbuf>) -> !tile.tile<["128", "1"], f32, sbuf>
    %q = tile.for k.tile (%k, %kh) = %zero to %K step "256" (collect %ob = %o : tensor<?x?xf32, ["M", "K"]>) {
      %xv = tile.load %x[%m along p, %k along f] (%mh, %kh) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["128", "256"], f32, hbm>
      %xt = trn_isa.dma_copy copy (%xv) [dma] : (!tile.tile<["128", "256"], f32, hbm>) -> !tile.tile<["128", "256"], f32, sbuf>
      %gv = tile.load %g[%k along f] (%mh, %kh) : tensor<?xf32, ["K"]> -> !tile.tile<["128", "256"], f32, hbm>
      %gt = trn_isa.dma_copy copy (%gv) [dma] : (!tile.tile<["128", "256"], f32, hbm>) -> !tile.tile<["128", "256"], f32, sbuf>
      %y = trn_isa.scalar_tensor_tensor tensor<op0 = mul, op1 = mul> (%xt, %r2, %gt) [vector] : (!tile.tile<["128", "256"], f32, sbuf>, !tile.tile<["128", "1"], f32, sbuf>, !tile.tile<["128", "256"], f32, sbuf>) -> !tile.tile<["128", "256"], f32, sbuf>
      %yv = trn_isa.dma_copy copy (%y) [dma] : (!tile.tile<["128", "256"], f32, sbuf>) -> !tile.tile<["128", "256"], f32, hbm>
      %o2 = tile.store %yv into %ob[%m along p, %k along f] : !tile.tile<["128", "256"], f32, hbm>, tensor<?x?xf32, ["M", "K"]>
      tile.yield %o2 : tensor<?x?xf32, ["M", "K"]>
    }
    %buf0 = tile.empty (%K, %mh) : !tile.tile<["K", "128"], f32, sbuf>
    %buf = tile.for k.block (%k, %kh) = %zero to %K step "128" (collect %b = %buf0 : !tile.tile<["K", "128"], f32, sbuf>) {
      %xv = tile.load %x[%m along f, %k along p] (%kh, %mh) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["128", "128"], f32, hbm>
      %xt = trn_isa.dma_copy copy (%xv) [dma] : (!tile.tile<["128", "128"], f32, hbm>) -> !tile.tile<["128", "128"], f32, sbuf>
      %b1 = tile.insert %xt into %b[%k, %zero] : !tile.tile<["128", "128"], f32, sbuf>, !tile.tile<["K", "128"], f32, sbuf> -> !tile.tile<["K", "128"], f32, sbuf>
      tile.yield %b1 : !tile.tile<["K", "128"], f32, sbuf>
    }
    %qT = tile.for k.tile (%k, %kh) = %zero to %K step "128" (collect %ob = %oT : tensor<?x?xf32, ["K", "M"]>) {
      %e = tile.extract %buf[%k, %zero] (%kh, %mh) : !tile.tile<["K", "128"], f32, sbuf> -> !tile.tile<["128", "128"], f32, sbuf>
      %h = trn_isa.tensor_scalar immediate<op0 = mul> (%e) {operand0 = "0.5"} [vector] : (!tile.tile<["128", "128"], f32, sbuf>) -> !tile.tile<["128", "128"], f32, sbuf>
      %hv = trn_isa.dma_copy copy (%h) [dma] : (!tile.tile<["128", "128"], f32, sbuf>) -> !tile.tile<["128", "128"], f32, hbm>
      %o2 = tile.store %hv into %ob[%k along p, %m along f] : !tile.tile<["128", "128"], f32, hbm>, tensor<?x?xf32, ["K", "M"]>
      tile.yield %o2 : tensor<?x?xf32, ["K", "M"]>
    }
    tile.yield %q, %qT : tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "M"]>
  }
  func.return %r#0, %r#1 : tensor<?x?xf32, ["M", "K"]>, tensor<?x?xf32, ["K", "M"]>
}
