// RUN: axon-opt %s -p isa-select --split-input-file --verify-diagnostics

// A position that no instruction computes.
func.func @function(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty(%M, %K) : tensor<?x?xf32, ["M", "K"]>
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "64" (collect %o = %out : tensor<?x?xf32, ["M", "K"]>) {
    %a = tile.load %x[%m along p, %zero along f] (%mn, %K) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["64", "K"], f32, sbuf>
    // expected-error@+1 {{no instructions of trn2 compute mul((f * p), v0[p, f])}}
    %b = tile.leaf "op leaf(a[P, F]) -> c[P, F] { c[p, f] = mul(p * f, a[p, f]) }" (%a) : (!tile.tile<["64", "K"], f32, sbuf>) -> !tile.tile<["64", "K"], f32, sbuf>
    %q = tile.store %b into %o[%m along p, %zero along f] : !tile.tile<["64", "K"], f32, sbuf>, tensor<?x?xf32, ["M", "K"]>
    tile.yield %q : tensor<?x?xf32, ["M", "K"]>
  }
  func.return %r : tensor<?x?xf32, ["M", "K"]>
}

// -----

// The same inside a fold.
func.func @fold(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?xf32, ["M"]> {
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty(%M) : tensor<?xf32, ["M"]>
  %r = tile.for m.tile (%m, %mn) = %zero to %M step "64" (collect %o = %out : tensor<?xf32, ["M"]>) {
    %a = tile.load %x[%m along p, %zero along f] (%mn, %K) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["64", "K"], f32, sbuf>
    // expected-error@+1 {{no instructions of trn2 compute sum(}}
    %b = tile.leaf "op leaf(a[P, F]) -> c[P, 1] { c[p, 0] = sum(q < F: mul(p * q, a[p, q])) }" (%a) : (!tile.tile<["64", "K"], f32, sbuf>) -> !tile.tile<["64", "1"], f32, sbuf>
    %q = tile.store %b into %o[%m along p] : !tile.tile<["64", "1"], f32, sbuf>, tensor<?xf32, ["M"]>
    tile.yield %q : tensor<?xf32, ["M"]>
  }
  func.return %r : tensor<?xf32, ["M"]>
}

// -----

// A load goes to SBUF.
func.func @place(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  %zero = tile.index "0"
  %M = tile.index "M"
  %K = tile.index "K"
  %out = tile.empty(%M, %K) : tensor<?x?xf32, ["M", "K"]>
  // expected-error@+1 {{no instruction of trn2 copies !tile.tile<["64", "K"], f32, hbm> to !tile.tile<["64", "K"], f32, psum>}}
  %a = tile.load %x[%zero along p, %zero along f] (%M, %K) : tensor<?x?xf32, ["M", "K"]> -> !tile.tile<["64", "K"], f32, psum>
  %q = tile.store %a into %out[%zero along p, %zero along f] : !tile.tile<["64", "K"], f32, psum>, tensor<?x?xf32, ["M", "K"]>
  func.return %q : tensor<?x?xf32, ["M", "K"]>
}
