// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @mm(%x: tensor<?x?xbf16, ["K", "M"]>, %w: tensor<?x?xbf16, ["K", "N"]>) -> tensor<?x?xbf16, ["M", "N"]> {
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %N = tile.index "N"
  %out = tile.empty (%M, %N) : tensor<?x?xbf16, ["M", "N"]>
  %r = tile.for m.block (%mb, %mbh) = %zero to %M step "mB" (collect %o = %out : tensor<?x?xbf16, ["M", "N"]>) {
   %mbe = tile.index "a + b" (a = %mb, b = %mbh)
   %r0 = tile.for m.tile (%m, %mh) = %mb to %mbe step "128" (collect %ob = %o : tensor<?x?xbf16, ["M", "N"]>) {
    %r1 = tile.for n.tile (%n, %nh) = %zero to %N step "512" (collect %o1 = %ob : tensor<?x?xbf16, ["M", "N"]>) {
      %acc = tile.neutral "sum" (%mh, %nh) : !tile.tile<["128", "512"], f32, psum>
      %s = tile.for k.tile (%k, %kh) = %zero to %K step "128" (sum %a = %acc : !tile.tile<["128", "512"], f32, psum>) {
        %xt = tile.load %x[%k along p, %m along f] (%kh, %mh) : tensor<?x?xbf16, ["K", "M"]> -> !tile.tile<["128", "128"], bf16, sbuf>
        %wt = tile.load %w[%k along p, %n along f] (%kh, %nh) : tensor<?x?xbf16, ["K", "N"]> -> !tile.tile<["128", "512"], bf16, sbuf>
        %a1 = tile.leaf "op leaf(a[K, M], b[K, N]) -> c[M, N] { c[m, n] = sum(k < K: a[k, m] * b[k, n]) }" (%xt, %wt) sum into %a : (!tile.tile<["128", "128"], bf16, sbuf>, !tile.tile<["128", "512"], bf16, sbuf>) -> !tile.tile<["128", "512"], f32, psum>
        tile.yield %a1 : !tile.tile<["128", "512"], f32, psum>
      }
      %c = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = a[p, f] }" (%s) : (!tile.tile<["128", "512"], f32, psum>) -> !tile.tile<["128", "512"], bf16, sbuf>
      %o2 = tile.store %c into %o1[%m along p, %n along f] : !tile.tile<["128", "512"], bf16, sbuf>, tensor<?x?xbf16, ["M", "N"]>
      tile.yield %o2 : tensor<?x?xbf16, ["M", "N"]>
    }
    tile.yield %r1 : tensor<?x?xbf16, ["M", "N"]>
   }
   tile.yield %r0 : tensor<?x?xbf16, ["M", "N"]>
  }
  func.return %r : tensor<?x?xbf16, ["M", "N"]>
}
