// RUN: axon-opt %s --verify-diagnostics --split-input-file

// Storages are checked wherever a module is read, not only by the pass that decides them.
func.func @overlap(%x: tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xf32, ["M", "N"]> attributes {axon.values = {M = 16 : i64, N = 8 : i64}} {
  %m = tile.index "M"
  %n = tile.index "N"
  %0 = tile.index "0"
  %e = tile.empty(%m, %n) : tensor<?x?xf32, ["M", "N"]>
  %v = tile.load %x[%0 along p, %0 along f] (%m, %n) : tensor<?x?xf32, ["M", "N"]> -> !tile.tile<["min(128, M)", "N"], f32, hbm>
  %a = trn_isa.dma_copy copy (%v) [dma] attributes {storage = #trn_isa.storage<"a", sbuf, 0, 32>} : (!tile.tile<["min(128, M)", "N"], f32, hbm>) -> !tile.tile<["min(128, M)", "N"], f32, sbuf>
  // expected-error@+1 {{alive together and overlap in sbuf (16..48 and 0..32)}}
  %b = trn_isa.activation plain<fn = exp> (%a) [scalar] attributes {storage = #trn_isa.storage<"b", sbuf, 16, 32>} : (!tile.tile<["min(128, M)", "N"], f32, sbuf>) -> !tile.tile<["min(128, M)", "N"], f32, sbuf>
  %c = trn_isa.dma_copy copy (%b) [dma] : (!tile.tile<["min(128, M)", "N"], f32, sbuf>) -> !tile.tile<["min(128, M)", "N"], f32, hbm>
  %r = tile.store %c into %e[%0 along p, %0 along f] : !tile.tile<["min(128, M)", "N"], f32, hbm>, tensor<?x?xf32, ["M", "N"]>
  func.return %r : tensor<?x?xf32, ["M", "N"]>
}

// -----

func.func @undecided(%x: tensor<?x?xf32, ["M", "N"]>) -> tensor<?x?xf32, ["M", "N"]> attributes {axon.values = {M = 16 : i64, N = 8 : i64}} {
  %m = tile.index "M"
  %n = tile.index "N"
  %0 = tile.index "0"
  %e = tile.empty(%m, %n) : tensor<?x?xf32, ["M", "N"]>
  %v = tile.load %x[%0 along p, %0 along f] (%m, %n) : tensor<?x?xf32, ["M", "N"]> -> !tile.tile<["min(128, M)", "N"], f32, hbm>
  %a = trn_isa.dma_copy copy (%v) [dma] attributes {storage = #trn_isa.storage<"a", sbuf, 0, 32>} : (!tile.tile<["min(128, M)", "N"], f32, hbm>) -> !tile.tile<["min(128, M)", "N"], f32, sbuf>
  // expected-error@+1 {{its storage is not decided; run isa-allocate}}
  %b = trn_isa.activation plain<fn = exp> (%a) [scalar] : (!tile.tile<["min(128, M)", "N"], f32, sbuf>) -> !tile.tile<["min(128, M)", "N"], f32, sbuf>
  %c = trn_isa.dma_copy copy (%b) [dma] : (!tile.tile<["min(128, M)", "N"], f32, sbuf>) -> !tile.tile<["min(128, M)", "N"], f32, hbm>
  %r = tile.store %c into %e[%0 along p, %0 along f] : !tile.tile<["min(128, M)", "N"], f32, hbm>, tensor<?x?xf32, ["M", "N"]>
  func.return %r : tensor<?x?xf32, ["M", "N"]>
}
