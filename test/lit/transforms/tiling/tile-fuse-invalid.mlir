// RUN: axon-opt %s -p tile-fuse --split-input-file --verify-diagnostics

// expected-error@+1 {{function @plain is not a tile program}}
func.func @plain(%x: tensor<?x?xf32, ["M", "K"]>) -> tensor<?x?xf32, ["M", "K"]> {
  func.return %x : tensor<?x?xf32, ["M", "K"]>
}

// -----

// Leaves are read back by the dimensions they say.
func.func @no_dims(%x: tensor<?xf32, ["M"]>) -> tensor<?xf32, ["M"]>
    attributes {tile.sizes = {m = "M"}, tile.parameters = {m_part = "<= partitions"}} {
  %zero = tile.index "0"
  %one = tile.index "1"
  %M = tile.index "M"
  %out = tile.empty (%M) : tensor<?xf32, ["M"]>
  %r = tile.for m.tile (%m, %m_n) = %zero to %M step "m_part" (collect %o = %out : tensor<?xf32, ["M"]>) {
    // expected-error@+1 {{'tile.load' does not say which dimensions it runs over}}
    %t = tile.load %x[%m along p] (%m_n, %one) : tensor<?xf32, ["M"]> -> !tile.tile<["m_part", "1"], f32, sbuf>
    %q = tile.store %t into %o[%m along p] : !tile.tile<["m_part", "1"], f32, sbuf>, tensor<?xf32, ["M"]>
    tile.yield %q : tensor<?xf32, ["M"]>
  }
  func.return %r : tensor<?xf32, ["M"]>
}
